"""The tool `list_files`: what is in a folder, in pages (PASS-5)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path as MachinePath
from typing import Annotated, Final

import msgspec

from host.tools.file_passports import failing_when, looking
from host.tools.globs import matches
from host.tools.jail import Jail
from host.tools.names import escaped
from host.tools.paths import Place
from host.tools.text import call, counted
from host.tools.tool import Scope, ToolResult
from host.tools.walk import DEEPEST, Entry, after, walk

_SHOWN: Final = 200  # entries of one answer unless asked otherwise
_VISITED: Final = 200_000  # entries looked at: seconds of work; beyond that a narrower folder is asked for
_BREATH: Final = 256  # entries between two chances for the lane to be stopped


class ListFilesArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which folder, and what of it."""

    path: Annotated[str, msgspec.Meta(description="A folder; '.' is /workspace itself.")] = "."
    pattern: Annotated[
        str,
        msgspec.Meta(description="Only names like this: '*.py' (a name at any depth), 'src/**/*.py' (a path)."),
    ] = ""
    depth: (
        Annotated[
            int,
            msgspec.Meta(ge=1, le=DEEPEST, description="How many levels; default 1, or all when there is a pattern."),
        ]
        | None
    ) = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000, description="The most entries to return.")] = _SHOWN
    cursor: Annotated[str, msgspec.Meta(description="Go on after this path, from an earlier answer.")] = ""


_LISTING: Final = looking(
    name="list_files",
    summary=(
        "List files and folders of the workspace: folders end in '/', files have their size in bytes, links show "
        "their target. .git, node_modules and the like are named but entered only when given as path. A name that is "
        r"no UTF-8 is shown, and taken by all tools, with escapes like \xe9."
    ),
    arguments=ListFilesArguments,
    timeout_seconds=60.0,
    masks=frozenset(),
    failures=(failing_when("the path is no folder"),),
)


class _Listing:
    """What is collected while walking."""

    def __init__(self, arguments: ListFilesArguments, limit_bytes: int) -> None:
        self._arguments = arguments
        self._limit = limit_bytes
        self._size = 0
        self.lines: list[str] = []
        self.total = 0
        self.before = 0
        self.last = ""

    def take(self, entry: Entry, line: str) -> None:
        self.total += 1
        if self._arguments.cursor and not after(entry.path, self._arguments.cursor):
            self.before += 1
            return
        size = len(line.encode()) + 1
        full = len(self.lines) >= self._arguments.limit or self._size + size > self._limit
        if self.total - 1 == self.before + len(self.lines) and not full:
            self.lines.append(line)
            self._size += size
            self.last = entry.path


class ListFiles:
    """Lists a folder."""

    def __init__(self) -> None:
        self.passport: Final = _LISTING

    async def run(self, arguments: ListFilesArguments, scope: Scope) -> ToolResult:
        """List."""
        depth = arguments.depth or (DEEPEST if arguments.pattern else 1)
        listing = _Listing(arguments, scope.receiver.answer_bytes)
        visited = 0
        with scope.jail.folder(arguments.path) as (descriptor, place):
            async for entry in _breathing(walk(descriptor, place.shown, mounts_of(scope.jail, place), depth)):
                visited += 1
                if visited > _VISITED:
                    break
                inner = entry.path.removeprefix(f"{place.shown}/")
                if not arguments.pattern or matches(inner, arguments.pattern):
                    listing.take(entry, _line(entry))
        return ToolResult(text=_text(listing, arguments, place, cut=visited > _VISITED))


def mounts_of(jail: Jail, place: Place) -> dict[str, int]:
    """Return the further folders that are seen directly in the folder at `place`."""
    if (place.root, place.inner) != ("", "."):
        return {}
    return {root.name: root.descriptor for root in jail.roots if root.name}


async def _breathing(entries: Iterator[Entry]) -> AsyncIterator[Entry]:
    for count, entry in enumerate(entries):
        if count % _BREATH == _BREATH - 1:
            await asyncio.sleep(0)
        yield entry


def _line(entry: Entry) -> str:
    match entry.kind:
        case "folder":
            return f"{entry.path}/"
        case "file":
            return f"{entry.path} {entry.size}"
        case "link":
            with suppress(OSError):
                target = MachinePath(f"/proc/self/fd/{entry.folder}/{entry.name}").readlink()
                return f"{entry.path} -> {escaped(str(target))}"
            return f"{entry.path} -> ?"
        case _:
            return f"{entry.path} (device, pipe or socket)"


def _text(listing: _Listing, arguments: ListFilesArguments, place: Place, *, cut: bool) -> str:
    where = "/workspace" if place.shown == "." else place.shown
    like = f" like {arguments.pattern!r}" if arguments.pattern else ""
    total = (
        f"at least {counted(listing.total, 'entry', 'entries')}" if cut else counted(listing.total, "entry", "entries")
    )
    shown = len(listing.lines)
    if shown == listing.total and not cut:
        return "\n".join([f"{where}: {total}{like}" + (":" if shown else "."), *listing.lines])
    first = listing.before + 1
    head = f"{where}: {total}{like}, {first}-{listing.before + shown} shown:" if shown else f"{where}: {total}{like}."
    left = listing.total - listing.before - shown
    tail: list[str] = []
    if left > 0:
        asked = {field: value for field, value in msgspec.structs.asdict(arguments).items() if value not in ("", None)}
        going_on = call("list_files", **asked | {"path": place.shown, "cursor": listing.last})
        tail.append(f"[{counted(left, 'entry', 'entries')} after this are left out. Read on: {going_on}]")
    if cut:
        tail.append(f"[Only {_VISITED} entries were looked at; name a folder further down, or a smaller depth.]")
    return "\n".join([head, *listing.lines, *tail])
