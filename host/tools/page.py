"""One page of a listing, collected where the files are (PASS-5).

Imports nothing but the standard library and neighbours that do the same: see `host.tools.beside`.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from host.tools.globs import matches
from host.tools.jail import Jail
from host.tools.names import shown
from host.tools.paths import Place
from host.tools.steps import Steps
from host.tools.walk import Entry, after, walk

VISITED: Final = 200_000  # entries looked at: seconds of work; beyond that a narrower folder is asked for
_BREATH: Final = 256  # entries between two chances to be stopped


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is to be listed."""

    path: str
    pattern: str  # of names; empty: all
    depth: int  # levels
    limit: int  # entries
    cursor: str  # the path after which the page begins; empty: at the start
    limit_bytes: int


@dataclass(kw_only=True, slots=True)
class Page:
    """What was found."""

    folder: str  # its real path relative to /workspace
    lines: list[str] = field(default_factory=list[str])
    total: int = 0
    before: int = 0  # of the total, those that earlier pages had
    last: str = ""  # the path of the last line
    cut: bool = False  # not all was looked at


def page_of(jail: Jail, wanted: Wanted) -> Steps[Page]:
    """Collect the page; raise Missing, PathViolation, ToolFailed."""
    visited = size = 0
    with jail.folder(wanted.path) as (descriptor, place):
        page = Page(folder=place.shown)
        for entry in walk(descriptor, place.shown, mounts_of(jail, place), wanted.depth):
            visited += 1
            if visited % _BREATH == 0:
                yield
            if visited > VISITED:
                page.cut = True
                break
            inner = entry.path.removeprefix(f"{place.shown}/")
            if not wanted.pattern or matches(inner, wanted.pattern):
                size += _take(page, entry, wanted, wanted.limit_bytes - size)
    return page


def mounts_of(jail: Jail, place: Place) -> dict[str, int]:
    """Return the further folders that are seen directly in the folder at `place`."""
    if (place.root, place.inner) != ("", "."):
        return {}
    return {root.name: root.descriptor for root in jail.roots if root.name}


def _take(page: Page, entry: Entry, wanted: Wanted, room: int) -> int:
    """Count an entry, and put it on the page if it belongs there; return the bytes that it takes."""
    page.total += 1
    if wanted.cursor and not after(entry.path, wanted.cursor):
        page.before += 1
        return 0
    line = _line(entry)
    size = len(line.encode()) + 1
    full = len(page.lines) >= wanted.limit or size > room
    if page.total - 1 != page.before + len(page.lines) or full:
        return 0
    page.lines.append(line)
    page.last = entry.path
    return size


def _line(entry: Entry) -> str:
    match entry.kind:
        case "folder":
            return f"{entry.path}/"
        case "file":
            return f"{entry.path} {entry.size}"
        case "link":
            with suppress(OSError):
                target = Path(f"/proc/self/fd/{entry.folder}/{entry.name}").readlink()
                return f"{entry.path} -> {shown(str(target))}"
            return f"{entry.path} -> ?"
        case _:
            return f"{entry.path} (device, pipe or socket)"
