"""The tool `list_files`: what is in a folder, in pages (PASS-5)."""

from typing import Annotated, Final

import msgspec

from host.tools.file_passports import failing_when, looking
from host.tools.page import VISITED, Page, Wanted
from host.tools.text import call, counted
from host.tools.tool import Scope, ToolResult
from host.tools.walk import DEEPEST

_SHOWN: Final = 200  # entries of one answer unless asked otherwise


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


class ListFiles:
    """Lists a folder."""

    def __init__(self) -> None:
        self.passport: Final = _LISTING

    async def run(self, arguments: ListFilesArguments, scope: Scope) -> ToolResult:
        """List."""
        page = await scope.jail.page(
            Wanted(
                path=arguments.path,
                pattern=arguments.pattern,
                depth=arguments.depth or (DEEPEST if arguments.pattern else 1),
                limit=arguments.limit,
                cursor=arguments.cursor,
                limit_bytes=scope.receiver.answer_bytes,
            )
        )
        return ToolResult(text=_text(page, arguments))


def _text(page: Page, arguments: ListFilesArguments) -> str:
    where = "/workspace" if page.folder == "." else page.folder
    like = f" like {arguments.pattern!r}" if arguments.pattern else ""
    total = (
        f"at least {counted(page.total, 'entry', 'entries')}" if page.cut else counted(page.total, "entry", "entries")
    )
    shown = len(page.lines)
    if shown == page.total and not page.cut:
        return "\n".join([f"{where}: {total}{like}" + (":" if shown else "."), *page.lines])
    first = page.before + 1
    head = f"{where}: {total}{like}, {first}-{page.before + shown} shown:" if shown else f"{where}: {total}{like}."
    left = page.total - page.before - shown
    tail: list[str] = []
    if left > 0:
        asked = {field: value for field, value in msgspec.structs.asdict(arguments).items() if value not in ("", None)}
        going_on = call("list_files", **asked | {"path": page.folder, "cursor": page.last})
        tail.append(f"[{counted(left, 'entry', 'entries')} after this are left out. Read on: {going_on}]")
    if page.cut:
        tail.append(f"[Only {VISITED} entries were looked at; name a folder further down, or a smaller depth.]")
    return "\n".join([head, *page.lines, *tail])
