"""The process that runs one command at the far end, and ends all of it.

Whatever the command starts descends from the warden, also what was orphaned or moved into a session of its own: it is
the one that orphans fall to. All of that is ended when the command ends, when its time or a limit is reached, and when
the standard input of the warden closes, be it that the agent says so or that it is gone.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any, Final

from host.tools.bash import shell
from host.tools.far.parentage import adopt_orphans, end_below
from host.tools.limits import Limits, confine, reached_by
from host.tools.processes import usage

_EVERY_SECONDS: Final = 0.25  # between two looks at the processes' number and memory
_SIGNAL_BASE: Final = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A command as the agent hands it over."""

    command: str
    folder: int  # descriptor of the folder it starts in
    output: int  # descriptor that its output goes to
    environment: dict[str, str]
    seconds: float
    limits: dict[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a command ended."""

    exit_code: int
    timed_out: bool
    notes: list[str]


def main() -> None:
    """Run the command that the first line of the standard input describes, and tell how it ended."""
    fields: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    adopt_orphans()
    ended = _Warden(Job(**fields)).run()
    sys.stdout.write(json.dumps(asdict(ended)) + "\n")
    sys.stdout.flush()
    os._exit(0)


class _Warden:
    """One command."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._limits = Limits(**job.limits)
        self._started: subprocess.Popen[bytes] | None = None
        self._child = 0
        self._status: int | None = None

    def run(self) -> Ended:
        """Run it to its end, whatever that is."""
        woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        confine(0, self._limits, int(self._job.seconds) + 2, alone=False)
        until = time.monotonic() + self._job.seconds
        self._start()
        notes: list[str] = []
        timed_out = False
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(woken, select.POLLIN)
        look = time.monotonic() + _EVERY_SECONDS
        while not self._ended():
            ready = dict(poll.poll(1000 * max(0.0, min(look, until) - time.monotonic())))
            if woken in ready:
                os.read(woken, 4096)
            if 0 in ready:
                break
            if time.monotonic() >= until:
                timed_out = not self._ended()
                break
            if time.monotonic() >= look:
                if reached := reached_by(*usage(os.getpid()), self._limits):
                    notes.append(reached)
                    break
                look = time.monotonic() + _EVERY_SECONDS
        if not end_below(set(), self._note):
            notes.append("some of what the command started could not be ended")
        return Ended(exit_code=self._exit_code(), timed_out=timed_out, notes=notes)

    def _start(self) -> None:
        text = os.memfd_create("elis-command")  # a process list must not show the command
        os.write(text, self._job.command.encode(errors="surrogateescape"))
        argv = [shell(), f"/proc/self/fd/{text}"]
        self._started = subprocess.Popen(  # kept: one that is collected takes its process's end for itself
            argv,
            stdin=subprocess.DEVNULL,
            stdout=self._job.output,
            stderr=self._job.output,
            cwd=f"/proc/self/fd/{self._job.folder}",
            env=self._job.environment,
            pass_fds=(text,),
            start_new_session=True,
        )
        self._child = self._started.pid
        for descriptor in (text, self._job.folder, self._job.output):
            os.close(descriptor)

    def _ended(self) -> bool:
        """Take note of all ends that there are to see; say whether the command itself is among them."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                self._note(pid, status)
        return self._status is not None

    def _note(self, pid: int, status: int) -> None:
        if pid == self._child:
            self._status = status

    def _exit_code(self) -> int:
        if self._status is None:
            return _SIGNAL_BASE + signal.SIGKILL
        code = os.waitstatus_to_exitcode(self._status)
        return _SIGNAL_BASE - code if code < 0 else code
