"""Earlier versions of overwritten files, kept in `.elis/trash` of the workspace for undo (PATH-2).

A version is named after the call that replaced it (`CALL~NAME`), so that a call run again after a crash keeps one, not
two. A file that was made new leaves an empty mark (`CALL+NAME`). By both a repeated call knows that it was here before,
and whether somebody changed the file since (REC-1). The trash is bounded: the newest 200 versions and 256 MiB stay, and
200 marks; what was just put there always does. Read-only to tools.

A version is a copy, so that a program that still has the file open does not write into it. Only a file of more than
16 MiB, on a disk that cannot share blocks, is kept by a second name instead: a write does not wait for gigabytes.
"""

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from host.tools.names import shown
from host.tools.paths import BARE_HOME, PRIVATE
from host.tools.roots import plain_folder
from host.tools.walk import TEMPORARY

FOLDER: Final = f"{PRIVATE}/trash"
VERSIONS: Final = 200  # a long turn makes some dozens of edits; this spans several
BYTES: Final = 256 << 20  # a nuisance on no disk, room for every text file
COPIED_BYTES: Final = 16 << 20  # takes some milliseconds; no text that the file tools change is larger
_CLONE: Final = 0x40049409  # FICLONE of linux/fs.h
_KEY_CHARS: Final = 60
_NAME_BYTES: Final = 120  # with the key well under the 255 bytes of a name
_CHUNK: Final = 1 << 20
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MARK: Final = re.compile(r"[A-Za-z0-9._-]*\+")  # what the name of a mark begins with, that of a version does not


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """A file about to be replaced: where it stands, opened for reading."""

    folder: int  # descriptor of its folder
    name: str
    descriptor: int


def private_folder(workspace: int) -> int:
    """Open `.elis` of the workspace, made when it is missing; raise PathViolation when it is no folder."""
    return plain_folder(workspace, PRIVATE)


def make_home(workspace: int) -> None:
    """Make the folder that is the home of commands which run in no box of their own."""
    private = private_folder(workspace)
    try:
        os.close(plain_folder(private, BARE_HOME.removeprefix(f"{PRIVATE}/")))
    finally:
        os.close(private)


def keep(workspace: int, key: str, name: str, version: Version | None) -> str | None:
    """Keep what the call `key` replaces at `name`; return its path relative to the workspace.

    None as `version` is no file: that is marked, and None returned. A version with other content that is kept under
    the name already stays, and this one gets a further name.
    """
    with _trash(workspace) as trash:
        if version is None:
            mark = _name(key, "+", name)
            with suppress(FileExistsError):  # this call was here before, and did not get to its end
                os.close(os.open(mark, _NEW, 0o600, dir_fd=trash))
            _prune(trash, mark)
            return None
        first = free = _name(key, "~", name)
        further = 1
        while _exists(trash, free):
            if _same(trash, free, version):
                return f"{FOLDER}/{free}"
            further += 1
            free = f"{first}~{further}"
        _put(trash, free, version)
        _prune(trash, free)
    return f"{FOLDER}/{free}"


def kept(workspace: int, key: str, name: str) -> str | None:
    """Return the path of the version that the call `key` kept of the file `name`, if it kept one."""
    path = f"{FOLDER}/{_name(key, '~', name)}"
    return path if _exists(workspace, path) else None


def changed_since(workspace: int, key: str, name: str, present: Version | None) -> bool:
    """Say whether the call `key` was at the file `name` before, and `present` is not what it found there then.

    Asked where `present` is not what the call writes either, so somebody else changed the file. A file that was marked
    as new and is not there counts as found: whether it was ever made is not known, and making it destroys nothing.
    """
    with _trash(workspace) as trash:
        version = _name(key, "~", name)
        if _exists(trash, version):
            return present is None or not _same(trash, version, present)
        return present is not None and _exists(trash, _name(key, "+", name))


@contextmanager
def _trash(workspace: int) -> Generator[int]:
    private = private_folder(workspace)
    try:
        trash = plain_folder(private, "trash")
    finally:
        os.close(private)
    try:
        yield trash
    finally:
        os.close(trash)


def _same(trash: int, name: str, version: Version) -> bool:
    """Say whether the kept `name` has the content of `version`."""
    other = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=trash)
    try:
        one, two = os.fstat(other), os.fstat(version.descriptor)
        if (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino):
            return True
        if one.st_size != two.st_size or not stat.S_ISREG(one.st_mode):
            return False
        offset = 0
        while chunk := os.pread(other, _CHUNK, offset):
            if chunk != os.pread(version.descriptor, len(chunk), offset):
                return False
            offset += len(chunk)
        return True
    finally:
        os.close(other)


def _put(trash: int, name: str, version: Version) -> None:
    """Keep the old file as it is now: a copy, which nobody has open, shares no name and no memory with it."""
    before = os.fstat(version.descriptor)
    temporary = TEMPORARY + secrets.token_hex(8)  # a half copy must not pass for the version
    copy = os.open(temporary, _NEW, 0o600, dir_fd=trash)
    try:
        if not _cloned(copy, version):
            if before.st_size > COPIED_BYTES and before.st_nlink == 1 and _linked(trash, name, version, before):
                os.unlink(temporary, dir_fd=trash)
                return
            _fill(copy, version, before.st_size)
        os.fchmod(copy, 0o600 | before.st_mode & stat.S_IXUSR)
        os.fsync(copy)
        os.rename(temporary, name, src_dir_fd=trash, dst_dir_fd=trash)
    except OSError:
        os.unlink(temporary, dir_fd=trash)
        raise
    finally:
        os.close(copy)


def _cloned(copy: int, version: Version) -> bool:
    """Let `copy` share the old file's blocks until one of them is written, where the disk can; say whether it did."""
    try:
        fcntl.ioctl(copy, _CLONE, version.descriptor)
    except OSError:
        return False
    return True


def _linked(trash: int, name: str, version: Version, before: os.stat_result) -> bool:
    """Give the old file a second name; say whether that could be: not on another disk, nor for what is others'."""
    try:
        os.link(version.name, name, src_dir_fd=version.folder, dst_dir_fd=trash, follow_symlinks=False)
    except OSError:
        return False
    linked = os.stat(name, dir_fd=trash, follow_symlinks=False)
    if (linked.st_dev, linked.st_ino) == (before.st_dev, before.st_ino):
        return True
    os.unlink(name, dir_fd=trash)  # somebody swapped the file meanwhile: keep what was opened
    return False


def _fill(copy: int, version: Version, size: int) -> None:
    """Copy what the file held when its size was asked for; a program may be adding to it faster than it is read."""
    offset = 0
    while offset < size and (chunk := os.pread(version.descriptor, min(_CHUNK, size - offset), offset)):
        offset += os.write(copy, chunk)


def _prune(trash: int, newest: str) -> None:
    """Drop the oldest of the kind of `newest` beyond the bounds, by the time at which they were put here."""
    marks = _MARK.match(newest) is not None
    with os.scandir(trash) as entries:
        found = [entry for entry in entries if entry.name != newest and (_MARK.match(entry.name) is not None) == marks]
        versions = [(entry.stat(follow_symlinks=False), entry.name) for entry in found]
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


def _name(key: str, sign: str, name: str) -> str:
    shortened = shown(name).encode()[-_NAME_BYTES:].decode(errors="ignore")
    return re.sub(r"[^A-Za-z0-9._-]", "-", key)[:_KEY_CHARS] + sign + shortened
