"""The sandbox in bubblewrap: starting a command in its box, the limits round it, and the end of all of it (BOX-1).

What the box holds is `host.tools.box`'s to say. The command begins only when its limits are set: bubblewrap waits at a
pipe until then, and a second word on the same pipe lets the command go, so that a host that dies in between leaves
nothing running. If bubblewrap is missing or does not work, commands are refused with the fix; none runs bare (BOX-3).
"""

import math
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final

import msgspec

from browser.proxy import Door
from host.errors import Unsupported
from host.excerpts import ending
from host.tools import box, cgroups, door, seccomp, trash
from host.tools.bash import shell
from host.tools.child import Child, InUse
from host.tools.commands import folders_seen, inside, refuse_unfit
from host.tools.egress import Egress, unlisted
from host.tools.finished import Finding, Finished
from host.tools.leftovers import end_leftovers, mark
from host.tools.limits import Limits, confine
from host.tools.output import Output
from host.tools.paths import WORKSPACE
from host.tools.reach import Reach
from host.tools.roots import Root, plain_folder
from host.tools.running import Descriptors, Running, pid_told
from host.tools.sampler import Sampler

_START_SECONDS: Final = 5.0  # until bubblewrap names the child; takes three milliseconds
_TRIAL_SECONDS: Final = 10.0
_DOOR_SECONDS: Final = 0.25  # until the connections of a command are told; takes a millisecond
_WAIT: Final = 'read -r go || exit 125; exec "$0" ' + box.COMMAND + " </dev/null"


class _Ready(msgspec.Struct, frozen=True, kw_only=True):
    """A bubblewrap that was found."""

    executable: str
    features: box.Features
    system: tuple[str, ...]  # the arguments that are the same for every command
    filter: bytes


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A command, and how it is to be run."""

    command: str
    cwd: str = "."  # relative to the workspace
    environment: Mapping[str, str] = {}
    reading: bool = False  # it was let through because it only reads


class BwrapSandbox:
    """Runs commands in bubblewrap. Thread-safe; spawn from threads that outlive the command."""

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        roots: Sequence[Root],
        *,
        executable: str = "bwrap",
        search_path: str | None = None,
        limits: Limits | None = None,
        groups: cgroups.Groups | None = None,
        look_for_groups: bool = True,
        egress: Egress | None = None,
        marked: Root | None = None,
    ) -> None:
        """Show `roots`. `executable` is looked up on `search_path` (default: PATH) whenever it is needed.

        Commands get a door to `egress` when any host is listed or admitted to the run, else no network at all. Where
        `roots` do not begin with the workspace, an empty folder stands in its place, and `marked` is the workspace
        whose mark programs carry.
        """
        self._marked = marked or roots[0]
        self._roots = tuple(roots)
        self._executable = executable
        self._search_path = search_path
        self._limits = limits or Limits()
        self._groups = cgroups.find() if groups is None and look_for_groups else groups
        self._ready: _Ready | None = None
        self._running = InUse()
        self._egress = egress

    @property
    def bare(self) -> bool:
        """Whether commands run unconfined: never."""
        return False

    @property
    def reach(self) -> Reach:
        """What commands reach: what the door of their run leads to."""
        return Reach.DOOR if self._egress is not None else Reach.NOTHING

    async def run(  # noqa: PLR0913 - the interface of all back ends, and what a tool server needs
        self,
        command: str,
        *,
        cwd: str,
        timeout_seconds: float,
        environment: Mapping[str, str],
        on_output: Callable[[str], None] | None = None,
        caller: str = "",
        also: Sequence[str] = (),
        reading: bool = False,
        passed: Sequence[int] = (),
    ) -> Finished:
        """Run `command` in a box of its own, see `host.tools.sandbox.Sandbox`.

        It gets the descriptors `passed`, under their numbers; they are closed here.
        """
        output = Output(on_output)
        way_out = None if reading else self._door(caller, also)
        asked = _Asked(command=command, cwd=cwd, environment=environment, reading=reading)
        with self._started(asked, timeout_seconds, way_out, passed) as running:
            watch = running.group or Sampler(running.pid, self._limits, running.kill)
            try:
                timed_out = await running.child.attend(output, timeout_seconds, running.kill)
            finally:
                if isinstance(watch, Sampler):
                    watch.stop()
            notes = watch.reached()
            if not (running.finished() or timed_out or notes):
                raise Unsupported(unavailable(output.text()))
        if way_out is not None:
            way_out.close(_DOOR_SECONDS)
        return Finished(
            exit_code=running.child.exit_code,
            output=output.text(),
            timed_out=timed_out,
            truncated=output.left_out > 0,
            notes=notes if way_out is None else (*notes, *way_out.refusals()),
            unlisted=() if way_out is None else unlisted(way_out),
        )

    def kill_all(self) -> None:
        """End every running command at once, from any thread."""
        self._running.kill_all()

    def holding(self, kill: Callable[[], None]) -> AbstractContextManager[None]:
        """Let `kill_all` call `kill` too, inside the `with`."""
        return self._running.holding(kill)

    def end_leftovers(self) -> None:
        """End what outlived an earlier process of this group."""
        end_leftovers(self._marked)

    def check(self) -> Finding:
        """Run a trial command."""
        output = Output()
        try:
            with self._started(_Asked(command="true"), _TRIAL_SECONDS) as running:
                running.child.wait(output, _TRIAL_SECONDS, running.kill)
                works = running.finished() and running.child.exit_code == 0
        except Unsupported as error:
            return Finding(ok=False, text="the sandbox is unavailable", fix=error.message)
        if not works:
            return Finding(ok=False, text="the sandbox is unavailable", fix=unavailable(output.text()))
        return Finding(ok=True, text=f"bubblewrap works; limits by {self._in_force()}: {self._limits.sentence()}")

    def describe(self) -> str:
        """Say where commands run and what they reach."""
        return (
            f"Commands run in a bubblewrap sandbox {self._network()}. They see {WORKSPACE} (read and "
            f"write){folders_seen(self._roots)}, the system's programs and an empty /tmp; each may use "
            f"{self._limits.sentence()}."
        )

    def _door(self, caller: str, also: Sequence[str]) -> Door | None:
        if self._egress is None or not (self._egress.hosts or also):
            return None
        return self._egress.door(caller, also)

    def _network(self) -> str:
        if self._egress is None or not self._egress.hosts:
            return "without network"
        return f"whose one way out is a proxy, named by HTTPS_PROXY, to {', '.join(self._egress.hosts)}"

    def _in_force(self) -> str:
        if self._groups is not None:
            return self._groups.version
        return (
            "RLIMIT_DATA and a sampler (there are no control groups to use: a short overshoot is possible, memfd and "
            "System V memory are not there, and what lies in /tmp and /dev/shm or in the kernel's buffers comes on top)"
        )

    @contextmanager
    def _started(
        self, asked: _Asked, seconds: float, way_out: Door | None = None, passed: Sequence[int] = ()
    ) -> Generator[Running]:
        with ExitStack() as closing:
            descriptors = Descriptors(closing)
            for descriptor in passed:
                descriptors.own(descriptor, passed=True)
            if way_out is not None:
                closing.callback(way_out.close, 0)
            ready = self._found()
            refuse_unfit(asked.command, asked.environment)
            starting = closing.enter_context(self._running.starting())
            running = self._start(ready, asked, descriptors, way_out)
            try:
                starting.ended_by(running.kill)
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
        help_text = (told.stdout + told.stderr).decode(errors="replace")
        features = box.features_of(help_text)
        if not features.bind_fd:
            raise Unsupported(_old(_INHERITED) if "--bind" in help_text else unavailable(help_text))
        if not (features.size or self._groups):
            raise Unsupported(_old(_UNBOUNDED))
        filter_ = seccomp.packed(seccomp.program(numbers, counted=self._groups is not None))
        system = tuple(box.system(features, self._limits))
        self._ready = _Ready(executable=executable, features=features, system=system, filter=filter_)
        return self._ready

    def _start(self, ready: _Ready, asked: _Asked, descriptors: Descriptors, way_out: Door | None) -> Running:
        """Start bubblewrap and wait until it names the child, which it holds at the pipe."""
        info, info_writing = descriptors.telling()
        status, status_writing = descriptors.telling()
        gate, gate_writing = os.pipe2(os.O_CLOEXEC)
        descriptors.own(gate)
        descriptors.own(gate_writing)
        waiting = descriptors.own(os.dup(gate), passed=True)  # bubblewrap closes the one that it waits on
        waiter, variables = _waiter(descriptors, way_out)
        arguments = [
            *ready.system,
            *self._binds(ready.features, descriptors, reading=asked.reading),
            *box.start(
                asked.command, inside(asked.cwd, self._roots), variables | dict(asked.environment), descriptors.data
            ),
            "--seccomp", str(descriptors.data(ready.filter)),
            "--info-fd", str(info_writing),
            "--json-status-fd", str(status_writing),
            "--block-fd", str(waiting),
        ]  # fmt: skip
        told = descriptors.data("\0".join(arguments).encode(errors="surrogateescape"))
        inherited = [*descriptors.passed, *(root.descriptor for root in self._roots)]
        argv = [ready.executable, "--args", str(told), "--", *waiter]
        try:
            child = Child(argv, environment=mark(self._marked), descriptors=inherited, stdin=gate)
        except OSError as error:
            raise Unsupported(unavailable(str(error))) from error
        descriptors.close_passed()
        return Running(child, pid_told(info, _START_SECONDS), status=status, gate=gate_writing, door=way_out)

    def _binds(self, features: box.Features, descriptors: Descriptors, *, reading: bool) -> list[str]:
        """Return the arguments that show the roots; where the workspace is none of them it is an empty folder."""
        if not self._roots or self._roots[0].name:
            return [*box.empty_workspace(features, self._limits), *box.binds(self._roots, -1)]
        private = descriptors.own(trash.private_folder(self._roots[0].descriptor), passed=True)
        for root in self._roots[1:]:
            os.close(plain_folder(self._roots[0].descriptor, root.name))  # bubblewrap would follow a link there
        return box.binds(self._roots, private, reading=reading)

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


def _waiter(descriptors: Descriptors, way_out: Door | None) -> tuple[list[str], dict[str, str]]:
    """Return the program that waits in the box and becomes the command, and the variables that the command gets."""
    if way_out is None:
        return ["/bin/sh", "-c", _WAIT, shell()], {}
    outside, inside = socket.socketpair()
    control = descriptors.own(inside.detach(), passed=True)
    way_out.adopt(outside)
    return [*door.arguments(control), shell(), box.COMMAND], door.VARIABLES | door.QUIET


_MISSING: Final = (
    "shell is unavailable: bubblewrap (bwrap) is not installed. Commands never run without it. "
    "Ask the operator to run: apt-get install -y bubblewrap"
)
_INHERITED: Final = "--bind-fd, without which a command would inherit a way out of the sandbox"
_UNBOUNDED: Final = "--size, without which nothing bounds /tmp where there are no control groups"
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
    "unknown option": "install a newer bubblewrap: apt-get update && apt-get install -y bubblewrap",
}


def _old(lacking: str) -> str:
    return (
        f"shell is unavailable: bubblewrap (bwrap) is too old, it has no {lacking}. Version 0.10 has it, and so have "
        "updates of older ones, such as Debian 12's 0.8.0-2+deb12u1. Ask the operator to run: apt-get update && "
        "apt-get install -y bubblewrap"
    )


def unavailable(told: str) -> str:
    """Say that the sandbox does not work, in bubblewrap's words, and what to do about it."""
    words = ending(told.strip(), 300) or "it ended without a word"
    fix = next((fix for sign, fix in _REMEDIES.items() if sign in told.lower()), "run elis doctor")
    return f"shell is unavailable: bubblewrap does not work here ({words}). Commands never run without it. Fix: {fix}"
