"""Who belongs to whom at the far end: orphans that fall to a process, and the end of all that descends from it."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable
from typing import Final

from host.tools.processes import below

_ENDING_SECONDS: Final = 2.0  # SIGKILL takes milliseconds; longer only where a disk hangs, or rights were raised
_SET_PDEATHSIG: Final = 1  # of prctl
_SET_CHILD_SUBREAPER: Final = 36


def adopt_orphans() -> None:
    """Let orphans below this process fall to it; raise OSError."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Let this process be ended when the thread that started it is gone; raise OSError."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def end_below(spared: set[int], note: Callable[[int, int], None]) -> bool:
    """End all that descends from this process but `spared` and what descends from those; say whether nothing is left.

    All are halted before any is ended: what forks as fast as it is ended would never be caught else. `note` hears the
    process id and status of each child that has ended.
    """
    until = time.monotonic() + _ENDING_SECONDS
    while True:
        kept = spared.union(*(below(pid) for pid in spared))
        victims = below(os.getpid()) - kept
        for sign in (signal.SIGSTOP, signal.SIGKILL):
            for pid in victims:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, sign)
        for pid in victims:
            with contextlib.suppress(ChildProcessError):
                if (ended := os.waitpid(pid, os.WNOHANG))[0]:
                    note(*ended)
        if not victims or time.monotonic() > until:
            return not victims


def _prctl(what: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(what, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
