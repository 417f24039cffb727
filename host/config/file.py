"""A settings file as bytes: never more than is looked at, and never one that would be waited for."""

import errno
import os
import stat
from pathlib import Path


def regular_bytes(path: Path, most: int) -> bytes:
    """Return what the file holds, at most a byte more than `most`; raise OSError, also where it is no regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        return file.read(most + 1)
