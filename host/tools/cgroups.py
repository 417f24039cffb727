"""Control groups around a command: what bounds its memory and processes as a whole (BOX-1).

Version 2 is used where its memory and pids controllers can be had, else version 1, else none. What can be had is tried
out once, by making a group and removing it. The group of a killed host stays as an empty folder and is removed by the
next look. Nothing here knows sandboxes; it is given process ids.
"""

import itertools
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import msgspec

from host.tools.limits import Limits

_MOUNT: Final = Path("/sys/fs/cgroup")
_OWN: Final = Path("/proc/self/cgroup")
_PREFIX: Final = "elis-box-"
_LEVELS: Final = 3  # own group, its parent, the one above: where systemd may have delegated to this user
_numbers: Final = itertools.count(1)


class Group(Protocol):
    """The control group of one command."""

    def add(self, pid: int) -> None:
        """Move a process in; what it starts afterwards is born there. Raise OSError."""
        ...

    def reached(self) -> tuple[str, ...]:
        """Name the limits that were run into."""
        ...

    def remove(self) -> None:
        """Remove the group. One that still holds a dying process is removed when the next is made."""
        ...


class Groups(Protocol):
    """A place in which control groups can be made."""

    @property
    def version(self) -> str:
        """Which kind is in force, for doctor."""
        ...

    def make(self, limits: Limits) -> Group:
        """Make a group with these limits; raise OSError."""
        ...


def find(mount: Path = _MOUNT, own: str | None = None) -> Groups | None:
    """Return where groups can be made, or None; `own` is the text of /proc/self/cgroup."""
    lines = (_OWN.read_text() if own is None else own).splitlines()
    paths = {controllers: path.lstrip("/") for _, controllers, path in (line.split(":", 2) for line in lines)}
    candidates: list[_First | _Second] = [*_second(mount, paths), *_first(mount, paths)]
    for groups in candidates:
        _sweep(groups)
        with suppress(OSError):
            groups.make(Limits()).remove()
            return groups
    return None


class _Leftover:
    """Groups that are done with, some of which a dying process still holds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: list[Path] = []

    def take(self, folders: Sequence[Path]) -> None:
        """Remove `folders`, and whatever could not be removed earlier."""
        with self._lock:
            self._folders = [folder for folder in (*self._folders, *folders) if not _removed(folder)]


class _Second(msgspec.Struct, frozen=True):
    """Version 2: one tree."""

    parent: Path
    leftover: _Leftover

    @property
    def version(self) -> str:
        """Which kind is in force."""
        return "control groups, version 2"

    @property
    def parents(self) -> tuple[Path, ...]:
        """The folders in which groups are made."""
        return (self.parent,)

    def make(self, limits: Limits) -> Group:
        """Make a group with these limits."""
        with suppress(OSError):  # already so, or forbidden: then writing the limits fails below
            (self.parent / "cgroup.subtree_control").write_text("+memory +pids")
        files = {"memory.max": limits.memory_bytes, "memory.swap.max": 0, "pids.max": limits.processes}
        return _Made((_folder(self.parent, files, optional="memory.swap.max"),), limits, self.leftover)


class _First(msgspec.Struct, frozen=True):
    """Version 1: a tree for memory and one for processes."""

    memory: Path
    processes: Path
    leftover: _Leftover

    @property
    def version(self) -> str:
        """Which kind is in force."""
        return "control groups, version 1"

    @property
    def parents(self) -> tuple[Path, ...]:
        """The folders in which groups are made."""
        return (self.memory, self.processes)

    def make(self, limits: Limits) -> Group:
        """Make a group with these limits."""
        swap = "memory.memsw.limit_in_bytes"
        memory = {"memory.limit_in_bytes": limits.memory_bytes, swap: limits.memory_bytes}
        first = _folder(self.memory, memory, optional=swap)
        try:
            second = _folder(self.processes, {"pids.max": limits.processes}, optional="")
        except OSError:
            first.rmdir()
            raise
        return _Made((first, second), limits, self.leftover)


class _Made(msgspec.Struct, frozen=True):
    """A group, in one tree or two."""

    folders: tuple[Path, ...]
    limits: Limits
    leftover: _Leftover

    def add(self, pid: int) -> None:
        """Move a process in."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def reached(self) -> tuple[str, ...]:
        """Name the limits that were run into."""
        reached: list[str] = []
        if self._count("memory.events", "oom_kill") or self._count("memory.oom_control", "oom_kill"):
            reached.append(f"the memory limit of {self.limits.memory_bytes >> 20} MiB was reached, a process was ended")
        if self._count("pids.events", "max"):
            reached.append(f"the limit of {self.limits.processes} processes was reached")
        return tuple(reached)

    def remove(self) -> None:
        """Remove the group."""
        self.leftover.take(self.folders)

    def _count(self, file: str, key: str) -> int:
        for folder in self.folders:
            with suppress(OSError):
                words = (folder / file).read_text().split()
                return int(words[words.index(key) + 1]) if key in words else 0
        return 0


def _second(mount: Path, paths: dict[str, str]) -> list[_Second]:
    """List the candidates, nearest first: the tree is at the mount itself, or under `unified` beside version 1."""
    if "" not in paths:
        return []
    top = mount if (mount / "cgroup.controllers").exists() else mount / "unified"
    own = top / paths[""]
    levels = [own, *own.parents][:_LEVELS]
    return [_Second(level, _Leftover()) for level in levels if level.is_relative_to(top) and _controls(level)]


def _controls(folder: Path) -> bool:
    with suppress(OSError):
        return {"memory", "pids"} <= set((folder / "cgroup.controllers").read_text().split())
    return False


def _first(mount: Path, paths: dict[str, str]) -> list[_First]:
    parents: dict[str, Path] = {}
    for controllers, path in paths.items():
        for controller in controllers.split(","):
            own = mount / controller / path
            # Without a namespace of its own a container sees its group at the mount, whatever the path says.
            parents[controller] = own if own.is_dir() else mount / controller
    if {"memory", "pids"} <= parents.keys():
        return [_First(parents["memory"], parents["pids"], _Leftover())]
    return []


def _folder(parent: Path, files: dict[str, int], *, optional: str) -> Path:
    folder = parent / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    folder.mkdir()
    try:
        for name, value in files.items():
            if name != optional or (folder / name).exists():
                (folder / name).write_text(str(value))
    except OSError:
        folder.rmdir()
        raise
    return folder


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _sweep(groups: _First | _Second) -> None:
    """Remove what killed hosts left; groups that hold a process cannot be removed and stay."""
    for parent in groups.parents:
        with suppress(OSError):
            for folder in parent.glob(f"{_PREFIX}*"):
                if not Path(f"/proc/{folder.name.removeprefix(_PREFIX).partition('-')[0]}").exists():
                    with suppress(OSError):
                        folder.rmdir()
