"""The tools `read_file`, `write_file` and `edit_file`.

They read and write through the jail only and tell the turn's `SeenFiles` what they saw and left, so that a change by
somebody else in between is noticed (PASS-2). `list_files` and `search_files` have modules of their own.
"""

from typing import Annotated, Final

import msgspec

from host.errors import ToolFailed
from host.passport import Replay
from host.tools.file_passports import changing, failing_when, looking
from host.tools.jail import Missing
from host.tools.replace import Existing, content_hash
from host.tools.seen import ABSENT
from host.tools.text import ANSWER_BYTES, FILE_BYTES, TYPICAL, call, counted, decoded, shortened, what_else
from host.tools.tool import Scope, ToolResult

_LINES: Final = 400  # of one answer unless asked otherwise
_QUOTED: Final = 120  # characters of a text that was not found

_NO_FILE: Final = failing_when("the file does not exist, is a folder or is too large")
_CHANGED: Final = failing_when("the file changed since this turn last saw it; read it again")

Path = Annotated[str, msgspec.Meta(description="Relative to /workspace, or absolute beneath it.")]


class ReadFileArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which part of which file."""

    path: Path
    start_line: Annotated[int, msgspec.Meta(ge=1, description="The first line to return; 1 is the first.")] = 1
    lines: Annotated[int, msgspec.Meta(ge=1, le=10_000, description="The most lines to return.")] = _LINES
    start_column: Annotated[
        int, msgspec.Meta(ge=1, description="Where in the first line to begin; only for very long lines.")
    ] = 1


_READ_FILE: Final = looking(
    name="read_file",
    summary=(
        "Read a text file of the workspace, the exact text without line numbers. Long files come in parts: the "
        "first line of the answer gives the range and the total, the last one the call that reads on."
    ),
    arguments=ReadFileArguments,
    timeout_seconds=30.0,
    masks=TYPICAL,
    failures=(_NO_FILE,),
)


class ReadFile:
    """Reads a text file, whole or a range of lines."""

    def __init__(self) -> None:
        self.passport: Final = _READ_FILE

    async def run(self, arguments: ReadFileArguments, scope: Scope) -> ToolResult:
        """Read."""
        try:
            content = scope.jail.read(arguments.path, FILE_BYTES)
        except Missing:
            scope.seen.saw(scope.turn, scope.jail.check(arguments.path), ABSENT)
            raise
        scope.seen.saw(scope.turn, content.shown, content_hash(content.data))
        text = decoded(content.data)
        if text is None:
            size = counted(len(content.data), "byte")
            looks = "use shell (file, xxd, iconv) to look into it"
            return ToolResult(text=f"{content.shown} is {what_else(content.data)}, {size}; {looks}.")
        return ToolResult(text=_part(content.shown, text, arguments))


class WriteFileArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file and all of its new content."""

    path: Path
    content: Annotated[str, msgspec.Meta(description="The whole new content.")]


_WRITE_FILE: Final = changing(
    name="write_file",
    summary=(
        "Create a text file in the workspace or replace all of it; folders on the way are made. The replaced "
        "version is kept and named. To change part of a file use edit_file."
    ),
    arguments=WriteFileArguments,
    replay=Replay.IDEMPOTENT,
    failures=(_CHANGED,),
)


class WriteFile:
    """Makes a file, or replaces all of it."""

    def __init__(self) -> None:
        self.passport: Final = _WRITE_FILE

    async def run(self, arguments: WriteFileArguments, scope: Scope) -> ToolResult:
        """Write. The same call again finds its content there, changes nothing and gives the same answer."""
        data = _encoded(arguments.content)
        said = f"{counted(_count_lines(arguments.content), 'line')}, {counted(len(data), 'byte')}"
        return _written(arguments.path, data, scope, f"wrote {{}}: {said}")


class EditFileArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to replace by what."""

    path: Path
    old_text: Annotated[
        str, msgspec.Meta(min_length=1, description="The exact present text, with enough around it to occur once.")
    ]
    new_text: Annotated[str, msgspec.Meta(description="What stands there afterwards.")]
    replace_all: Annotated[bool, msgspec.Meta(description="Replace every occurrence.")] = False


_EDIT_FILE: Final = changing(
    name="edit_file",
    summary=(
        "Replace an exact text in a file of the workspace. old_text must occur exactly once, unless replace_all "
        "is true. The earlier version is kept and named."
    ),
    arguments=EditFileArguments,
    replay=Replay.EFFECT,
    failures=(_NO_FILE, _CHANGED, failing_when("old_text does not occur, or occurs more than once")),
)


class EditFile:
    """Replaces a text within a file."""

    def __init__(self) -> None:
        self.passport: Final = _EDIT_FILE

    async def run(self, arguments: EditFileArguments, scope: Scope) -> ToolResult:
        """Edit."""
        content = scope.jail.read(arguments.path, FILE_BYTES)
        read = content_hash(content.data)
        scope.seen.admit(scope.turn, content.shown, lambda: read)
        text = decoded(content.data)
        if text is None:
            message = f"{content.shown} is {what_else(content.data)}; edit_file changes UTF-8 text only, use shell"
            raise ToolFailed(message)
        found = text.count(arguments.old_text)
        _check_occurrences(content.shown, text, arguments, found)
        new = text.replace(arguments.old_text, arguments.new_text)
        if new == text:
            message = "old_text and new_text are the same; nothing was changed"
            raise ToolFailed(message)
        scope.seen.saw(scope.turn, content.shown, read)  # what is edited is what stands there when it is replaced
        return _written(arguments.path, _encoded(new), scope, f"edited {{}}: {counted(found, 'replacement')}")


def _part(shown: str, text: str, arguments: ReadFileArguments) -> str:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()  # the newline that ends the last line begins no other
    total = len(lines)
    if not total:
        return f"{shown} is empty."
    first = arguments.start_line - 1
    if first >= total:
        message = f"{shown} has {counted(total, 'line')}; start_line {arguments.start_line} is past its end"
        raise ToolFailed(message)
    chosen = lines[first : first + arguments.lines]
    chosen[0] = chosen[0][arguments.start_column - 1 :]
    body, complete = _fitting(chosen)
    last = first + complete
    if not complete:
        column = arguments.start_column + len(body)
        rest = len(lines[first]) - column + 1
        going_on = call("read_file", path=shown, start_line=first + 1, start_column=column)
        return (
            f"{shown}, line {first + 1} of {total} from column {arguments.start_column}:\n{body}\n"
            f"[{counted(rest, 'character')} of this line are left out. Read on: {going_on}]"
        )
    head = f"{shown}, {counted(total, 'line')}" if (first, last) == (0, total) else ""
    head = head or f"{shown}, lines {first + 1}-{last} of {total}"
    tail = ""
    if last < total:
        going_on = call("read_file", path=shown, start_line=last + 1)
        tail = f"\n[{counted(total - last, 'line')} after this are left out. Read on: {going_on}]"
    return f"{head}:\n{body}{tail}"


def _fitting(lines: list[str]) -> tuple[str, int]:
    """Return the text of as many lines as one answer holds, and how many; 0 for a part of the first one."""
    size = 0
    for count, line in enumerate(lines):
        size += len(line.encode(errors="surrogatepass")) + 1
        if size > ANSWER_BYTES + 1:
            return ("\n".join(lines[:count]), count) if count else (shortened(line, ANSWER_BYTES), 0)
    return "\n".join(lines), len(lines)


def _written(path: str, data: bytes, scope: Scope, said: str) -> ToolResult:
    def admit(shown: str, present: Existing | None) -> None:
        scope.seen.admit(scope.turn, shown, lambda: ABSENT if present is None else present.hash())

    written = scope.jail.write(path, data, key=scope.key, admit=admit)
    scope.seen.wrote(scope.turn, written.shown, content_hash(data))
    kept = f"; the version before it is {written.earlier}" if written.earlier else ""
    essence = said.format(written.shown)
    return ToolResult(text=essence + kept + ".", essence=essence)


def _check_occurrences(shown: str, text: str, arguments: EditFileArguments, found: int) -> None:
    if not found:
        message = f"old_text does not occur in {shown}: {arguments.old_text[:_QUOTED]!r}; read the file again"
        if "\r\n" in text and "\r\n" not in arguments.old_text:
            message += " (its lines end in CR LF, so must those of old_text)"
        raise ToolFailed(message)
    if found > 1 and not arguments.replace_all:
        message = f"old_text occurs {found} times in {shown}; take more of the text around it, or set replace_all"
        raise ToolFailed(message)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        message = "the text holds lone surrogates, which are no characters; leave them out"
        raise ToolFailed(message) from error


def _count_lines(text: str) -> int:
    return text.count("\n") + bool(text and not text.endswith("\n"))
