"""The right to write a journal: an exclusive lock on a file beside it.

The lock keeps two writers apart; should one lose it all the same (a deleted lock file, a file system without locks),
the generation in the journal's own tip still refuses the older one.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import Final

from memory.errors import JournalBusy, JournalUnwritable

_RETRY_SECONDS: Final = 0.02  # flock cannot wait with a limit; 50 looks a second cost nothing beside a start


class WriteLock:
    """A held lock; it ends with `release` or with the process, however that ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path, wait_seconds: float) -> "WriteLock":
        """Lock `path`, waiting up to `wait_seconds`; raise JournalBusy naming the holder, or JournalUnwritable."""
        until = time.monotonic() + wait_seconds
        while (descriptor := _try(path)) is None:
            if time.monotonic() >= until:
                message = f"{path.name} is held by process {_holder(path)}, also after {wait_seconds:g} s; end it first"
                raise JournalBusy(message)
            time.sleep(_RETRY_SECONDS)
        with contextlib.suppress(OSError):  # a full disk: the number is only for the next one's message
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Give the lock up. The file stays: deleting it would let two others hold two different files."""
        os.close(self._descriptor)


def _try(path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = f"the lock {path} cannot be made ({error.strerror}); check the disk and the folder's permissions"
        raise JournalUnwritable(message) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(descriptor, path):
            return descriptor
    except BlockingIOError:
        pass  # held by another; the descriptor is closed below
    os.close(descriptor)
    return None


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the locked file still has its name: somebody may have deleted it between opening and locking."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    with contextlib.suppress(OSError):  # only for the message
        return path.read_text(encoding="ascii", errors="replace").strip() or "unknown"
    return "unknown"
