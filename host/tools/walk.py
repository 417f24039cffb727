"""Walking a folder tree by descriptor: sorted, without following any link, so it never leaves the roots (PATH-1).

What other programs keep for themselves (`.git`, `node_modules`, …) is named but not entered. Imports nothing of the
host but `names`: `list_files` uses it here, the search in a child process.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from host.tools.names import shown

CLOSED: Final = frozenset({".git", ".elis", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})
TEMPORARY: Final = ".elis-tmp-"  # how a file is named that is not completely written yet; a crash leaves it
DEEPEST: Final = 64  # levels; deeper trees are loops of some program's making


class Entry(NamedTuple):
    """Something in the tree."""

    path: str  # relative to /workspace, as it is shown
    name: str  # its last part as the disk has it
    kind: str  # folder | file | link | other
    size: int  # bytes
    folder: int  # descriptor of the folder it is in; valid until the next entry is asked for
    entered: bool  # for a folder: whether what is in it follows


def walk(start: int, prefix: str, mounts: Mapping[str, int], depth: int) -> Iterator[Entry]:
    """Go through the folder `start`, shown as `prefix`; `mounts` are further folders seen directly in it.

    Entries come in the order of their parts' shown names, so that "after this path" is a place in the walk. `depth` 1
    is the folder alone. What cannot be read is named and not entered.
    """
    for name in sorted({*_names(start), *mounts}, key=shown):
        if name.startswith(TEMPORARY):
            continue
        path = shown(name) if prefix in {"", "."} else f"{prefix}/{shown(name)}"
        if name in mounts:
            inner = _open(mounts[name], ".") if depth > 1 else None
            yield from _entered(Entry(path, name, "folder", 0, start, inner is not None), inner, depth)
            continue
        try:
            status = os.stat(name, dir_fd=start, follow_symlinks=False)
        except FileNotFoundError:
            continue  # removed meanwhile
        kind = _kind(status.st_mode)
        inner = _open(start, name) if kind == "folder" and depth > 1 and name not in CLOSED else None
        yield from _entered(Entry(path, name, kind, status.st_size, start, inner is not None), inner, depth)


def _entered(entry: Entry, inner: int | None, depth: int) -> Iterator[Entry]:
    """Yield an entry, then what is in it if it is an open folder, which is closed afterwards."""
    try:
        yield entry
        if inner is not None:
            yield from walk(inner, entry.path, {}, depth - 1)
    finally:
        if inner is not None:
            os.close(inner)


def after(path: str, cursor: str) -> bool:
    """Say whether `path` comes after `cursor` in the walk."""
    return path.split("/") > cursor.split("/")


def _names(folder: int) -> list[str]:
    try:
        return os.listdir(folder)
    except PermissionError:
        return []


def _open(folder: int, name: str) -> int | None:
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None  # swapped for a link, removed, or not ours to read


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    return "link" if stat.S_ISLNK(mode) else "other"
