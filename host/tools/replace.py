"""Putting a file's new content in place in one step (PATH-2).

The content goes to a temporary file of the same folder, is synced, renamed over the target, and the folder is synced:
a reader sees the old content or the new, a crash leaves one of them. All of it by the descriptor of the folder, so a
swapped path or link cannot divert it. A target with further hard links is safe by construction: the rename gives this
name a new file, the other names keep the old one.
"""

import hashlib
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from host.errors import PathViolation, ToolFailed
from host.tools.walk import TEMPORARY

_NEW_MODE: Final = 0o644  # minus the umask
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Existing:
    """The regular file that stands at a target."""

    descriptor: int  # open for reading
    status: os.stat_result

    def holds(self, data: bytes) -> bool:
        """Say whether its content is `data`."""
        return self.status.st_size == len(data) and read_all(self.descriptor, len(data)) == data

    def hash(self) -> str:
        """Return the hash of its content as it is now, as `content_hash` would."""
        digest = hashlib.blake2b(digest_size=16)
        offset = 0
        while chunk := os.pread(self.descriptor, _CHUNK, offset):
            digest.update(chunk)
            offset += len(chunk)
        return digest.hexdigest()


def content_hash(data: bytes) -> str:
    """Return the hash by which two contents are told apart."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@contextmanager
def existing(folder: int, name: str, shown: str) -> Generator[Existing | None]:
    """Open what stands at `name`, None for nothing; raise for all but a regular file, without opening that."""
    try:
        path = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        yield None
        return
    try:
        status = os.fstat(path)
        if stat.S_ISDIR(status.st_mode):
            message = f"{shown} is a folder; name a file in it"
            raise ToolFailed(message)
        if not stat.S_ISREG(status.st_mode):
            message = f"{shown} is no regular file and cannot be replaced; choose another name"
            raise PathViolation(message)
        descriptor = reopen(path)
    finally:
        os.close(path)
    try:
        yield Existing(descriptor=descriptor, status=status)
    finally:
        os.close(descriptor)


def reopen(path: int) -> int:
    """Open for reading the object that the O_PATH descriptor `path` stands for, and no other."""
    return os.open(f"/proc/self/fd/{path}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def read_all(descriptor: int, limit_bytes: int) -> bytes:
    """Read from the start to the end, or one byte past the limit."""
    parts: list[bytes] = []
    size = 0
    while size <= limit_bytes and (part := os.pread(descriptor, min(_CHUNK, limit_bytes + 1 - size), size)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


@contextmanager
def prepared(folder: int, data: bytes, old: Existing | None) -> Generator[str]:
    """Write `data` durably beside the target, with the mode and owner of `old`; yield the name to rename from.

    Unless it is renamed inside the `with`, nothing stays of it.
    """
    temporary = TEMPORARY + secrets.token_hex(8)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, _NEW_MODE if old is None else 0o600, dir_fd=folder)
    try:
        try:
            _fill(descriptor, data, old)
        finally:
            os.close(descriptor)
        yield temporary
    finally:
        with suppress(FileNotFoundError):  # it was renamed, as it should be
            os.unlink(temporary, dir_fd=folder)


def sync(folder: int) -> None:
    """Make the names in `folder` durable."""
    readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(readable)
    finally:
        os.close(readable)


def _fill(descriptor: int, data: bytes, old: Existing | None) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    if old is not None:
        with suppress(PermissionError):  # only root may give files away; else the writer owns it, as with any editor
            if (old.status.st_uid, old.status.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, old.status.st_uid, old.status.st_gid)
        os.fchmod(descriptor, old.status.st_mode & 0o777)  # never set-uid: the content is another's now
    os.fsync(descriptor)
