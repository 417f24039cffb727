"""The tools `read_file`, `write_file` and `edit_file`.

They read and write through the jail only and tell the turn's `SeenFiles` what they saw and left, so that a change by
somebody else in between is noticed (PASS-2). `list_files` and `search_files` have modules of their own.
"""

from typing import Annotated, Final

import msgspec

from host.errors import ToolFailed
from host.excerpts import LEFT_OUT
from host.passport import KnownFailure, Replay
from host.stops import Reason
from host.tools.beside import Looked
from host.tools.file_passports import changing, failing_when, looking
from host.tools.images import kind_of
from host.tools.jail import Missing, Present
from host.tools.looking_at import VISION, look_at
from host.tools.outputs import kept_from_outside
from host.tools.replace import content_hash
from host.tools.seen import ABSENT
from host.tools.text import FILE_BYTES, TYPICAL, call, counted, decoded, shortened, what_else
from host.tools.tool import Scope, ToolResult

_LINES: Final = 400  # of one answer unless asked otherwise
_BEGINNING_BYTES: Final = 16 << 10  # of a long file: enough to tell what it is
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


_READ_FILE: Final = msgspec.structs.replace(
    looking(
        name="read_file",
        summary=(
            "Read a text file of the workspace, the exact text without line numbers. Long files come in parts: the "
            "first line of the answer gives the range and the total, the last one the call that reads on. An image is "
            "shown to you, or read by OCR where you cannot see."
        ),
        arguments=ReadFileArguments,
        timeout_seconds=90.0,
        masks=TYPICAL,
        failures=(
            _NO_FILE,
            KnownFailure(reason=Reason.UNSUPPORTED, when="the file is an image that can neither be shown nor read"),
        ),
    ),
    needs=frozenset({VISION}),
    fallbacks={VISION: "OCR"},
)


class ReadFile:
    """Reads a text file, whole or a range of lines, or an image."""

    def __init__(self) -> None:
        self.passport: Final = _READ_FILE

    async def run(self, arguments: ReadFileArguments, scope: Scope) -> ToolResult:
        """Read."""
        limit = scope.receiver.answer_bytes
        try:
            met = await scope.jail.look(arguments.path, whole_bytes=FILE_BYTES, beginning_bytes=_BEGINNING_BYTES)
        except Missing:
            scope.seen.saw(scope.turn, await scope.jail.check(arguments.path), ABSENT)
            raise
        if not met.whole:
            return await _long(met, arguments, scope)
        shown, data = met.shown, met.data
        scope.seen.saw(scope.turn, shown, content_hash(data))
        if (kind := kind_of(data)) is not None:
            return await look_at(shown, kind, data, scope)
        text = decoded(data)
        if text is None:
            looks = "use shell (file, xxd, iconv) to look into it"
            return ToolResult(text=f"{shown} is {what_else(data)}, {counted(len(data), 'byte')}; {looks}.")
        return _from(shown, _part(shown, text, arguments, limit))


async def _long(met: Looked, arguments: ReadFileArguments, scope: Scope) -> ToolResult:
    """Return a part of a file that is too long to be held."""
    limit, first, beginning = scope.receiver.answer_bytes, arguments.start_line - 1, met.data
    if (kind := kind_of(beginning)) is not None:
        message = (
            f"{met.shown} is an image ({kind}) of more than {FILE_BYTES} bytes; make it smaller by a program first"
        )
        raise ToolFailed(message)
    if b"\0" in beginning:
        return ToolResult(text=f"{met.shown} is {what_else(beginning)}; use shell (file, xxd) to look into it.")
    shown, found = await scope.jail.stretch(
        arguments.path, first=first, column=arguments.start_column - 1, lines=arguments.lines, limit_bytes=limit
    )
    if found is None:
        return ToolResult(text=f"{shown} is {what_else(b'')} there; use shell (iconv) to look into it.")
    scope.seen.saw(scope.turn, shown, found.content_hash)
    if not found.lines:
        raise ToolFailed(_past_the_end(shown, found.total, arguments))
    return _from(shown, _told(shown, list(found.lines), found.total, arguments, limit, goes_on=found.goes_on))


def _from(shown: str, text: str) -> ToolResult:
    """Return what a file holds; one that the host kept from outside is told as what it is (CTX-6)."""
    return ToolResult(text=text, origin=f"{shown}, kept from outside" if kept_from_outside(shown) else "")


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
        return await _written(arguments.path, data, scope, f"wrote {{}}: {said}")


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
        content = await scope.jail.read(arguments.path, FILE_BYTES)
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
        return await _written(arguments.path, _encoded(new), scope, f"edited {{}}: {counted(found, 'replacement')}")


def _part(shown: str, text: str, arguments: ReadFileArguments, limit_bytes: int) -> str:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()  # the newline that ends the last line begins no other
    total = len(lines)
    if not total:
        return f"{shown} is empty."
    first = arguments.start_line - 1
    if first >= total:
        raise ToolFailed(_past_the_end(shown, total, arguments))
    chosen = lines[first : first + arguments.lines]
    chosen[0] = chosen[0][arguments.start_column - 1 :]
    return _told(shown, chosen, total, arguments, limit_bytes)


def _past_the_end(shown: str, total: int, arguments: ReadFileArguments) -> str:
    return f"{shown} has {counted(total, 'line')}; start_line {arguments.start_line} is past its end"


def _told(
    shown: str,
    chosen: list[str],
    total: int,
    arguments: ReadFileArguments,
    limit_bytes: int,
    *,
    goes_on: bool = False,
) -> str:
    """Tell the lines `chosen` of `total`; with `goes_on` the one that is there is longer than that."""
    first = arguments.start_line - 1
    before = LEFT_OUT if arguments.start_column > 1 else ""
    body, complete = _fitting(chosen, limit_bytes)
    if goes_on and complete:
        body, complete = chosen[0], 0
    last = first + complete
    if not complete:
        column = arguments.start_column + len(body)
        rest = counted(len(chosen[0]) - len(body), "character") if not goes_on else "more characters"
        going_on = call("read_file", path=shown, start_line=first + 1, start_column=column)
        return (
            f"{shown}, line {first + 1} of {total} from column {arguments.start_column}:\n{before}{body}{LEFT_OUT}\n"
            f"[{rest} of this line are left out. Read on: {going_on}]"
        )
    head = f"{shown}, {counted(total, 'line')}" if (first, last) == (0, total) else ""
    head = head or f"{shown}, lines {first + 1}-{last} of {total}"
    tail = ""
    if last < total:
        going_on = call("read_file", path=shown, start_line=last + 1)
        tail = f"\n[{counted(total - last, 'line')} after this are left out. Read on: {going_on}]"
    return f"{head}:\n{before}{body}{tail}"


def _fitting(lines: list[str], limit_bytes: int) -> tuple[str, int]:
    """Return the text of as many lines as one answer holds, and how many; 0 for a part of the first one."""
    size = 0
    for count, line in enumerate(lines):
        size += len(line.encode(errors="surrogatepass")) + 1
        if size > limit_bytes + 1:
            return ("\n".join(lines[:count]), count) if count else (shortened(line, limit_bytes), 0)
    return "\n".join(lines), len(lines)


async def _written(path: str, data: bytes, scope: Scope, said: str) -> ToolResult:
    def admit(shown: str, present: Present | None) -> None:
        scope.seen.admit(scope.turn, shown, lambda: ABSENT if present is None else present.hash())

    written = await scope.jail.write(path, data, key=scope.key, admit=admit)
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
