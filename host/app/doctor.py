"""`elis doctor`: looks at everything that can be wrong and says for each thing what to do (OPS-2).

Works with and without a running host: it opens journals for reading only and starts nothing but trial commands and,
where the embedded model is used, that model's process. What a look itself stumbles over is a finding too.
"""

import asyncio
import contextlib
import importlib.util
import os
import shutil
import socket
import stat
import sys
import tempfile
import time
import zoneinfo
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec

from host.app import model_trial
from host.app.blueprints import servers_of
from host.app.reading import read_settings
from host.app.site import site_of
from host.config.edge import parse_listen
from host.config.home import Home
from host.config.settings import GroupSettings, SandboxSettings, Settings
from host.config.tls import trust
from host.errors import ElisError, NotFound, ResourceBusy, SettingsError
from host.groups.port import GroupView, ServerView
from host.panel.binding import bound
from host.policy.leak import leak_of
from host.record.codec import GroupCodec
from host.record.host_record import HostCodec
from host.tools.catalogue import tools_of
from host.tools.roots import Root
from host.tools.sandbox import sandbox_from
from memory.errors import JournalError
from memory.journal import Journal

OLDEST_PYTHON: Final = (3, 11)
LEAST_FREE_BYTES: Final = 1_000_000_000  # a journal that grows, a log, and the system beside it
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome-stable")
_STATUS_SECONDS: Final = 10.0  # the host answers that for groups that do not, too
_EARLIEST: Final = 1_767_225_600.0  # 2026-01-01: a clock before this program was written is wrong
_SKEW_SECONDS: Final = 60.0  # a file written a moment ago by a clock that was set right since


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one look found."""

    name: str
    ok: bool
    detail: str
    fix: str = ""  # what to do; empty when all is well


class _Card(msgspec.Struct, frozen=True, kw_only=True):
    """A group in the running host's overview, as far as it is read here."""

    view: GroupView


class _Status(msgspec.Struct, frozen=True, kw_only=True):
    """The running host's overview, as far as it is read here."""

    groups: tuple[_Card, ...]


def check(home: Home) -> list[Finding]:
    """Look at everything; takes seconds, with slow models up to a minute."""
    findings = [
        _looked("python", _python),
        _looked("ray", _ray),
        _looked("browser", _browser),
        _looked("home", lambda: _home(home)),
        _looked("token", lambda: _token(home)),
        _looked("disk", lambda: _disk(home)),
        _looked("clock", lambda: _clock(home)),
    ]
    settings, finding = _settings(home)
    findings.append(finding)
    if settings is None:
        settings = Settings()
    findings += [
        _looked("address", lambda: _address(home, settings)),
        *_groups(home),
        *_tool_servers(home),
        *_sandboxes(settings),
        *_leaks(home, settings),
        *_assisted(settings),
        *_time_zones(settings),
        *_journals(home),
        *(
            Finding(name=f"model {trial.name}", ok=trial.ok, detail=trial.detail, fix=trial.fix)
            for trial in asyncio.run(model_trial.try_all(home, settings, os.environ))
        ),
    ]
    return findings


def _looked(name: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - a look that fails in a way nobody foresaw is a finding, not a crash
        detail = f"could not be looked at: {type(error).__name__}: {error}"
        return Finding(name=name, ok=False, detail=detail, fix="please report this, with what stands here")


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return Finding(name="python", ok=True, detail=f"{version} at {sys.prefix}")
    return Finding(name="python", ok=False, detail=f"{version} is too old", fix="install Python 3.11 or newer")


def _ray() -> Finding:
    if importlib.util.find_spec("ray") is not None:
        return Finding(name="ray", ok=True, detail="is installed")
    return Finding(name="ray", ok=False, detail="is not installed", fix="run `sh deploy/run` in the checkout again")


def _browser() -> Finding:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found:
        return Finding(name="browser", ok=True, detail=found)
    fix = "run `apt-get install chromium` as root; nothing but the browser lane needs it"
    return Finding(name="browser", ok=False, detail="no Chromium was found", fix=fix)


def _home(home: Home) -> Finding:
    """Look at who may read what the host keeps to itself."""
    if not home.root.exists():
        return Finding(name="home", ok=True, detail=f"{home.root} does not exist yet; `elis up` makes it")
    wrong = [
        f"{path} has mode {stat.S_IMODE(path.stat().st_mode):o} instead of {mode:o}"
        for path, mode in _private(home)
        if path.exists() and stat.S_IMODE(path.stat().st_mode) != mode
    ]
    owner = home.root.stat().st_uid
    if owner != os.geteuid():
        wrong.append(f"it belongs to user {owner}, and this is user {os.geteuid()}")
    if not os.access(home.root, os.W_OK):
        fix = "mount its file system writable, or give Elis a home that it may write with --home DIR"
        return Finding(name="home", ok=False, detail="; ".join([f"{home.root} cannot be written", *wrong]), fix=fix)
    if not wrong:
        return Finding(name="home", ok=True, detail=f"{home.root} is closed to other users")
    fix = "`elis up` takes back rights that were given away; what belongs to another user needs `chown`"
    return Finding(name="home", ok=False, detail="; ".join(wrong), fix=fix)


def _token(home: Home) -> Finding:
    """Look whether the API's token is one; before the first start there is none."""
    try:
        home.token()
    except NotFound:
        return Finding(name="token", ok=True, detail="there is none yet; `elis up` makes it")
    except SettingsError as error:
        detail, _, fix = error.message.partition("; ")
        return Finding(name="token", ok=False, detail=detail, fix=fix)
    return Finding(name="token", ok=True, detail=f"{home.token_file} holds one")


def _private(home: Home) -> Iterator[tuple[Path, int]]:
    yield from ((folder, 0o700) for folder in (home.root, home.keys, home.run, home.groups))
    yield home.token_file, 0o600  # elis.toml holds no secrets and lies in a closed folder: its mode is its writer's


def _disk(home: Home) -> Finding:
    place = next(path for path in (home.root, *home.root.parents) if path.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free / 1e9:.1f} GB free at {place}"
    if free >= LEAST_FREE_BYTES:
        return Finding(name="disk", ok=True, detail=detail)
    return Finding(name="disk", ok=False, detail=detail, fix="make room: turns stop when the journal cannot be written")


def _clock(home: Home) -> Finding:
    now = time.time()
    files = [*home.root.glob("*.db"), *home.groups.glob("*/journal.db")]
    newest = max((path.stat().st_mtime for path in files), default=0.0)
    if now < _EARLIEST or now + _SKEW_SECONDS < newest:
        detail = f"the clock says {time.ctime(now)}, which is before what was written here"
        return Finding(name="clock", ok=False, detail=detail, fix="set the clock, best by a time service")
    return Finding(name="clock", ok=True, detail=time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now)))


def _settings(home: Home) -> tuple[Settings | None, Finding]:
    if not home.settings.exists():
        finding = Finding(name="settings", ok=True, detail=f"there is no {home.settings} yet; `elis up` writes one")
        return None, finding
    try:
        settings = read_settings(home.settings, _tool_names())
    except ElisError as error:
        return None, Finding(name="settings", ok=False, detail=error.message, fix="mend the file as it says")
    return settings, Finding(name="settings", ok=True, detail=f"{home.settings} is accepted")


def _tool_names() -> frozenset[str]:
    return frozenset(tools_of(GroupSettings()))


def _address(home: Home, settings: Settings) -> Finding:
    """Look whether the running host can be reached, or whether a host could listen."""
    pid = home.holder()
    if pid is not None:
        target = home.address().partition("://")[2]
        name, port = parse_listen(target)
        with socket.create_connection((name, port), timeout=5):
            return Finding(name="address", ok=True, detail=f"a host (process {pid}) answers at {target}")
    try:
        bound(site_of(settings.host)).close()
    except SettingsError as error:
        return Finding(name="address", ok=False, detail=error.message, fix=f"mend {home.settings} as it says")
    except ResourceBusy as error:
        fix = "end the program that listens there, or choose another host.listen; port 0 is any free one"
        return Finding(name="address", ok=False, detail=error.message, fix=fix)
    return Finding(name="address", ok=True, detail=f"{settings.host.listen} is free; no host runs")


def _groups(home: Home) -> list[Finding]:
    """Look at what the running host says of its groups; without one there is nothing to say."""
    if home.holder() is None:
        return []
    try:
        views = _running_groups(home)
    except (ElisError, httpx2.HTTPError, msgspec.DecodeError) as error:
        fix = f"if this stays, {home.logs / 'host.log'} may say why; `elis down` and `elis up` start the host anew"
        return [Finding(name="groups", ok=False, detail=f"the running host does not tell: {error}", fix=fix)]
    return [
        Finding(name="groups", ok=True, detail=f"{sum(view.state == 'awake' for view in views)} of {len(views)} awake"),
        *(_group(home, view) for view in views if view.state != "awake"),
    ]


def _running_groups(home: Home) -> list[GroupView]:
    return [card.view for card in msgspec.json.decode(_told(home, "status"), type=_Status).groups]


def _told(home: Home, path: str) -> bytes:
    """Ask the running host's API."""
    address = home.address()
    answer = httpx2.get(
        f"{address}/api/v1/{path}",
        headers={"Authorization": f"Bearer {home.token()}"},
        timeout=_STATUS_SECONDS,
        trust_env=False,  # a proxy of the environment is not for this machine's own loopback
        verify=trust(home.certificate) if address.startswith("https:") else True,
    ).raise_for_status()
    return answer.content


def _tool_servers(home: Home) -> list[Finding]:
    """Look at what the running host knows of the tool servers of its groups; without one nothing is started."""
    if home.holder() is None:
        return []
    try:
        found = [
            (view.name, server)
            for view in _running_groups(home)
            if view.state == "awake"
            for server in msgspec.json.decode(_told(home, f"groups/{view.name}/tools"), type=tuple[ServerView, ...])
        ]
    except (ElisError, httpx2.HTTPError, msgspec.DecodeError) as error:
        return [Finding(name="tool servers", ok=False, detail=f"the running host does not tell: {error}")]
    return [_tool_server(home, group, server) for group, server in found]


def _tool_server(home: Home, group: str, server: ServerView) -> Finding:
    name, detail = f"tool server {server.name} of {group}", f"{server.state}, {server.tools} tools"
    match server.state:
        case "in use":
            return Finding(name=name, ok=True, detail=detail)
        case "held":
            fix = f"look with `elis tools {group} show {server.name}`, then `elis tools {group} release {server.name}`"
            return Finding(name=name, ok=False, detail=detail, fix=fix)
        case _:
            fix = (
                f"it is started with the next turn; {home.logs / f'group-{group}.log'} says why it did not start before"
            )
            return Finding(name=name, ok=True, detail=detail, fix=fix)


def _group(home: Home, view: GroupView) -> Finding:
    """Tell a group that is not awake; one that is on its way there is no failure yet."""
    detail = f"is {view.state}" + (f": {view.problem}" if view.problem else "")
    fix = f"mend what it says, then start the host anew; {home.logs / 'host.log'} may say more"
    failed = view.state == "failed"
    return Finding(name=f"group {view.name}", ok=not failed, detail=detail, fix=fix if failed else "")


def _leaks(home: Home, settings: Settings) -> list[Finding]:
    """Name the ways on which private data could leave without a question (POL-8); a choice, and no fault.

    The settings tell what they open; the standing answers of a group only the running host knows.
    """
    found = {
        name: leak_of(name, group, group.policy, servers=servers_of(name, settings))
        for name, group in settings.groups.items()
    }
    texts = {name: leak.text if leak else "" for name, leak in found.items()}
    if home.holder() is not None:
        with contextlib.suppress(ElisError, httpx2.HTTPError, msgspec.MsgspecError, OSError):  # told as a finding above
            texts |= {view.name: view.leak for view in _running_groups(home) if view.name in texts and view.leak}
    return [Finding(name=f"leak path {name}", ok=True, detail=text) for name, text in texts.items() if text]


def _assisted(settings: Settings) -> list[Finding]:
    """Name the groups where a model may answer before a person (APR-6); a choice, and no fault."""
    return [
        Finding(
            name=f"assisted approvals {name}",
            ok=True,
            detail=f"the model {group.aux_model or group.model} may let small things run unasked;"
            " `elis approvals --assisted` lists them",
        )
        for name, group in settings.groups.items()
        if group.approvals.assisted
    ]


def _sandboxes(settings: Settings) -> list[Finding]:
    """Look at every back end that a group uses, by a trial command."""
    groups = [group.sandbox for group in settings.groups.values()] or [SandboxSettings()]
    used = {f"{chosen.backend} {chosen.image or chosen.host} {chosen.root}".strip(): chosen for chosen in groups}
    return [_looked(f"sandbox {name}", partial(_sandbox, chosen)) for name, chosen in used.items()]


def _sandbox(chosen: SandboxSettings) -> Finding:
    with tempfile.TemporaryDirectory() as folder:
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            found = sandbox_from(chosen, (Root(name="", descriptor=descriptor, writable=True),)).check()
        finally:
            os.close(descriptor)
    return Finding(name=f"sandbox {chosen.backend}", ok=found.ok, detail=found.text, fix=found.fix)


def _time_zones(settings: Settings) -> list[Finding]:
    zones = sorted({group.timezone for group in settings.groups.values() if group.timezone})
    if not zones:
        return [Finding(name="time zone", ok=True, detail=f"this machine's, {time.tzname[0]}")]
    return [_looked(f"time zone {zone}", partial(_time_zone, zone)) for zone in zones]


def _time_zone(zone: str) -> Finding:
    zoneinfo.ZoneInfo(zone)
    return Finding(name=f"time zone {zone}", ok=True, detail="is known here")


def _journals(home: Home) -> list[Finding]:
    """Look at every event of every journal; a million of them take seconds."""
    codecs: list[tuple[str, Path, Any]] = [("host", home.journal, HostCodec())]
    codecs += [(path.parent.name, path, GroupCodec()) for path in sorted(home.groups.glob("*/journal.db"))]
    return [
        _looked(f"journal {name}", partial(_journal, name, path, codec))
        for name, path, codec in codecs
        if path.exists()
    ]


def _journal(name: str, path: Path, codec: Any) -> Finding:  # noqa: ANN401 - each journal's own events
    fix = f"keep a copy of {path.parent}, then restore it from a backup"
    try:
        reader = Journal[Any].reader(path, codec)
        try:
            verdict = reader.verify()
        finally:
            reader.close()
    except JournalError as error:
        return Finding(name=f"journal {name}", ok=False, detail=str(error), fix=fix)
    if verdict.ok:
        return Finding(name=f"journal {name}", ok=True, detail=f"{verdict.events} events, all bound to one another")
    return Finding(name=f"journal {name}", ok=False, detail=verdict.detail, fix=fix)
