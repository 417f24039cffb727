"""Files of the home that only its owner reads, and that are there as a whole or not at all.

A file is written beside its place, brought to the disk, and then given its name: a full disk or a power cut leaves no
empty token and no half of the settings. It refuses to know what the files are for.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

from host.errors import AuditFailure, ElisError, SettingsError

MODE: Final = 0o600
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP})  # a file system without a second name
_REMEDIES: Final = {
    errno.ENOSPC: "the disk is full; make room",
    errno.EDQUOT: "the disk quota is used up; make room",
    errno.EFBIG: "the limit for the size of files is reached; raise it (`ulimit -f`)",
    errno.EROFS: "the file system is read-only; mount it writable, or give another home with --home DIR",
    errno.EIO: "the disk fails; replace it and restore a backup",
}


def create(path: Path, text: str) -> bool:
    """Make the file `path` with `text` unless it exists; say whether it was made. Raises what `unwritable` returns."""
    with _translated(path), _beside(path, text) as fresh:
        try:
            os.link(fresh, path)  # fails where the name is taken, and never shows half a file
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if path.exists():
                return False
            fresh.replace(path)
        _keep_name(path)
    return True


def replace(path: Path, text: str, *, before: Callable[[], None] = lambda: None) -> None:
    """Put `text` at `path` in one step, so that a reader sees the old file or the new one; raises as `create`.

    `before` is called at the last moment; what it raises leaves everything as it was.
    """
    with _translated(path), _beside(path, text) as fresh:
        before()
        fresh.replace(path)
        _keep_name(path)


def unwritable(path: Path, error: OSError) -> ElisError:
    """Return what a failed write at `path` means, with the way out: AuditFailure for a disk, else SettingsError."""
    remedy = _REMEDIES.get(error.errno or 0)
    if remedy is not None:  # whoever cannot write this cannot write a journal either
        return AuditFailure(f"{path} cannot be written: {remedy}, then try again")
    return SettingsError(
        f"{path} cannot be written ({error.strerror}); mend its rights, or give another home with --home DIR"
    )


@contextlib.contextmanager
def _translated(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error


@contextlib.contextmanager
def _beside(path: Path, text: str) -> Generator[Path]:
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(descriptor)
        yield fresh
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()


def _keep_name(path: Path) -> None:
    """Bring the folder's new entry to the disk; some file systems do that with the file and know no such call."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
