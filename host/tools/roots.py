"""Where a group's files lie: the workspace, further folders, and how a name beneath them becomes a descriptor.

A root is opened once, when the group is, and everything is found beneath its descriptor (PATH-1, PATH-4). Links that
stay inside a root work, also absolute ones made inside the sandbox (`/workspace/…`). Above stands `host.tools.jail`,
which reads and writes; this module opens by O_PATH only, so no device or pipe is ever touched by looking for it.
"""

import errno
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from host.errors import PathViolation, SettingsError, ToolFailed
from host.tools import beneath
from host.tools.names import unescaped
from host.tools.paths import PRIVATE, WORKSPACE, Place, place_of
from host.tools.replace import sync

_FOLDER: Final = os.O_PATH | os.O_DIRECTORY


class Folder(Protocol):
    """A further root as the settings name it."""

    @property
    def path(self) -> str:
        """Where it is on the machine."""
        ...

    @property
    def mode(self) -> Literal["read", "write"]:
        """What may be done in it."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Root:
    """A folder of the machine in which the group's files lie."""

    name: str  # "" is the workspace; NAME is seen as /workspace/NAME
    descriptor: int
    writable: bool

    @property
    def inside(self) -> str:
        """The path under which tools and sandbox see it."""
        return f"{WORKSPACE}/{self.name}" if self.name else WORKSPACE

    def real_path(self) -> str:
        """Return where the folder is on the machine now, by its descriptor."""
        return real_path(self.descriptor)


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where a write goes: an open folder and a name in it that is no link."""

    folder: int
    name: str
    shown: str


class Roots:
    """The open roots of one group. Methods raise OSError of the kernel beside the errors they name."""

    def __init__(self, roots: Mapping[str, Root], *, kernel: bool) -> None:
        """Take open roots; with `kernel` false every path is walked by hand."""
        self._roots = dict(roots)
        self._kernel = kernel

    @classmethod
    def open(cls, workspace: Path, folders: Mapping[str, Folder], *, kernel: bool) -> "Roots":
        """Open all roots; raise SettingsError for a folder that cannot be one, or is found over a link.

        Who gives the folders has followed the operator's links; others may have been put there by a command.
        """
        roots = {"": _root("", workspace, os.open, writable=True)}
        for name, folder in folders.items():
            if name in {"", ".", "..", PRIVATE} or "/" in name or "\0" in name:
                message = f"folders.{name}: a folder's name is one plain file name other than {PRIVATE!r}"
                raise SettingsError(message)
            roots[name] = _root(name, Path(folder.path), _open_plainly, writable=folder.mode == "write")
        return cls(roots, kernel=kernel)

    @property
    def all(self) -> tuple[Root, ...]:
        """The workspace, then the further folders."""
        return tuple(self._roots.values())

    @property
    def workspace(self) -> int:
        """The workspace's descriptor."""
        return self._roots[""].descriptor

    def close(self) -> None:
        """Release the descriptors."""
        for root in self._roots.values():
            os.close(root.descriptor)
        self._roots = {}

    def place(self, path: str) -> Place:
        r"""Read a path's text; raise PathViolation where its words alone lead out.

        A part such as `caf\xe9.txt` names the file of that very name, or when there is none the one shown like that.
        """
        place = place_of(path, self._roots)
        if "\\" not in place.inner:
            return place
        inner = ""
        for part in place.inner.split("/"):
            above = f"{inner}/" if inner else ""
            raw = unescaped(part)
            there = raw != part and not self._exists(place.root, above + part) and self._exists(place.root, above + raw)
            inner = above + (raw if there else part)
        return Place(root=place.root, inner=inner)

    @contextmanager
    def opened(self, place: Place) -> Generator[tuple[int, Place]]:
        """Open what is at `place` by O_PATH; yield the descriptor and the real place, links resolved."""
        descriptor = self._open(place.root, place.inner, os.O_PATH)
        try:
            yield descriptor, self._real_place(descriptor, place)
        finally:
            os.close(descriptor)

    def refuse_unwritable(self, place: Place) -> None:
        """Raise PathViolation where no tool may write: the host's own folder, a folder opened for reading."""
        if PRIVATE in place.inner.split("/"):
            message = f"{PRIVATE} belongs to Elis itself and cannot be written; choose another folder"
            raise PathViolation(message)
        root = self._roots[place.root]
        if not root.writable:
            message = f"{root.inside} is read-only (folders.{root.name} in elis.toml); write elsewhere in {WORKSPACE}"
            raise PathViolation(message)

    @contextmanager
    def target(self, place: Place) -> Generator[Target]:
        """Find the folder and name that a write to `place` changes, following links; missing folders are made."""
        root, inner = place.root, place.inner
        for _ in range(beneath.LINKS):
            parent, _, name = inner.rpartition("/")
            if name in {"", ".", ".."}:
                message = f"{place.shown} is a folder; name a file in it"
                raise ToolFailed(message)
            folder = self._parent(root, parent or ".")
            try:
                link = _link(folder, name)
                if link is None:
                    yield self._target(folder, name, Place(root=root, inner=parent or "."))
                    return
            finally:
                os.close(folder)
            root, inner = self._followed(root, parent or ".", link)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))

    def _target(self, folder: int, name: str, place: Place) -> Target:
        real = self._real_place(folder, place)
        found = Place(root=real.root, inner=name if real.inner == "." else f"{real.inner}/{name}")
        self.refuse_unwritable(found)
        return Target(folder=folder, name=name, shown=found.shown)

    def _parent(self, root: str, path: str) -> int:
        """Open the folder `path`, made with those above it where they are missing."""
        try:
            return self._open(root, path, _FOLDER)
        except FileNotFoundError:
            above, _, name = path.rpartition("/")
            if name in {"", ".", ".."}:
                raise
        folder = self._parent(root, above or ".")
        try:
            self._make(folder, name, Place(root=root, inner=above or "."))
        finally:
            os.close(folder)
        return self._open(root, path, _FOLDER)

    def _make(self, folder: int, name: str, place: Place) -> None:
        self._target(folder, name, place)  # raises where nothing may be made
        try:
            os.mkdir(name, 0o755, dir_fd=folder)
        except FileExistsError:
            return  # made by somebody else meanwhile, or a link to nowhere: opening it will tell
        sync(folder)

    def _followed(self, root: str, parent: str, link: str) -> tuple[str, str]:
        if not link.startswith("/"):
            return root, f"{parent}/{link}"
        found = self._place_of_absolute(link)
        if found is None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return found.root, found.inner

    def _open(self, root: str, inner: str, flags: int) -> int:
        start = self._roots[root].descriptor
        return beneath.open_beneath(start, inner, flags, elsewhere=self._elsewhere, kernel=self._kernel)

    def _exists(self, root: str, inner: str) -> bool:
        try:
            os.close(self._open(root, inner, os.O_PATH | os.O_NOFOLLOW))
        except OSError:
            return False  # also what cannot be looked at: opening it will tell
        return True

    def _elsewhere(self, link: str) -> tuple[int, str] | None:
        found = self._place_of_absolute(link)
        return None if found is None else (self._roots[found.root].descriptor, found.inner)

    def _place_of_absolute(self, link: str) -> Place | None:
        """Resolve an absolute link: one made in the sandbox names /workspace, another a root's real path."""
        try:
            return place_of(link, self._roots)
        except PathViolation:
            return self._beneath_real_path(os.path.normpath(link), "")

    def _real_place(self, descriptor: int, likely: Place) -> Place:
        return self._beneath_real_path(real_path(descriptor), likely.root) or likely

    def _beneath_real_path(self, path: str, likely: str) -> Place | None:
        for root in sorted(self._roots.values(), key=lambda root: root.name != likely):
            real = root.real_path().rstrip("/")
            if path == real:
                return Place(root=root.name, inner=".")
            if path.startswith(real + "/"):
                return Place(root=root.name, inner=path[len(real) + 1 :])
        return None


def plain_folder(parent: int, name: str) -> int:
    """Open the folder `name`, made when it is missing; raise PathViolation for a link or anything else."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=parent)
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError as error:
        message = f"{name!r} in the workspace must be a plain folder ({error.strerror}); move what is there away"
        raise PathViolation(message) from error


def real_path(descriptor: int) -> str:
    """Return where on the machine an open file or folder is now."""
    return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - a Path costs 0.06 ms here, four times a call


def _root(name: str, path: Path, opening: Callable[[Path, int], int], *, writable: bool) -> Root:
    try:
        descriptor = opening(path, _FOLDER | os.O_CLOEXEC)
    except OSError as error:
        if opening is _open_plainly and path.is_dir():
            message = f"folders.{name}: {path} leads over a link that was not there; take it away, or restart the host"
            raise SettingsError(message) from error
        what = f"folders.{name}" if name else "the group's workspace"
        message = f"{what}: {path} cannot be opened as a folder ({error.strerror}); make it, or correct elis.toml"
        raise SettingsError(message) from error
    return Root(name=name, descriptor=descriptor, writable=writable)


def _open_plainly(path: Path, flags: int) -> int:
    """Open a folder by its full path, following no link in any part of it; raise OSError."""
    folder = os.open("/", flags)
    for part in path.absolute().parts[1:]:
        try:
            inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _link(folder: int, name: str) -> str | None:
    """Return where the link `name` points, None when it is no link."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT}:
            return None
        raise
