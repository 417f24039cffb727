"""Whether a command of a test is among the machine's processes. Another process can only be looked for."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .commands import BOUND_SECONDS

_LOOK_SECONDS: Final = 0.005


def appeared(*words: str) -> bool:
    """Wait for a process with this command line; say whether it came."""
    return _until(BOUND_SECONDS, lambda: _is_there(*words))


def gone(*words: str) -> bool:
    """Wait for the end of a command line's last process, a second as BOX-1 allows; say whether it came."""
    return _until(1.0, lambda: not _is_there(*words))


def _is_there(*words: str) -> bool:
    wanted = "\0".join(words).encode() + b"\0"
    for found in Path("/proc").iterdir():
        if found.name.isdecimal():
            try:
                if (found / "cmdline").read_bytes() == wanted:
                    return True
            except OSError:
                continue
    return False


def _until(seconds: float, true: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_SECONDS)
    return True
