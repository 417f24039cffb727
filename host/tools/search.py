"""The tool `search_files`: a text or a regular expression over the workspace, in pages (PASS-5).

The looking is done by `host.tools.search_child` in a process of its own, which inherits the open folders and nothing
else, and is ended when its time is up; what it had found until then is told, and that it is not all.
"""

import json
import os
import sys
from contextlib import ExitStack, closing
from pathlib import Path as MachinePath
from typing import Annotated, Any, Final

import msgspec

from host.errors import ToolFailed, Unsupported
from host.tools import leftovers
from host.tools.child import Child
from host.tools.file_passports import failing_when, looking
from host.tools.listing import mounts_of
from host.tools.output import Output
from host.tools.text import TYPICAL, call, counted
from host.tools.tool import Scope, ToolResult

_HITS: Final = 100  # lines of one answer unless asked otherwise
_SECONDS: Final = 20.0
_KEPT_BYTES: Final = 8 << 20  # of the child's words: 1000 hits with long lines are a tenth of it
_PACKAGES: Final = MachinePath(__file__).parents[2]  # where `host` is imported from


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
                case ["hit", path, number, shown, start, rest]:
                    self.hits.append((path, number, shown, start, rest))
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
        cursor = _cursor(arguments.cursor)
        output = Output(kept_bytes=_KEPT_BYTES)
        with ExitStack() as stack:
            where, folders = _start(arguments, scope, stack)
            query = where | {
                "text": arguments.text,
                "regular": arguments.regex,
                "ignore_case": arguments.ignore_case,
                "glob": arguments.pattern,
                "limit": arguments.limit,
                "cursor": cursor,
                "cpu_seconds": int(self._seconds) + 5,
            }
            child = stack.enter_context(closing(_child(query, folders, leftovers.mark(scope.jail.roots[0]))))
            timed_out = await child.attend(output, self._seconds, child.kill_group)
        report = _Report(output.text())
        if report.bad:
            message = f"{arguments.text!r} is no regular expression ({report.bad}); correct it, or set regex to false"
            raise ToolFailed(message)
        if report.done is None and not timed_out:
            message = f"the search ended early (exit code {child.exit_code}): {output.text()[-300:].strip()}"
            raise ToolFailed(message)
        return ToolResult(text=_text(report, arguments, self._seconds, scope.receiver.answer_bytes))


def _start(arguments: SearchFilesArguments, scope: Scope, stack: ExitStack) -> tuple[dict[str, Any], list[int]]:
    """Open the folder to search in, or the one that holds the file to search; say where it is, and what is open."""
    found = scope.jail.find(arguments.path)
    above, _, name = found.place.path.rpartition("/") if found.file else (found.place.path, "", "")
    folder, place = stack.enter_context(scope.jail.folder(above or "."))
    mounts = {} if name else mounts_of(scope.jail, place)
    where = {"start": folder, "prefix": place.shown, "mounts": mounts, "file": name, "path": found.place.shown}
    return where, [folder, *mounts.values()]


def _child(query: dict[str, Any], folders: list[int], mark: dict[str, str]) -> Child:
    told = os.memfd_create("elis-search", os.MFD_CLOEXEC)  # a process list must not show what is looked for
    try:
        with os.fdopen(os.dup(told), "wb") as file:
            file.write(json.dumps(query).encode())
        os.lseek(told, 0, os.SEEK_SET)
        argv = [sys.executable, "-P", "-s", "-S", "-B", "-m", "host.tools.search_child", str(told)]
        environment = {"PYTHONPATH": str(_PACKAGES), "PYTHONIOENCODING": "utf-8:backslashreplace", **mark}
        return Child(argv, environment=environment, descriptors=[told, *folders])
    except OSError as error:
        message = f"the search cannot be started ({error}); ask the operator to run elis doctor"
        raise Unsupported(message) from error
    finally:
        os.close(told)


def _cursor(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    path, _, line = text.rpartition(":")
    if not path or not line.isdecimal():
        message = f"cursor {text!r} should read 'path:line', as an earlier answer gave it"
        raise ToolFailed(message)
    return path, int(line)


def _text(report: _Report, arguments: SearchFilesArguments, seconds: float, limit_bytes: int) -> str:
    lines: list[str] = []
    size = 0
    for path, number, shown, start, rest in report.hits:
        before = f"[… {start} characters before] " if start else ""
        behind = f" [… {rest} characters after]" if rest else ""
        line = f"{path}:{number}: {before}{shown}{behind}"
        size += len(line.encode(errors="replace")) + 1
        if size > limit_bytes:
            break
        lines.append(line)
    return "\n".join([_head(report), *lines, *_tail(report, arguments, len(lines), seconds)])


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
