"""Reading and writing a group's files behind a wall (PATH-1, PATH-2, PATH-4).

Every file that a tool touches is reached through here: beneath one of the group's roots, whatever its path says and
whoever swaps links meanwhile. Above stand the file tools and the gate; below `roots` (finding and opening), `replace`
and `trash` (writing). This module translates the kernel's errors once, and knows neither tools nor turns. All of it
imports nothing but the standard library: the same code is the wall at the far end of a connection (`host.tools.far`).
"""

import errno
import os
import stat
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from host.errors import ElisError, PathViolation, ToolFailed
from host.tools import beneath, trash
from host.tools.paths import WORKSPACE, Place
from host.tools.replace import Existing, existing, prepared, read_all, reopen, sync
from host.tools.roots import Folder, Root, Roots, Target
from host.tools.seen import ChangedSince

_SHOWN_CHARS: Final = 200  # of a path in a message: the rest of a longer one tells nothing more


class Present(Protocol):
    """What stands at the target of a write."""

    def hash(self) -> str:
        """Return the hash of its content, as `content_hash` would."""
        ...


Admit = Callable[[str, Present | None], None]
"""Looks at a write's real path and what stands there, at the last moment; raises to forbid it."""


def _anything(_shown: str, _present: Present | None) -> None:
    """Forbid nothing."""


class Missing(ToolFailed):
    """There is no such file; list_files shows what there is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a path leads to."""

    place: Place  # links resolved
    file: bool  # a regular file; else a folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """What stands in a file."""

    shown: str  # its real path relative to /workspace, links resolved
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What a write did."""

    shown: str
    earlier: str | None  # where the replaced version is kept, relative to /workspace


class Jail:
    """Opens files beneath the group's roots and nowhere else. Thread-safe."""

    def __init__(self, roots: Roots) -> None:
        """Take open roots; `Jail.open` opens them."""
        self._roots = roots
        self._changing = threading.Lock()  # held between the last look at a target and its replacement

    @classmethod
    def open(cls, workspace: Path, folders: Mapping[str, Folder], *, kernel: bool | None = None) -> "Jail":
        """Open the roots; raise SettingsError for a folder that cannot be one.

        `kernel` chooses between `openat2` and the walk by hand; by default the kernel is asked whether it has it.
        """
        roots = Roots.open(workspace, folders, kernel=beneath.works() if kernel is None else kernel)
        os.close(trash.private_folder(roots.workspace))
        return cls(roots)

    @property
    def roots(self) -> tuple[Root, ...]:
        """The workspace, then the further folders."""
        return self._roots.all

    def close(self) -> None:
        """Release the descriptors."""
        self._roots.close()

    def check(self, path: str, *, writing: bool = False) -> str:
        """Return the real path relative to /workspace; raise PathViolation where a tool may not go.

        A first look, so that a call is refused before it runs: opening the file checks again.
        """
        place = self._roots.place(path)
        try:
            with _translating(path), self._roots.opened(place) as (descriptor, real):
                _refuse_special(descriptor, path)
                place = real
        except ToolFailed:
            pass  # nothing there, or not ours to open: no matter of the jail; opening the file will tell
        if writing:
            self._roots.refuse_unwritable(place)
        return place.shown

    def read(self, path: str, limit_bytes: int) -> Content:
        """Return a whole file; raise Missing, PathViolation, or ToolFailed (a folder, or larger than the limit)."""
        with _translating(path), self._roots.opened(self._roots.place(path)) as (descriptor, real):
            status = _refuse_special(descriptor, path)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            readable = reopen(descriptor)
            try:
                data = read_all(readable, limit_bytes)
            finally:
                os.close(readable)
        if len(data) > limit_bytes:
            message = (
                f"{real.shown} has {status.st_size} bytes, more than the {limit_bytes} that the file tools take; "
                "use shell (head, tail, sed -n) or search_files on it"
            )
            raise ToolFailed(message)
        return Content(shown=real.shown, data=data)

    @contextmanager
    def reading(self, path: str) -> Generator[tuple[int, str, int]]:
        """Open a file for reading: descriptor, real path, bytes; raise Missing, PathViolation, ToolFailed."""
        with _translating(path), self._roots.opened(self._roots.place(path)) as (descriptor, real):
            status = _refuse_special(descriptor, path)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            readable = reopen(descriptor)
        try:
            yield readable, real.shown, status.st_size
        finally:
            os.close(readable)

    def find(self, path: str) -> Found:
        """Return the file or folder that `path` leads to; raise Missing, PathViolation."""
        with _translating(path), self._roots.opened(self._roots.place(path)) as (descriptor, real):
            return Found(place=real, file=stat.S_ISREG(_refuse_special(descriptor, path).st_mode))

    @contextmanager
    def folder(self, path: str) -> Generator[tuple[int, Place]]:
        """Open a folder for listing: its descriptor and its real place; raise Missing, PathViolation, ToolFailed."""
        with _translating(path), self._roots.opened(self._roots.place(path)) as (descriptor, real):
            readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=descriptor)
        try:
            yield readable, real
        finally:
            os.close(readable)

    def write(self, path: str, data: bytes, *, key: str, admit: Admit, before: Admit = _anything) -> Written:
        """Make `data` the content of `path` in one step; folders on the way are made, the old version is kept.

        What `admit` raises leaves all as it was. It holds up every other change here; what takes time to find out is
        asked by `before`, which looks at the same earlier and forbids alike. Content that stands there already is not
        written again, so a call repeated under its `key` changes nothing and gets the same answer. Raises ChangedSince
        when the call was at this file before and somebody changed the file since: their work is not written over.
        """
        with _translating(path), self._roots.target(self._roots.place(path)) as target:
            with existing(target.folder, target.name, target.shown) as old:
                if old is not None and old.holds(data):
                    earlier = trash.kept(self._roots.workspace, key, target.name)
                else:
                    before(target.shown, old)
                    earlier = self._replace(target, data, old, key, admit)
        return Written(shown=target.shown, earlier=earlier)

    def _replace(self, target: Target, data: bytes, old: Existing | None, key: str, admit: Admit) -> str | None:
        workspace = self._roots.workspace
        with prepared(target.folder, data, old) as temporary:
            with self._changing, existing(target.folder, target.name, target.shown) as now:
                admit(target.shown, now)
                version = None if now is None else _version(target, now)
                if trash.changed_since(workspace, key, target.name, version):
                    message = (
                        f"this call was at {target.shown} already before the host stopped, and somebody changed the "
                        "file since; it was left as it is. Read it again first, and write what is still missing"
                    )
                    raise ChangedSince(message)
                earlier = trash.keep(workspace, key, target.name, version)
                os.rename(temporary, target.name, src_dir_fd=target.folder, dst_dir_fd=target.folder)
        sync(target.folder)
        return earlier


def _version(target: Target, present: Existing) -> trash.Version:
    return trash.Version(folder=target.folder, name=target.name, descriptor=present.descriptor)


def _refuse_special(descriptor: int, path: str) -> os.stat_result:
    """Raise PathViolation for a device, pipe or socket, which was not opened to find that out."""
    status = os.fstat(descriptor)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        message = f"{path!r} is a device, pipe or socket; the file tools take only files and folders"
        raise PathViolation(message)
    return status


@contextmanager
def _translating(path: str) -> Generator[None]:
    """Turn the kernel's answers into errors that say what to do."""
    try:
        yield
    except OSError as error:
        raise _translated(error, path) from error


def _translated(error: OSError, path: str) -> ElisError:
    kind, text = _MEANINGS.get(error.errno or 0, (ToolFailed, error.strerror or str(error)))
    return kind(f"{path[:_SHOWN_CHARS]!r} {text}")


_NOT_ALLOWED: Final = "may not be touched by the user that Elis runs as; ask the person"
_FULL: Final = "was not written: the disk is full; ask the person to make room"

_MEANINGS: Final[dict[int, tuple[type[ElisError], str]]] = {
    errno.EXDEV: (PathViolation, f"leads out of {WORKSPACE} by a link; use a path that stays inside"),
    errno.ELOOP: (PathViolation, "runs in a circle of links, or over a link of the kernel's own; name the file itself"),
    errno.EAGAIN: (PathViolation, "is being moved about and cannot be held on to; try again when it rests"),
    errno.ENOENT: (Missing, "does not exist; list_files shows what there is"),
    errno.ENOTDIR: (ToolFailed, "is a file, or goes through one as if it were a folder; list_files shows what is what"),
    errno.EISDIR: (ToolFailed, "is a folder; list_files shows what is in it"),
    errno.ENAMETOOLONG: (ToolFailed, "is longer than the disk allows for a name; choose a shorter one"),
    errno.ENOSPC: (ToolFailed, _FULL),
    errno.EDQUOT: (ToolFailed, _FULL),
    errno.EACCES: (ToolFailed, _NOT_ALLOWED),
    errno.EPERM: (ToolFailed, _NOT_ALLOWED),
    errno.EROFS: (ToolFailed, "lies on a disk that is read-only; write elsewhere"),
}
"""What the kernel's answers mean to a tool; the text completes the sentence that begins with the path."""
