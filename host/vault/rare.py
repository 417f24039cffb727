"""Views of clothes that few texts wear: mail's encoding, lists of numbers, marks between the characters.

A view is made only of a text in which its mark stands, so that ordinary text costs one search for each. Like those of
`host.vault.views` they find their way back, are linear and know nothing of secrets.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from host.vault.views import Pass, Traced, nothing

PRINTABLE: Final = "quoted-printable"
JOINED: Final = "joined"
NUMBERS: Final = "numbers"

_LEFT_OUT: Final = re.compile(rb"[ \t\r\n\v\f\x00\"'`\\+]+")

_PRINTABLE: Final = re.compile(rb"=(?:[0-9A-Fa-f]{2}|[ \t]*\r?\n)")

# Colours of terminals, characters without a width, and what stands before each line of a quotation, comment or diff.
_MARKS: Final = (b"\x1b[", b"\xe2\x80", b"\xe2\x81\xa0", b"\xef\xbb\xbf", b"\xc2\xad")
_LINE: Final = rb"\n[ \t]*(?:[>#*|;:+-]+|//+)[ \t]?"
_LINE_MARK: Final = re.compile(_LINE)  # searched by itself it costs little
_BETWEEN: Final = re.compile(
    rb"\x1b\[[0-9;:?]*[A-Za-z]|\xe2\x80[\x8b-\x8f]|\xe2\x81\xa0|\xef\xbb\xbf|\xc2\xad|" + _LINE
)

_LONGEST_CUT: Final = 64
_CUT_OFF: Final = re.compile(
    rb"(?:(?P<waits>(?:(?<![A-Za-z0-9])|(?<==[0-9A-Fa-f]{2}))=[0-9A-Fa-f]?|(?<![\w.])[0-9]{1,3})"
    rb"|=[0-9A-Fa-f]?[ \t]*\r?|\x1b(?:\[[0-9;:?]*)?|\xe2[\x80\x81]?|\xef\xbb?|\xc2"
    rb"|\n[ \t]*(?:[>#*|;:+-]+|//?)?[ \t]?)\Z"
)
"""The beginning of an escape, a colour, a mark or a number."""

_NUMBER: Final = rb"[0-9]{1,3}(?:, ?|,?[ \t\r\n]{1,8})"
_NUMBERS: Final = re.compile(rb"(?<![0-9.])(?:" + _NUMBER + rb"){5}[0-9]")
_ONE: Final = re.compile(rb"(?<![\w.])([0-9]{1,3})(?![\w.])(?:, ?|,?[ \t\r\n]{1,8})?")

_DIGITS: Final = bytes(
    {**dict.fromkeys(b"0123456789", 48), **dict.fromkeys(b" \t\r\n", 32)}.get(each, each) for each in range(256)
)


def _in_a_row(raw: bytes) -> bool:
    """Tell whether two numbers stand side by side; False is certain, and costs less than a look at each."""
    seen = raw.translate(_DIGITS)
    return any(pair in seen for pair in (b"0,0", b"0, 0", b"0 0", b"0  ", b"0,  "))


class _Step:
    """One rewriting of a text."""

    def __init__(self, pattern: "re.Pattern[bytes]", replace: Callable[[bytes], bytes]) -> None:
        self.pattern = pattern
        self.replace = replace

    @property
    def found(self) -> "Callable[[re.Match[bytes]], bytes] | bytes":
        """What `re.sub` takes."""
        return b"" if self.replace is nothing else lambda match: self.replace(match.group())


_WITHOUT: Final = _Step(_LEFT_OUT, nothing)


class Rare:
    """One of these views of one text; the way back is made only when it is asked for."""

    def __init__(self, name: str, raw: bytes, *steps: _Step) -> None:
        """Take the steps, each a pattern and what stands for what it finds."""
        self.name = name
        self._raw = raw
        self._steps = steps
        self.data = raw
        for step in steps:
            self.data = step.pattern.sub(step.found, self.data)

    def trace(self) -> Traced:
        """Return the view with the way back."""
        passes: list[Pass] = []
        data = self._raw
        for step in self._steps:
            passes.append(Pass(data, step.pattern, step.replace))
            data = passes[-1].data
        return Traced(data, passes)


def views(raw: bytes, *, part: bool) -> Iterator[Rare]:
    """Yield the view of every kind whose mark stands in `raw`; a `part` of a text may hold less of a mark."""
    if b"=" in raw and _PRINTABLE.search(raw):
        yield Rare(PRINTABLE, raw, _Step(_PRINTABLE, _printable), _WITHOUT)
    if _LINE_MARK.search(raw) or (any(mark in raw for mark in _MARKS) and _BETWEEN.search(raw)):
        yield Rare(JOINED, raw, _Step(_BETWEEN, nothing), _WITHOUT)
    if _ONE.search(raw) if part else _in_a_row(raw) and _NUMBERS.search(raw):
        yield Rare(NUMBERS, raw, _Step(_ONE, _number))


def finished(raw: bytes) -> tuple[int, bool]:
    """Return how much of `raw` is left when what is cut off at its end is left out, and whether that must wait.

    An equals sign behind a word is passed on: it stands there for itself far more often than for a line that goes on.
    """
    cut = _CUT_OFF.search(raw, max(0, len(raw) - _LONGEST_CUT))
    return (cut.start(), cut["waits"] is not None) if cut else (len(raw), False)


def joined(plain: bytes) -> bytes:
    """Return what the JOINED view makes of a value."""
    return _LEFT_OUT.sub(b"", _BETWEEN.sub(b"", plain))


def _printable(escape: bytes) -> bytes:
    return bytes([int(escape[1:3], 16)]) if escape[1:].isalnum() else b""


def _number(written: bytes) -> bytes:
    number = int(re.sub(rb"[^0-9]", b"", written))
    return bytes([number]) if number < 256 else written  # noqa: PLR2004 - a byte
