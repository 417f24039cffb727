"""Earlier versions of overwritten files, kept in `.elis/trash` of the workspace for undo (PATH-2).

A version is named after the call that replaced it, so that a call run again after a crash keeps one version, not two.
The trash is bounded: the newest 200 versions and 256 MiB stay, the version just kept always does. Read-only to tools.
"""

import os
import re
import stat
from contextlib import suppress
from typing import Final

import msgspec

from host.tools.paths import PRIVATE
from host.tools.roots import plain_folder

FOLDER: Final = f"{PRIVATE}/trash"
VERSIONS: Final = 200  # a long turn makes some dozens of edits; this spans several
BYTES: Final = 256 << 20  # a nuisance on no disk, room for every text file
_KEY_CHARS: Final = 60
_NAME_BYTES: Final = 120  # with the key well under the 255 bytes of a name
_CHUNK: Final = 1 << 20


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """A file about to be replaced: where it stands, opened for reading."""

    folder: int  # descriptor of its folder
    name: str
    descriptor: int


def private_folder(workspace: int) -> int:
    """Open `.elis` of the workspace, made when it is missing; raise PathViolation when it is no folder."""
    return plain_folder(workspace, PRIVATE)


def keep(workspace: int, key: str, version: Version) -> str:
    """Keep `version` under the call's `key`; return its path relative to the workspace."""
    name = f"{re.sub(r'[^A-Za-z0-9._-]', '-', key)[:_KEY_CHARS]}~{_shortened(version.name)}"
    private = private_folder(workspace)
    try:
        trash = plain_folder(private, "trash")
    finally:
        os.close(private)
    try:
        if not _exists(trash, name):
            _link_or_copy(trash, name, version)
            _prune(trash, name)
    finally:
        os.close(trash)
    return f"{FOLDER}/{name}"


def kept(workspace: int, key: str, name: str) -> str | None:
    """Return the path of the version that the call `key` kept of the file `name`, if it kept one."""
    path = f"{FOLDER}/{re.sub(r'[^A-Za-z0-9._-]', '-', key)[:_KEY_CHARS]}~{_shortened(name)}"
    return path if _exists(workspace, path) else None


def _link_or_copy(trash: int, name: str, version: Version) -> None:
    """Give the old file a second name: at once, whatever its size. Copy it where that cannot be or would not last."""
    before = os.fstat(version.descriptor)
    if before.st_nlink == 1:  # with more, writing through another name would change the kept version too
        with suppress(OSError):  # another file system, or links to others' files are forbidden: copy
            os.link(version.name, name, src_dir_fd=version.folder, dst_dir_fd=trash, follow_symlinks=False)
            linked = os.stat(name, dir_fd=trash, follow_symlinks=False)
            if (linked.st_dev, linked.st_ino) == (before.st_dev, before.st_ino):
                return
            os.unlink(name, dir_fd=trash)  # somebody swapped the file meanwhile: keep what was opened
    copy = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=trash)
    try:
        offset = 0
        while chunk := os.pread(version.descriptor, _CHUNK, offset):
            os.write(copy, chunk)
            offset += len(chunk)
        os.fsync(copy)
    finally:
        os.close(copy)


def _prune(trash: int, newest: str) -> None:
    """Drop the oldest versions beyond the bounds, by the time at which they were put here."""
    with os.scandir(trash) as entries:
        versions = [(entry.stat(follow_symlinks=False), entry.name) for entry in entries if entry.name != newest]
    versions.sort(key=lambda version: version[0].st_ctime_ns, reverse=True)
    size = os.stat(newest, dir_fd=trash, follow_symlinks=False).st_size
    for count, (status, name) in enumerate(versions, start=2):
        size += status.st_size
        if (count > VERSIONS or size > BYTES) and not stat.S_ISDIR(status.st_mode):
            with suppress(FileNotFoundError):  # another lane pruned it
                os.unlink(name, dir_fd=trash)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _shortened(name: str) -> str:
    return name.encode()[-_NAME_BYTES:].decode(errors="ignore")
