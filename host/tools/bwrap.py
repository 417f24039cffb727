"""The sandbox in bubblewrap: starting a command in its box, the limits round it, and the end of all of it (BOX-1).

What the box holds is `host.tools.box`'s to say. The command begins only when its limits are set: bubblewrap waits at a
pipe until then, and a second word on the same pipe lets the command go, so that a host that dies in between leaves
nothing running. If bubblewrap is missing or does not work, commands are refused with the fix; none runs bare (BOX-3).
"""

import math
import os
import shutil
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import msgspec

from host.errors import Unsupported
from host.tools import box, cgroups, seccomp, trash
from host.tools.child import Child, InUse
from host.tools.finished import Finding, Finished
from host.tools.leftovers import mark
from host.tools.limits import Limits, confine
from host.tools.output import Output
from host.tools.paths import WORKSPACE, place_of
from host.tools.roots import Root, plain_folder
from host.tools.running import Descriptors, Running, pid_told
from host.tools.sampler import Sampler

_START_SECONDS: Final = 5.0  # until bubblewrap names the child; takes three milliseconds
_TRIAL_SECONDS: Final = 10.0
_WAIT: Final = 'read -r go || exit 125; exec "$0" ' + box.COMMAND + " </dev/null"


class _Ready(msgspec.Struct, frozen=True, kw_only=True):
    """A bubblewrap that was found."""

    executable: str
    features: box.Features
    system: tuple[str, ...]  # the arguments that are the same for every command
    filter: bytes


class BwrapSandbox:
    """Runs commands in bubblewrap. Thread-safe; spawn from threads that outlive the command."""

    def __init__(
        self,
        roots: Sequence[Root],
        *,
        executable: str = "bwrap",
        search_path: str | None = None,
        limits: Limits | None = None,
        groups: cgroups.Groups | None = None,
        look_for_groups: bool = True,
    ) -> None:
        """Show `roots`. `executable` is looked up on `search_path` (default: PATH) whenever it is needed."""
        self._roots = tuple(roots)
        self._executable = executable
        self._search_path = search_path
        self._limits = limits or Limits()
        self._groups = cgroups.find() if groups is None and look_for_groups else groups
        self._ready: _Ready | None = None
        self._running = InUse()

    @property
    def bare(self) -> bool:
        """Whether commands run unconfined: never."""
        return False

    async def run(
        self,
        command: str,
        *,
        cwd: str,
        timeout_seconds: float,
        environment: Mapping[str, str],
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        """Run `command` in a box of its own, see `host.tools.sandbox.Sandbox`."""
        output = Output(on_output)
        with self._started(command, cwd, environment, timeout_seconds) as running:
            watch = running.group or Sampler(running.pid, self._limits, running.kill)
            try:
                timed_out = await running.child.attend(output, timeout_seconds, running.kill)
            finally:
                if isinstance(watch, Sampler):
                    watch.stop()
            notes = watch.reached()
            if not (running.finished() or timed_out or notes):
                raise Unsupported(unavailable(output.text()))
        return Finished(
            exit_code=running.child.exit_code,
            output=output.text(),
            timed_out=timed_out,
            truncated=output.left_out > 0,
            notes=notes,
        )

    def kill_all(self) -> None:
        """End every running command at once, from any thread."""
        self._running.kill_all()

    def check(self) -> Finding:
        """Run a trial command."""
        output = Output()
        try:
            with self._started("true", ".", {}, _TRIAL_SECONDS) as running:
                running.child.wait(output, _TRIAL_SECONDS, running.kill)
                works = running.finished() and running.child.exit_code == 0
        except Unsupported as error:
            return Finding(ok=False, text="the sandbox is unavailable", fix=error.message)
        if not works:
            return Finding(ok=False, text="the sandbox is unavailable", fix=unavailable(output.text()))
        return Finding(ok=True, text=f"bubblewrap works; limits by {self._in_force()}: {self._limits.sentence()}")

    def describe(self) -> str:
        """Say where commands run and what they reach."""
        folders = "".join(
            f", {root.inside} ({'read and write' if root.writable else 'read only'})" for root in self._roots[1:]
        )
        return (
            f"Commands run in a bubblewrap sandbox without network. They see {WORKSPACE} (read and write){folders}, "
            f"the system's programs and an empty /tmp; each may use {self._limits.sentence()}."
        )

    def _in_force(self) -> str:
        if self._groups is not None:
            return self._groups.version
        return "RLIMIT_DATA and a sampler (there are no control groups to use; a short overshoot is possible)"

    @contextmanager
    def _started(self, command: str, cwd: str, environment: Mapping[str, str], seconds: float) -> Generator[Running]:
        ready = self._found()
        box.refuse_unfit(command, environment)
        with ExitStack() as closing:
            running = self._start(ready, command, _inside(cwd, self._roots), environment, closing)
            try:
                with self._running.holding(running.kill):
                    self._enclose(running, seconds)
                    running.go()
                    yield running
            except BaseException:
                running.kill()
                raise
            finally:
                running.release()

    def _found(self) -> _Ready:
        """Find bubblewrap and what it can do; raise Unsupported with the fix."""
        executable = shutil.which(self._executable, path=self._search_path)
        if executable is None:
            raise Unsupported(_MISSING)
        if self._ready is not None and self._ready.executable == executable:
            return self._ready
        machine = os.uname().machine
        numbers = seccomp.numbers_of(machine)
        if numbers is None:
            message = f"shell is unavailable: there is no system call filter for {machine}, only x86_64 and aarch64"
            raise Unsupported(message)
        try:
            told = subprocess.run([executable, "--help"], capture_output=True, env={}, check=False, timeout=5)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unsupported(unavailable(str(error))) from error
        features = box.features_of((told.stdout + told.stderr).decode(errors="replace"))
        filter_ = seccomp.packed(seccomp.program(numbers))
        system = tuple(box.system(features, self._limits))
        self._ready = _Ready(executable=executable, features=features, system=system, filter=filter_)
        return self._ready

    def _start(
        self, ready: _Ready, command: str, cwd: str, environment: Mapping[str, str], closing: ExitStack
    ) -> Running:
        """Start bubblewrap and wait until it names the child, which it holds at the pipe."""
        descriptors = Descriptors(closing)
        private = descriptors.own(trash.private_folder(self._roots[0].descriptor), passed=True)
        for root in self._roots[1:]:
            os.close(plain_folder(self._roots[0].descriptor, root.name))  # bubblewrap would follow a link there
        info, info_writing = descriptors.telling()
        status, status_writing = descriptors.telling()
        gate, gate_writing = os.pipe2(os.O_CLOEXEC)
        descriptors.own(gate)
        descriptors.own(gate_writing)
        waiting = descriptors.own(os.dup(gate), passed=True)  # bubblewrap closes the one that it waits on
        arguments = [
            *ready.system,
            *box.binds(self._roots, private, ready.features),
            *box.start(command, cwd, environment, descriptors.data),
            "--seccomp", str(descriptors.data(ready.filter)),
            "--info-fd", str(info_writing),
            "--json-status-fd", str(status_writing),
            "--block-fd", str(waiting),
        ]  # fmt: skip
        told = descriptors.data("\0".join(arguments).encode(errors="surrogateescape"))
        inherited = [*descriptors.passed, *(root.descriptor for root in self._roots)]
        argv = [ready.executable, "--args", str(told), "--", "/bin/sh", "-c", _WAIT, box.shell()]
        try:
            child = Child(argv, environment=mark(self._roots[0]), descriptors=inherited, stdin=gate)
        except OSError as error:
            raise Unsupported(unavailable(str(error))) from error
        descriptors.close_passed()
        return Running(child, pid_told(info, _START_SECONDS), status=status, gate=gate_writing)

    def _enclose(self, running: Running, seconds: float) -> None:
        """Put the limits round a child that does not run yet."""
        if not running.pid:
            return
        try:
            if self._groups is not None:
                running.group = self._groups.make(self._limits)
                running.group.add(running.pid)
            confine(running.pid, self._limits, math.ceil(seconds) + 1)
        except ProcessLookupError:
            return  # it failed in its set-up: its own words come with its end
        except OSError as error:
            message = f"shell is unavailable: the limits of the sandbox cannot be set ({error}); see elis doctor"
            raise Unsupported(message) from error


def _inside(cwd: str, roots: Sequence[Root]) -> str:
    path = place_of(cwd, [root.name for root in roots[1:]]).path
    return WORKSPACE if path == "." else f"{WORKSPACE}/{path}"


_MISSING: Final = (
    "shell is unavailable: bubblewrap (bwrap) is not installed. Commands never run without it. "
    "Ask the operator to run: apt-get install -y bubblewrap"
)
_USER_NAMESPACES: Final = (
    "let ordinary users make user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 "
    "kernel.apparmor_restrict_unprivileged_userns=0 user.max_user_namespaces=15000 (those that exist); a container "
    "must be started with --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
)
_PROC: Final = "start the container with --security-opt systempaths=unconfined, so that a new /proc can be mounted"
_REMEDIES: Final = {
    "creating new namespace failed": _USER_NAMESPACES,
    "no permissions to create": _USER_NAMESPACES,
    "setting up uid map": _USER_NAMESPACES,
    "unshare": _USER_NAMESPACES,
    "mount proc": _PROC,
    "unknown option": "install bubblewrap 0.5 or newer: apt-get install -y bubblewrap",
}


def unavailable(told: str) -> str:
    """Say that the sandbox does not work, in bubblewrap's words, and what to do about it."""
    words = told.strip()[-300:] or "it ended without a word"
    fix = next((fix for sign, fix in _REMEDIES.items() if sign in told.lower()), "run elis doctor")
    return f"shell is unavailable: bubblewrap does not work here ({words}). Commands never run without it. Fix: {fix}"
