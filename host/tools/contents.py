"""The table of contents of a long text, made while the text comes; the text itself is not kept (CTX-3).

What it holds is bounded whatever comes: the beginning, the end, counts, and where sections begin. A section begins at
a heading of Markdown where there are some, else at every so many characters, on a line.
"""

import re
from typing import Final

import msgspec

from host.tools.text import shortened

_WORDS: Final = 72  # characters of a section's beginning
_SECTIONS: Final = 40  # of one table: as many as a reader takes in at a glance
_HEADINGS: Final = 400  # remembered; a text with more of them is told by its size instead
_STRIDE: Final = 1024  # characters between two sections at first; it doubles as the text grows
_LINE_BYTES: Final = 96  # what a line of the table takes at most, for the most part
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(\S.*)", re.MULTILINE)
_BLANKS: Final = re.compile(r"\s+")


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader is shown of a long text."""

    text: str  # table of contents, first and last lines: all of it the text's own words
    lines: int
    bytes: int
    next_line: int  # where reading on begins
    next_column: int  # 1 unless the first lines end within a line


class Contents:
    """Takes a text piece by piece."""

    def __init__(self, shown_bytes: int) -> None:
        """Make an excerpt of about `shown_bytes`."""
        self.bytes = 0
        self._head_bytes = shown_bytes // 2
        self._tail_bytes = shown_bytes // 4
        self._most = max(4, min(_SECTIONS, shown_bytes // 4 // _LINE_BYTES))
        self._head = ""
        self._tail = ""
        self._lines = 0  # complete ones
        self._open = ""  # the beginning of the line that is not complete
        self._stride = _STRIDE
        self._since = _STRIDE  # characters since the last section began
        self._sections: list[tuple[int, str]] = []
        self._headings: list[tuple[int, str, int]] = []
        self._deepest = 6

    def feed(self, text: str) -> None:
        """Take the next piece."""
        size = len(text.encode(errors="surrogatepass"))
        if self.bytes < self._head_bytes:
            self._head += shortened(text, self._head_bytes - self.bytes)
        self.bytes += size
        self._tail = (self._tail + text)[-self._tail_bytes :]
        pending = self._open + text
        cut = pending.rfind("\n") + 1
        if cut:
            self._take(pending[:cut])
        self._open = pending[cut:][: _WORDS * 4]  # only its beginning is ever told

    def excerpt(self) -> Excerpt:
        """Return what is told of the whole text; nothing more comes."""
        if self._open:
            self._take(self._open + "\n")
            self._open = ""
        head, tail = self._head, self._tail.encode(errors="surrogatepass")[-self._tail_bytes :].decode(errors="ignore")
        if "\n" in head:
            head = head[: head.rfind("\n") + 1]
            next_line, next_column = head.count("\n") + 1, 1
        else:
            next_line, next_column = 1, len(head) + 1
        whole_line = tail.find("\n") + 1
        tail = tail[whole_line:] if 0 < whole_line < len(tail) else tail
        table = "\n".join(self._table())
        text = f"Contents, by line:\n{table}\n\nFirst lines:\n{head.rstrip()}\n\nLast lines:\n{tail.rstrip()}"
        return Excerpt(text=text, lines=self._lines, bytes=self.bytes, next_line=next_line, next_column=next_column)

    def _take(self, lines: str) -> None:
        """Take complete lines."""
        self._note_headings(lines)
        at, counted, number = 0, 0, self._lines + 1
        while True:
            begins = at + max(0, self._stride - self._since)
            if begins > at:
                begins = lines.find("\n", begins - 1) + 1 or len(lines)
            if begins >= len(lines):
                self._since += len(lines) - at
                break
            number += lines.count("\n", counted, begins)
            counted = at = begins
            self._note_section(number, lines[begins : begins + _WORDS * 4])
            self._since = 0
        self._lines += lines.count("\n")

    def _note_section(self, number: int, beginning: str) -> None:
        self._sections.append((number, _words(beginning)))
        if len(self._sections) > 2 * self._most:
            self._sections = self._sections[::2]
            self._stride *= 2

    def _note_headings(self, lines: str) -> None:
        if not self._deepest:
            return
        counted, number = 0, self._lines + 1
        for found in _HEADING.finditer(lines):
            if len(found[1]) > self._deepest:
                continue
            number += lines.count("\n", counted, found.start())
            counted = found.start()
            self._headings.append((number, _words(found[0]), len(found[1])))
        while len(self._headings) > _HEADINGS:  # the deepest level goes first
            self._deepest = max(level for _, _, level in self._headings) - 1
            self._headings = [heading for heading in self._headings if heading[2] <= self._deepest]

    def _table(self) -> list[str]:
        headings, deepest = self._headings, self._deepest
        while len(headings) > self._most:
            deepest -= 1
            headings = [heading for heading in headings if heading[2] <= deepest]
        begun = [(number, words) for number, words, _ in headings]
        if len(begun) < 2:  # noqa: PLR2004 - one heading divides nothing
            begun = self._sections[:: 1 + len(self._sections) // (self._most + 1)]
        if not begun or begun[0][0] > 1:
            begun = [(1, "…"), *begun]
        ends = [number - 1 for number, _ in begun[1:]] + [self._lines]
        return [f"{number}-{max(number, end)}: {words}" for (number, words), end in zip(begun, ends, strict=True)]


def _words(text: str) -> str:
    return _BLANKS.sub(" ", text.strip())[:_WORDS]
