"""The tool `search_files`: a text or a regular expression over the workspace, in pages (PASS-5).

The looking is done in a process of its own where the files are, and ended when its time is up; what it had found until
then is told, and that it is not all.
"""

import json
from typing import Annotated, Any, Final

import msgspec

from host.errors import ToolFailed
from host.excerpts import ending
from host.tools import names
from host.tools.file_passports import failing_when, looking
from host.tools.outputs import kept_from_outside
from host.tools.searching import Sought
from host.tools.text import TYPICAL, call, counted
from host.tools.tool import Scope, ToolResult

_HITS: Final = 100  # lines of one answer unless asked otherwise
_SECONDS: Final = 20.0


class SearchFilesArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to look for, and where."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=2000, description="What a line must contain.")]
    regex: Annotated[bool, msgspec.Meta(description="Take text for a regular expression (Python's).")] = False
    ignore_case: bool = False
    path: Annotated[str, msgspec.Meta(description="A folder or file; '.' is the whole workspace.")] = "."
    pattern: Annotated[str, msgspec.Meta(description="Only files like this: '*.py', 'src/**/*.py'.")] = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000, description="The most lines to return.")] = _HITS
    cursor: Annotated[str, msgspec.Meta(description="Go on after this 'path:line', from an earlier answer.")] = ""


_SEARCH_FILES: Final = looking(
    name="search_files",
    summary=(
        "Find the lines of text files that contain a text or match a regular expression, as path:line: text. "
        "Links are not followed; .git, node_modules and the like are searched only when given as path."
    ),
    arguments=SearchFilesArguments,
    timeout_seconds=_SECONDS + 10.0,
    masks=TYPICAL,
    failures=(failing_when("the regular expression is not valid"),),
)


class _Report:
    """What the child told."""

    def __init__(self, told: str) -> None:
        self.hits: list[tuple[str, int, str, int, int]] = []
        self.done: tuple[int, int, int, dict[str, tuple[int, list[str]]]] | None = None
        self.bad = ""
        for line in told.splitlines():
            try:
                words: list[Any] = json.loads(line)
            except json.JSONDecodeError:
                continue  # the last line of a child that was ended in mid-word
            match words:
                case ["hit", path, number, text, start, rest]:
                    self.hits.append((names.shown(path), number, names.escaped(text), start, rest))
                case ["done", matches, before, files, skipped]:
                    self.done = (matches, before, files, skipped)
                case ["bad", why]:
                    self.bad = why
                case _:
                    continue


class SearchFiles:
    """Searches in files."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        """Search for at most `seconds`."""
        self.passport: Final = _SEARCH_FILES
        self._seconds = seconds

    async def run(self, arguments: SearchFilesArguments, scope: Scope) -> ToolResult:
        """Search."""
        told = await scope.jail.search(
            Sought(
                path=arguments.path,
                text=arguments.text,
                regular=arguments.regex,
                ignore_case=arguments.ignore_case,
                glob=arguments.pattern,
                limit=arguments.limit,
                cursor=_cursor(arguments.cursor),
                seconds=self._seconds,
            )
        )
        report = _Report(told.text)
        if report.bad:
            message = f"{arguments.text!r} is no regular expression ({report.bad}); correct it, or set regex to false"
            raise ToolFailed(message)
        if report.done is None and not told.timed_out:
            message = f"the search ended early (exit code {told.exit_code}): {ending(told.text.strip(), 300)}"
            raise ToolFailed(message)
        return _result(report, arguments, self._seconds, scope.receiver.answer_bytes)


def _cursor(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    path, _, line = text.rpartition(":")
    if not path or not line.isdecimal():
        message = f"cursor {text!r} should read 'path:line', as an earlier answer gave it"
        raise ToolFailed(message)
    return path, int(line)


def _result(report: _Report, arguments: SearchFilesArguments, seconds: float, limit_bytes: int) -> ToolResult:
    """Put what was found into words; lines of files that were kept from outside are told as what they are (CTX-6)."""
    lines: list[str] = []
    size = 0
    for path, number, shown, start, rest in report.hits:
        before = f"[{start} characters before] …" if start else ""
        behind = f"… [{rest} characters after]" if rest else ""
        line = f"{path}:{number}: {before}{shown}{behind}"
        size += len(line.encode(errors="replace")) + 1
        if size > limit_bytes:
            break
        lines.append(line)
    head, tail = _head(report), _tail(report, arguments, len(lines), seconds)
    if any(kept_from_outside(path) for path, *_ in report.hits[: len(lines)]):
        return ToolResult(text="\n".join(lines), head="\n".join([head, *tail]), origin="files kept from outside")
    return ToolResult(text="\n".join([head, *lines, *tail]))


def _head(report: _Report) -> str:
    if report.done is None:
        return "The search was not finished; what was found until then:"
    matches, before, files, _ = report.done
    total = f"{counted(matches, 'line')} in {counted(files, 'file')} searched"
    return f"{total}, from number {before + 1}:" if before else f"{total}:" if matches else f"{total}."


def _tail(report: _Report, arguments: SearchFilesArguments, shown: int, seconds: float) -> list[str]:
    tail: list[str] = []
    left = len(report.hits) - shown
    if report.done is not None:
        matches, before, _, skipped = report.done
        left = matches - before - shown
        tail += [_passed_over(why, count, paths) for why, (count, paths) in skipped.items() if count]
    if left > 0 and shown:
        last = report.hits[shown - 1]
        asked = {name: value for name, value in msgspec.structs.asdict(arguments).items() if value not in ("", False)}
        going_on = call("search_files", **asked | {"cursor": f"{last[0]}:{last[1]}"})
        tail.append(f"[{counted(left, 'line')} after this are left out. Read on: {going_on}]")
    if report.done is None:
        tail.append(
            f"[Ended after {seconds:g} s without having seen everything. Name a narrower path or pattern"
            + (", or a simpler expression: this one may take for ever on some line.]" if arguments.regex else ".]")
        )
    return tail


def _passed_over(why: str, count: int, paths: list[str]) -> str:
    what = {"binary": "not UTF-8 text", "large": "larger than 16 MiB", "unreadable": "not readable"}[why]
    more = f" and {count - len(paths)} more" if count > len(paths) else ""
    return f"[Not searched, {what}: {', '.join(paths)}{more}]"
