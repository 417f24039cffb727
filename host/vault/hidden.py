"""Text behind base64: where it stands, and how its bytes lead back to the characters that hide them.

A chain is a word of base64 with the lines that go on with it. What it decodes to is looked through for stretches of
text, so that a picture costs little, and a value is found also where other bytes stand around it. Every four characters
speak for themselves, so a chain may be cut between them. Nothing here knows what a secret is.
"""

import base64
import bisect
import re
from collections.abc import Iterator
from typing import Final

import msgspec

_SIGN: Final = rb"[A-Za-z0-9+/_-]"
_GROUP: Final = _SIGN + rb"{4}"
_BREAK: Final = rb"\r?\n[ \t]{0,16}"
_FEWEST_GROUPS: Final = 4  # of the first line; what is shorter hides nothing
_CHAIN: Final = re.compile(
    rb"(?:" + _GROUP + rb"){%d,}+" % _FEWEST_GROUPS
    + rb"(?:" + _BREAK + rb"(?:" + _GROUP + rb")++)*+(?:" + _BREAK + rb"(?=" + _SIGN + rb"))?" + _SIGN + rb"{0,3}={0,2}"
)  # fmt: skip
_LINE: Final = re.compile(_SIGN + rb"+")
_BLANKS: Final = b" \t\r\n"
_SIGNS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_INDENT: Final = 16  # blanks before a line of base64
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_ASCII: Final = rb"[\t\n\r -~]"
_BEYOND: Final = rb"(?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"  # of UTF-8
_STRETCH: Final = re.compile(
    _ASCII + rb"{3,}+(?:(?<=" + _ASCII + rb"{6})|(?=" + _BEYOND + rb"))(?:" + _BEYOND + rb"++" + _ASCII + rb"*+)*+"
)
_LAST_STRETCH: Final = re.compile(rb"(?:" + _ASCII + rb"|" + _BEYOND + rb")*+(?:[\xc2-\xf4][\x80-\xbf]{0,2})?\Z")


class Chain:
    """Where the characters of one chain stand."""

    def __init__(self, raw: bytes, start: int, end: int) -> None:
        """Take the chain `start`..`end` of `raw`."""
        self._end = end
        self._counts: list[int] = []  # characters before each line; …
        self._starts: list[int] = []  # … where it begins in the text
        count = 0
        for word in _LINE.finditer(raw, start, end):
            self._counts.append(count)
            self._starts.append(word.start())
            count += len(word.group())
        self._size = count

    def place(self, sign: int) -> int:
        """Return where a character of the chain stands."""
        line = bisect.bisect_right(self._counts, sign) - 1
        return self._starts[line] + sign - self._counts[line]

    def behind(self, sign: int) -> int:
        """Return what follows a character; the equals signs at the end belong to the last."""
        return self.place(sign) + 1 if sign + 1 < self._size else self._end


class Stretch(msgspec.Struct, frozen=True):
    """A stretch of text behind a chain of base64."""

    text: bytes
    at: int  # the first of its bytes among those of the chain
    chain: Chain

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the characters that hide `start`..`end` of the text."""
        first, last = _first_sign(self.at + start), _first_sign(self.at + end - 1) + 1
        return self.chain.place(first), self.chain.behind(last)


def stretches(raw: bytes) -> Iterator[Stretch]:
    """Yield every stretch of text behind the base64 in `raw`, in order."""
    for match in _CHAIN.finditer(raw):
        data = _decoded(match.group())
        chain: Chain | None = None
        for found in _STRETCH.finditer(data):
            chain = chain or Chain(raw, *match.span())
            yield Stretch(found.group(), found.start(), chain)


class Tail(msgspec.Struct, frozen=True):
    """What a text ends with that may be base64 and go on."""

    text: bytes  # the last stretch of text that is certain by now
    at: int  # the first of its bytes among those of the chain
    places: list[int]  # where each character of the chain stands
    bits: int  # the beginning of the byte behind the text, at the top of a byte; …
    known: int  # … and how many of its bits are known: 0, 2, 4 or 6

    def back(self, start: int) -> int:
        """Return where the character stands in which `start` of the text begins."""
        return self.places[min(_first_sign(self.at + start), len(self.places) - 1)]

    @property
    def waits(self) -> int:
        """Where the byte begins that is not yet whole."""
        return self.places[-1]

    def may_begin(self, first: int) -> bool:
        """Tell whether the byte that is not yet whole may become `first`."""
        shift = 8 - self.known
        return self.known > 0 and first >> shift == self.bits >> shift


def tail(raw: bytes, reach: int) -> Tail | None:
    """Return what the last characters of `raw`, about `reach` of them, may hide; None if they can hide nothing."""
    places = _last_places(raw, reach)
    if not places:
        return None
    compact = bytes([raw[at] for at in places])
    left = len(compact) % 4
    whole = left * 6 // 8
    last = _decoded(compact[len(compact) - left :] + b"A" * (4 - left)) if left else bytes(3)
    data = _decoded(compact[: len(compact) - left]) + last[:whole]
    found = _LAST_STRETCH.search(data)
    at = found.start() if found else len(data)
    return Tail(data[at:], at, places, last[whole] if left else 0, left * 6 % 8)


def aligned(raw: bytes, at: int) -> int:
    """Return the last byte up to `at` at which a cut leaves the groups of base64 behind it as they are."""
    run = raw[:at]
    return at - (at - len(run.rstrip(_SIGNS))) % 4


def _first_sign(byte: int) -> int:
    """Return which character of a chain holds the first bits of a byte; the one behind it holds the last."""
    return 8 * byte // 6


def _last_places(raw: bytes, reach: int) -> list[int]:
    """Return where the characters of the chain stand with which `raw` ends, cut where a group begins."""
    lines: list[list[int]] = []
    count, end = 0, len(raw)
    while count < reach:
        line = raw.rfind(b"\n", 0, end) + 1
        first = max(line, end - 2 * reach)
        word = raw[first:end].rstrip(b"\r") if lines else _without_end(raw[first:end])
        stop = first + len(word)
        start = first + len(word.rstrip(_SIGNS))
        length = stop - start
        if lines and (length == 0 or length % 4):
            break
        lines.append(list(range(start, stop)))
        count += length
        before = raw[line:start]
        if before.strip(b" \t") or len(before) > _INDENT or line == 0:
            break
        end = line - 1
    places = [at for line in reversed(lines) for at in line]
    return places[max(0, len(places) - reach) // 4 * 4 :]


def _without_end(word: bytes) -> bytes:
    """Leave out one equals sign, which another may follow, or a break, which the next line may."""
    if word.endswith(b"=") and not word.endswith(b"=="):
        return word[:-1]
    return b"" if word.isspace() else word.removesuffix(b"\r")


def _decoded(chain: bytes) -> bytes:
    compact = chain.translate(None, _BLANKS + b"=").translate(_STANDARD)
    left = len(compact) % 4
    if left == 1:  # says nothing
        compact, left = compact[:-1], 0
    return base64.b64decode(compact + b"=" * (-left % 4))
