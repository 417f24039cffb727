"""The child process in which `search_files` looks through files.

A regular expression from outside can hold the interpreter for hours; here it holds only this process, which the host
ends when its time is up. It gets open folders and a query as descriptors, writes one JSON array per line, and imports
nothing but the standard library and three neighbours.
"""

import json
import os
import re
import resource
import sys
from collections.abc import Callable
from typing import Any, Final

from host.tools.globs import matches
from host.tools.walk import DEEPEST, Entry, after, walk

FILE_BYTES: Final = 16 << 20  # of one searched file
_MEMORY_BYTES: Final = 1 << 30
_LOOKED_AT_BYTES: Final = 8192
_LINE_CHARS: Final = 300  # of a shown line
_AROUND_CHARS: Final = 100  # shown before a match far to the right

Finder = Callable[[str], int]
"""Where in a line the text is found, -1 for nowhere."""


def main() -> None:
    """Search as the query on the descriptor named by the first argument says."""
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        query: dict[str, Any] = json.load(file)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (query["cpu_seconds"], query["cpu_seconds"]))  # ends it without a host
    try:
        find = finder(query["text"], regular=query["regular"], ignore_case=query["ignore_case"])
    except (re.error, RecursionError, OverflowError) as error:
        _tell("bad", str(error))
        return
    _Search(query, find).run()


def finder(text: str, *, regular: bool, ignore_case: bool) -> Finder:
    """Return what looks for `text` in a line; raise re.error."""
    if regular:
        search = re.compile(text, re.IGNORECASE if ignore_case else 0).search
        return lambda line: -1 if (found := search(line)) is None else found.start()
    if ignore_case:
        folded = text.casefold()
        return lambda line: line.casefold().find(folded)
    return lambda line: line.find(text)


class _Search:
    """One search: tells hits as they come, then what was looked at."""

    def __init__(self, query: dict[str, Any], find: Finder) -> None:
        self._query = query
        self._find = find
        self._matches = 0
        self._before = 0
        self._shown = 0
        self._files = 0
        self._skipped: dict[str, list[str]] = {"binary": [], "large": [], "unreadable": []}

    def run(self) -> None:
        query = self._query
        mounts = {name: int(descriptor) for name, descriptor in query["mounts"].items()}
        if query["file"]:
            status = os.stat(query["file"], dir_fd=query["start"], follow_symlinks=False)
            self._look(Entry(query["path"], query["file"], "file", status.st_size, query["start"], entered=False))
        else:
            for entry in walk(query["start"], query["prefix"], mounts, DEEPEST):
                inner = entry.path.removeprefix(f"{query['prefix']}/")
                if entry.kind == "file" and (not query["glob"] or matches(inner, query["glob"])):
                    self._look(entry)
        skipped = {why: [len(paths), paths[:5]] for why, paths in self._skipped.items()}
        _tell("done", self._matches, self._before, self._files, skipped)

    def _look(self, entry: Entry) -> None:
        if entry.size > FILE_BYTES:
            self._skipped["large"].append(entry.path)
            return
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(entry.name, flags, dir_fd=entry.folder)
            with os.fdopen(descriptor, "rb") as file:
                data = file.read(FILE_BYTES + 1)
        except OSError:
            self._skipped["unreadable"].append(entry.path)
            return
        try:
            if b"\0" in data[:_LOOKED_AT_BYTES]:
                raise UnicodeDecodeError("utf-8", data, 0, 1, "binary")  # noqa: TRY301 - the same outcome as below
            text = data.decode()
        except UnicodeDecodeError:
            self._skipped["binary"].append(entry.path)
            return
        self._files += 1
        for number, line in enumerate(text.split("\n"), start=1):
            at = self._find(line)
            if at >= 0:
                self._hit(entry.path, number, line.rstrip("\r"), at)

    def _hit(self, path: str, number: int, line: str, at: int) -> None:
        self._matches += 1
        cursor = self._query["cursor"]
        if cursor and not (after(path, cursor[0]) or (path == cursor[0] and number > cursor[1])):
            self._before += 1
        elif self._shown < self._query["limit"]:
            self._shown += 1
            start = max(0, at - _AROUND_CHARS) if len(line) > _LINE_CHARS else 0
            shown = line[start : start + _LINE_CHARS]
            _tell("hit", path, number, shown, start, len(line) - start - len(shown))


def _tell(*words: Any) -> None:  # noqa: ANN401 - JSON
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()  # what was found stays found when the time is up


if __name__ == "__main__":
    main()
