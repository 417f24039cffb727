"""The tool `install_package`: Python packages into the workspace, by pip in a box of its own (PATH-3, BOX-6).

That box holds a stage beside the set in force and nothing else of the group; its one way out leads to the package index
and to where that keeps its files. Nothing of a package runs while it is installed: pip is told to take wheels only, but
builds all the same what a package names by address, so it is started with starting programs taken away, by which alone
it runs what is not its own; and a set with anything in it that is no wheel of the index is not put in force. The whole
set is resolved anew each time, within the versions that the list admits: what was asked for earlier stays at its
version, what it needs may move. Whether a name may be installed is the gate's to say.
"""

import os
import shlex
import ssl
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec

from host.config.packages import NotAPackage, PackageList, Wanted, wanted
from host.errors import ProtocolViolation, ResourceBusy, TimedOut, ToolFailed, Unsupported
from host.excerpts import beginning, ending
from host.passport import Decision, Effect, KnownFailure, Passport, Replay
from host.stops import Reason
from host.tools.bwrap import BwrapSandbox
from host.tools.egress import Egress
from host.tools.finished import Finished
from host.tools.installed import MADE, Installed, Package, Set, read_file
from host.tools.leftovers import mark
from host.tools.package_index import ADVICE, Index, index_of, installer
from host.tools.paths import WORKSPACE
from host.tools.quoting import Quoting, told
from host.tools.roots import Root
from host.tools.text import TYPICAL
from host.tools.tool import Scope, ToolResult

_SECONDS: Final = 600.0
_GRACE_SECONDS: Final = 60.0  # for asking the index, between pip's own time-out and the gate's
_REPORT: Final = "report.json"
_REPORT_BYTES: Final = 64 << 20  # pip copies each package's whole description into it
_WISHES: Final = "requirements.txt"
_BOUNDS: Final = "constraints.txt"
_TRUST: Final = "trust.pem"
_TEMPORARY: Final = "tmp"
_ORIGIN: Final = "the package index"
_NO_SUCH_PROGRAM: Final = 127
_SAID_CHARS: Final = 1500  # of pip's last words
_OPTIONS: Final = (
    "--isolated", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--quiet", "install",
    "--only-binary", ":all:", "--no-warn-script-location", "--progress-bar", "off", "--report", _REPORT,
    "--target", MADE, "--requirement", _WISHES, "--constraint", _BOUNDS,
)  # fmt: skip
_PIP: Final = """
import runpy, sys

STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"}

def refuse(event, arguments):
    if event in STARTS:
        raise PermissionError("only ready-made wheels are installed: nothing of a package is built or run")

sys.addaudithook(refuse)
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
"""pip without the means to start a program: an audit hook cannot be taken back, and hears of a start before it is."""
_VARIABLES: Final = {"TMPDIR": f"{WORKSPACE}/{_TEMPORARY}", "PYTHONDONTWRITEBYTECODE": "1"}  # /tmp is small and memory


class InstallPackageArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which package."""

    package: Annotated[
        str,
        msgspec.Meta(min_length=1, description="One name, with extras or versions if need be: 'requests>=2.31'."),
    ]


def package_of(arguments: InstallPackageArguments) -> str:
    """Return the name of the package in its one spelling; raise ProtocolViolation."""
    return _wanted(arguments).name


_INSTALL: Final = Passport(
    name="install_package",
    summary=(
        "Install one Python package, with what it needs, for python3 in shell; its programs are put on PATH. Packages "
        "that are not listed are asked about. Only ready-made wheels of the index are taken. Do not use pip in shell."
    ),
    arguments=InstallPackageArguments,
    effect=Effect.EXECUTE,
    reversible=False,
    parallel=False,
    default=Decision.ASK,
    timeout_seconds=_SECONDS + _GRACE_SECONDS + _GRACE_SECONDS,
    masks=TYPICAL,
    replay=Replay.IDEMPOTENT,
    network=True,
    paths=frozenset(),
    lendable=False,
    needs=frozenset(),
    promises_content=True,
    failures=(
        KnownFailure(reason=Reason.TOOL_FAILED, when="there is no such package, or no version or wheel of it fits"),
        KnownFailure(reason=Reason.TIMED_OUT, when="the index or the download takes too long"),
        KnownFailure(reason=Reason.UNSUPPORTED, when="the sandbox or the package index cannot be had"),
        KnownFailure(reason=Reason.RESOURCE_BUSY, when="another package is being installed"),
        KnownFailure(reason=Reason.PROTOCOL_VIOLATION, when="what is asked for is no package name"),
    ),
    changed_by="package",
    package_of=package_of,
)


class InstallPackage:
    """Installs a package. One of each group."""

    def __init__(self, packages: PackageList, *, unavailable: str = "") -> None:
        """`packages` narrows the versions of what it lists; `unavailable` says why commands would find nothing."""
        self.passport: Final = _INSTALL
        self._packages = packages
        self._unavailable = unavailable
        self._one = threading.Lock()  # a set is made from the one before

    async def run(self, arguments: InstallPackageArguments, scope: Scope) -> ToolResult:
        """Install it, and say what the set has now."""
        if self._unavailable:
            raise Unsupported(self._unavailable)
        if scope.jail.here is None:
            raise Unsupported("packages are installed on this machine alone")
        if scope.way_out is None:
            raise Unsupported("nothing is reached beyond the machine here")
        asked, egress = _wanted(arguments), scope.way_out.egress
        try:
            with self._alone():
                return await self._installed(asked, egress, scope.jail.here.roots[0], scope)
        except Quoting as error:
            return told(error, _ORIGIN)
        except OSError as error:
            message = f"nothing was installed: the workspace cannot take it ({error.strerror})"
            raise ToolFailed(message) from error

    async def _installed(self, asked: Wanted, egress: Egress, workspace: Root, scope: Scope) -> ToolResult:
        installed = Installed(workspace)
        index = await index_of(asked.name, egress, scope.key, mark(workspace))
        before = installed.current()
        wishes = {name: text for name, text in self._kept(before).items() if name != asked.name}
        wishes[asked.name] = asked.within(self._packages.versions(asked.name)).text
        with installed.stage() as stage:
            _put(stage, _WISHES, wishes.values())
            _put(stage, _BOUNDS, self._packages.bounds)
            packages = await _made(stage, index, egress, scope, workspace)
            after = Set(asked=before.asked | {asked.name: asked.text}, packages=packages)
            installed.put_in_force(stage, after)
        return _result(asked.name, before, after)

    def _kept(self, before: Set) -> dict[str, str]:
        """Return what was asked for earlier, at the versions that are there if the list still admits them."""
        kept: dict[str, str] = {}
        for name, text in before.asked.items():
            there, asked = before.named(name), wanted(text)
            if there is not None and self._packages.admits(name, there.version):
                kept[name] = Wanted(name=name, extras=asked.extras, versions=f"=={there.version}").text
            else:
                kept[name] = asked.within(self._packages.versions(name)).text
        return kept

    @contextmanager
    def _alone(self) -> Generator[None]:
        if not self._one.acquire(blocking=False):
            message = "another package is being installed for this group; try again when that is done"
            raise ResourceBusy(message)
        try:
            yield
        finally:
            self._one.release()


def _wanted(arguments: InstallPackageArguments) -> Wanted:
    try:
        return wanted(arguments.package)
    except NotAPackage as error:
        message = f"{arguments.package[:80]!r} {error}"
        raise ProtocolViolation(message) from error


async def _made(stage: int, index: Index, egress: Egress, scope: Scope, workspace: Root) -> tuple[Package, ...]:
    """Let pip make the set in the stage; return what is in it."""
    _put(stage, _TRUST, _believed(egress.trust()))
    os.mkdir(_TEMPORARY, 0o700, dir_fd=stage)
    options = [*_OPTIONS, "--index-url", index.url, "--cert", _TRUST]
    pip = os.open(installer(), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        roots = (Root(name="", descriptor=stage, writable=True), Root(name="pip", descriptor=pip, writable=False))
        box = BwrapSandbox(roots, egress=egress.only(index.hosts, advice=ADVICE), marked=workspace)
        with scope.sandbox.holding(box.kill_all):
            finished = await box.run(
                shlex.join(["python3", "-c", _PIP, *options]),
                cwd=".",
                timeout_seconds=_SECONDS,
                environment=_VARIABLES,
                caller=scope.key,
            )
    finally:
        os.close(pip)
    _refuse_failed(finished)
    return _reported(stage)


def _put(folder: int, name: str, lines: Iterable[str]) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _believed(trust: ssl.SSLContext) -> Iterable[str]:
    """Return the certificates that the host itself believes: pip's own list may know less."""
    return (ssl.DER_cert_to_PEM_cert(certificate) for certificate in trust.get_ca_certs(binary_form=True))


def _refuse_failed(finished: Finished) -> None:
    """Raise what came of it where pip did not get to its end."""
    if finished.timed_out:
        message = f"pip was ended after {_SECONDS:g} s; what was installed before is as it was"
        raise TimedOut(message)
    if finished.exit_code == _NO_SUCH_PROGRAM:
        message = "install_package is unavailable: the sandbox has no python3; ask the operator to install python3"
        raise Unsupported(message)
    if finished.exit_code != 0:
        said = ending(finished.output.strip(), _SAID_CHARS)
        message = (
            "nothing was installed, what was installed before is as it was. Only wheels of the index that fit the "
            "sandbox's python3 and the versions of the group's list are taken. What pip said:"
        )
        raise Quoting(message, "\n".join((said, *finished.notes)))  # it quotes packages, and hosts that they name


class _Archive(msgspec.Struct):
    hashes: dict[str, str] = {}


class _Source(msgspec.Struct):
    url: str
    archive_info: _Archive = msgspec.field(default_factory=_Archive)


class _Metadata(msgspec.Struct):
    name: str
    version: str


class _Install(msgspec.Struct):
    metadata: _Metadata
    download_info: _Source
    is_direct: bool = False  # named by its address, not by the index


class _Report(msgspec.Struct):
    """What pip reports of an installation, as far as it matters (its format 1)."""

    install: list[_Install]


def _reported(stage: int) -> tuple[Package, ...]:
    data = read_file(stage, _REPORT, _REPORT_BYTES)
    try:
        report = msgspec.json.decode(data or b"", type=_Report)
        _refuse_strangers(report)
        found = [
            Package(
                name=wanted(one.metadata.name).name,
                version=one.metadata.version,
                sha256=one.download_info.archive_info.hashes["sha256"],
            )
            for one in report.install
        ]
    except (msgspec.DecodeError, NotAPackage, KeyError) as error:
        message = "pip did not report what it installed; nothing was changed. Ask the operator to run deploy/run again"
        raise ToolFailed(message) from error
    return tuple(sorted(found, key=lambda package: package.name))


def _refuse_strangers(report: _Report) -> None:
    """Raise Quoting for a set with anything that is no wheel of the index."""
    strange = [
        beginning(f"{one.metadata.name}: {one.download_info.url}", _SAID_CHARS)
        for one in report.install
        if one.is_direct or not urlsplit(one.download_info.url).path.endswith(".whl")
    ]
    if strange:
        message = "nothing was installed: a package that it needs is no wheel of the index, but named by an address"
        raise Quoting(message, "\n".join(strange))


def _result(name: str, before: Set, after: Set) -> ToolResult:
    """Say what is new, with the hashes for the journal, and how much is as it was; names are those of packages."""
    new = [package for package in after.packages if before.named(package.name) != package]
    gone = [package.name for package in before.packages if after.named(package.name) is None]
    head = [f"{name} is installed; python3 in shell finds it."]
    if len(after.packages) > len(new):
        head.append(f"{len(after.packages) - len(new)} more are as they were.")
    lines = [f"{package.name} {package.version} sha256:{package.sha256}" for package in new]
    if gone:
        lines.append(f"No longer needed and gone: {', '.join(gone)}.")
    return ToolResult(text="\n".join(lines), head="\n".join(head), origin=_ORIGIN)
