"""Dumps of bytes in lines: what `xxd`, `hexdump` and `od` write, with or without places, characters or a prefix.

A line is told by its form: the place of its first byte, then cells of one width. It may be read in several ways
(`7333` are two bytes in either order), and each way is a view of its own. What lies between two lines of a dump, such
as the same bytes written once more, is bridged if it is one line. Known are hexadecimal in groups of any width in both
orders, characters with escapes (`od -c`), bytes in octal and in decimal, and octal words of two bytes (`od`).
Nothing here knows what a secret is.
"""

import bisect
import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

_LONGEST_LINE: Final = 1024  # bytes; of a longer line the end is looked at
_APART: Final = b"\xff\xfe\xff"  # in no text and so in no value
_BRIDGED: Final = 1  # lines between two of one dump

_CELL: Final = rb"[0-9A-Fa-f]"
_PLACE: Final = (  # without a colon a number is a place only if it is long or stands apart
    rb"(?:(?<![0-9A-Za-z])(?:0[xX])?(?P<place>[0-9A-Fa-f]{4,16})"
    rb"(?:(?P<colon>[:h])(?=[ \t])|(?=[ \t]{2})|(?<=[0-9A-Fa-f]{6})(?=[ \t])))"
)
_NO_MORE: Final = rb"(?![0-9A-Za-z])"


def _cells(width: int) -> bytes:
    """Return the pattern of cells of `width` hexadecimal digits, all at one distance; the last may be shorter."""
    cell, gap = _CELL + b"{%d}" % width + _NO_MORE, b"gap%d" % width
    short = rb"(?:" + _CELL + rb"{2}){1,%d}" % max(1, width // 2 - 1) + _NO_MORE
    tail = rb"(?:(?:(?P=" + gap + rb")|[ \t]{3,15})" + short + rb")?" if width > 2 else b""  # noqa: PLR2004 - a byte
    more = rb"(?:(?P=" + gap + rb")" + cell + rb")"
    # `hexdump -C` leaves a wider gap after the eighth byte; behind a colon that gap is where the characters begin.
    middle = more + rb"{6}(?(colon)(?!))[ \t]{2}" + cell + more + rb"*+|" if width == 2 else b""  # noqa: PLR2004
    first = rb"(?P<" + gap + rb">[ \t]{1,4})" + cell
    lone = rb"(?:[ \t]{1,15}" + short + rb")?" if tail else b""
    return cell + rb"(?:" + first + rb"(?:" + middle + more + rb"*+)" + tail + rb"|" + lone + rb")"


_REST: Final = rb"(?:[ \t]*\r?|[ \t]{2,}[^ \t].*)\Z"
_BYTES: Final = rb"(?:" + _CELL + rb"{2}){1,256}" + _NO_MORE
_MIXED: Final = _BYTES + rb"(?:[ ]" + _BYTES + rb")*+"
_HEX: Final = re.compile(
    _PLACE
    + rb"[ \t]{1,8}(?P<cells>"
    + rb"|".join([*(_cells(width) for width in (2, 4, 8, 16)), _MIXED])
    + rb")"
    + _REST,
    re.DOTALL,
)
_HEX_ALONE: Final = re.compile(
    rb"[ \t]{0,8}(?P<cells>" + rb"|".join(_cells(width).replace(b"(?(colon)(?!))", b"") for width in (4, 8, 16)) + rb")"
    + _REST,
    re.DOTALL,
)  # fmt: skip
_SIGN: Final = rb"(?:[ ]{3}[!-~]|[ ]{2}\\[0abefnrtv]|[ ][0-7]{3}|[ ]{4})"
_PLACE_BEFORE: Final = rb"(?<![0-9A-Za-z])(?P<place>[0-9A-Fa-f]{6,16})(?=[ ])"
_SIGNS: Final = re.compile(_PLACE_BEFORE + rb"(?P<cells>" + _SIGN + rb"{1,64}+)[ ]*\r?\Z")
_SIGNS_ALONE: Final = re.compile(rb"(?P<cells>" + _SIGN + rb"{1,64}+)[ ]{0,3}\r?\Z")
_INDENTED: Final = re.compile(rb"[ ]{7}(?P<cells>" + _SIGN + rb"{1,64}+)[ ]{0,3}\r?\Z")
_DECIMALS: Final = re.compile(_PLACE_BEFORE + rb"(?P<cells>(?:[ ]{1,5}-?[0-9]{1,3}){1,64}+)[ ]*\r?\Z")
_WORDS: Final = re.compile(_PLACE_BEFORE + rb"(?P<cells>(?:[ ]{1,6}[0-9]{1,5}){1,64}+)[ ]*\r?\Z")
_OCTALS: Final = re.compile(_PLACE_BEFORE + rb"(?P<cells>(?:[ ]{1,4}[0-7]{6}){1,64}+)[ ]*\r?\Z")

_OCTALS_ALONE: Final = re.compile(rb"(?P<cells>(?:[ ]{1,4}[0-7]{6}){1,64}+)[ ]*\r?\Z")

_ESCAPES: Final = {
    b"\\0": 0,
    b"\\a": 7,
    b"\\b": 8,
    b"\\e": 27,
    b"\\f": 12,
    b"\\n": 10,
    b"\\r": 13,
    b"\\t": 9,
    b"\\v": 11,
}
_ONE_SIGN: Final = re.compile(rb".{4}", re.DOTALL)
_ONE_WORD: Final = re.compile(rb"[ \t]*[^ \t]+")


def _hex_bytes(cells: bytes) -> bytes:
    return bytes.fromhex(cells.decode())


def _swapped_bytes(cells: bytes) -> bytes:
    return b"".join([bytes.fromhex(cell.decode())[::-1] for cell in cells.split()])


def _sign_bytes(cells: bytes) -> bytes:
    return bytes([_sign(cells[at : at + 4]) for at in range(0, len(cells), 4)])


def _sign(cell: bytes) -> int:
    sign = cell.strip()
    if len(sign) == 3:  # noqa: PLR2004 - octal digits
        return int(sign, 8) & 255
    return _ESCAPES[sign] if len(sign) > 1 else (sign or b" ")[0]


def _decimal_bytes(cells: bytes) -> bytes:
    return bytes([int(cell) & 255 for cell in cells.split()])


def _word_bytes(cells: bytes) -> bytes:
    return b"".join([(int(cell) & 0xFFFF).to_bytes(2, "little") for cell in cells.split()])


def _octal_bytes(cells: bytes) -> bytes:
    return b"".join([(int(cell, 8) & 0xFFFF).to_bytes(2, "little") for cell in cells.split()])


class _Way(msgspec.Struct, frozen=True):
    """A way to read the cells of a line."""

    decode: Callable[[bytes], bytes]
    cell: "re.Pattern[bytes]"


WAYS: Final = {
    "hexadecimal": _Way(_hex_bytes, _ONE_WORD),
    "hexadecimal, swapped": _Way(_swapped_bytes, _ONE_WORD),
    "characters": _Way(_sign_bytes, _ONE_SIGN),
    "decimal": _Way(_decimal_bytes, _ONE_WORD),
    "decimal words": _Way(_word_bytes, _ONE_WORD),
    "octal words": _Way(_octal_bytes, _ONE_WORD),
}
"""Every way by the name of its view."""


class _Cells(msgspec.Struct, frozen=True):
    """The cells of one line as they are read in one way."""

    out: int  # where their bytes begin in the view
    start: int  # of the cells in the text
    end: int
    line_end: int


class View:
    """The bytes of all dumps of a text, read in one way."""

    def __init__(self, way: _Way, raw: bytes) -> None:
        """Begin without a line; `add` fills it."""
        self._way = way
        self._raw = raw
        self._lines: list[_Cells] = []
        self._parts: list[bytes] = []
        self._size = 0
        self.data = b""

    def add(self, start: int, end: int, line_end: int) -> None:
        """Take the cells `start`..`end` of the next line."""
        if self._lines and self._raw.count(b"\n", self._lines[-1].line_end, start) > 1 + _BRIDGED:
            self._parts.append(_APART)
            self._size += len(_APART)
        self._lines.append(_Cells(self._size, start, end, line_end))
        self._parts.append(self._way.decode(self._raw[start:end]))
        self._size += len(self._parts[-1])

    def close(self) -> None:
        """Take no more lines."""
        self.data = b"".join(self._parts)
        self._outs = [line.out for line in self._lines]

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the text behind `start`..`end`: from a cell to the end of a line, its characters too."""
        line, last = self._line(start), self._line(end - 1)
        seen = line.out
        for cell in self._way.cell.finditer(self._raw, line.start, line.end):
            seen += len(self._way.decode(cell.group()))
            if seen > start:
                blanks = len(cell.group()) - len(cell.group().lstrip(b" \t"))
                return cell.start() + (blanks if blanks < len(cell.group()) else 0), last.line_end
        return line.start, last.line_end

    def _line(self, index: int) -> _Cells:
        return self._lines[bisect.bisect_right(self._outs, index) - 1]


class _Line(msgspec.Struct, frozen=True):
    """A line of a dump."""

    cells: dict[str, tuple[int, int]]  # by each way in which it can be read
    placed: bool  # whether it says where it stands

    @property
    def start(self) -> int:
        """Where the first of its cells stands."""
        return min(start for start, _ in self.cells.values())

    def fewest(self, raw: bytes) -> int:
        """Return how many bytes its cells are at least."""
        return min(len(WAYS[way].decode(raw[start:end])) for way, (start, end) in self.cells.items())


_BY_PLACE: Final = ((_SIGNS, "characters"), (_DECIMALS, "decimal"), (_WORDS, "decimal words"), (_OCTALS, "octal words"))
_ALONE: Final = ((_SIGNS_ALONE, "characters"), (_INDENTED, "characters"), (_OCTALS_ALONE, "octal words"))
_FEWEST: Final = 2  # cells of a line that begins a dump without places


def _read(raw: bytes, start: int, end: int, *, goes_on: bool) -> _Line | None:
    """Return the line `start`..`end` if it is one of a dump; `goes_on` behind one that does not say its place."""
    cut = end - start > _LONGEST_LINE
    start = max(start, end - _LONGEST_LINE)
    line = raw[start:end]
    cells: dict[str, tuple[int, int]] = {}
    hexadecimal = _placed_hex(line)
    for pattern, way in _BY_PLACE:
        match = pattern.search(line)
        if match is not None and not _is_first_cell(line, match):
            cells[way] = match.span("cells")
    placed = bool(cells) or hexadecimal is not None
    if not placed and not cut:
        hexadecimal = _HEX_ALONE.match(line)
        if hexadecimal is not None and len(hexadecimal["cells"].split()) < _FEWEST and not goes_on:
            hexadecimal = None
        for pattern, way in _ALONE:
            match = pattern.match(line)
            if match is not None and (goes_on or len(match["cells"].split()) >= _FEWEST):
                cells[way] = match.span("cells")
    if hexadecimal is not None:
        cells["hexadecimal"] = hexadecimal.span("cells")
        words = hexadecimal["cells"].split()
        if len(words) == 1 or any(len(word) > 2 for word in words):  # noqa: PLR2004 - single bytes have one order
            cells["hexadecimal, swapped"] = hexadecimal.span("cells")
    if not cells:
        return None
    return _Line({way: (start + first, start + last) for way, (first, last) in cells.items()}, placed)


def _placed_hex(line: bytes) -> "re.Match[bytes] | None":
    """Return the hexadecimal cells behind a place."""
    match = _HEX.search(line)
    while match is not None and not match["colon"] and _is_first_cell(line, match):
        match = _HEX.search(line, match.start() + 1)
    return match


def _is_first_cell(line: bytes, match: "re.Match[bytes]") -> bool:
    """Tell whether what was taken for a place is a cell: as wide as the next, with nothing but blanks or cells before.

    Programs that write places begin the line with them, and with a blank where they leave them out.
    """
    if match["cells"].isspace() or len(match["place"]) != len(match["cells"].split(None, 1)[0]):
        return False
    before = line[: match.start()]
    return before != b"" and not before.translate(None, b"0123456789abcdefABCDEF \t")


_SEEN: Final = bytes(
    {**dict.fromkeys(b"0123456789abcdefABCDEF", 48), 9: 32, 32: 32, 10: 10, 58: 58, 104: 104}.get(byte, 46)
    for byte in range(256)
)
_MARK: Final = re.compile(rb"0000(?:[:h] {1,8}00| {2,8}00|0{2,12}(?: {2}| 00))")
_MARK_ALONE: Final = re.compile(
    rb"\n(?: {0,8}(?:000 000|0000 {1,4}0000|000000 {1,4}000000|0{8} 0{8})(?!0)|(?: {3}){1,4} ?[.0] {2})"
)


def _marked(raw: bytes) -> list[int]:
    """Return the beginnings of the lines that may be of a dump, in order."""
    seen = b"\n" + raw.translate(_SEEN)
    starts = {found.start() for found in _MARK_ALONE.finditer(seen)}
    found = _MARK.search(seen)
    while found is not None:
        starts.add(seen.rfind(b"\n", 0, found.start()))
        end = seen.find(b"\n", found.end())
        found = _MARK.search(seen, end) if end >= 0 else None
    return sorted(starts)


def views(raw: bytes) -> Iterator[tuple[str, View]]:
    """Yield the view of each way in which some line of `raw` can be read, under its name."""
    made: dict[str, View] = {}
    done, goes_on = -1, False
    for marked in _marked(raw):
        start = marked
        while start > done:
            end = raw.find(b"\n", start)
            end = len(raw) if end < 0 else end
            line = _read(raw, start, end, goes_on=goes_on and start == done + 1)
            done, goes_on = end, line is not None and not line.placed
            for way, cells in line.cells.items() if line is not None else ():
                made.setdefault(way, View(WAYS[way], raw)).add(*cells, end)
            if not goes_on or end == len(raw):
                break
            start = end + 1
    for name, view in made.items():
        view.close()
        yield name, view


_OPEN_HEX: Final = rb"[ \t]{0,8}(?:[0-9A-Fa-f]{1,512}[ \t]{1,15})*(?:[0-9A-Fa-f]{0,512}\r?\Z|(?<=[ \t]{2})[^ \t])"
_OPEN_DECIMAL: Final = rb"(?:[ ]{1,5}-?[0-9]{1,3})*+[ ]{0,5}-?\r?\Z"
_OPEN_SIGNS: Final = _SIGN + rb"*+[ ]{0,3}(?:(?<=[ ]{2})\\|(?<=[ ])[0-7]{1,2})?\r?\Z"
_OPEN: Final = re.compile(
    rb"(?<![0-9A-Za-z])(?:0[xX])?[0-9A-Fa-f]{4,16}(?:[:h]|(?<=[0-9A-Fa-f]{6})|(?=[ \t](?:[ \t]|\Z)))(?=[ \t])"
    rb"(?=(?P<blanks>[ \t]*))(?:" + _OPEN_HEX + rb"|" + _OPEN_DECIMAL + rb"|" + _OPEN_SIGNS + rb")"
)
_OPEN_ALONE: Final = re.compile(
    rb"(?P<blanks>)(?:[ \t]{0,8}(?=[0-9A-Fa-f]{4})"
    + _OPEN_HEX
    + rb"|(?:[ ]{7})?(?=[ ]{3}[!-~]|[ ]{2}\\|[ ][0-7])"
    + _OPEN_SIGNS
    + rb")"
)


def opens_at(raw: bytes, longest: int) -> int:
    """Return the first byte of cells that may hold the beginning of a value of up to `longest` bytes; else the length.

    Every line of a dump is held back until the lines behind it would hold the rest of such a value, whatever it says.
    """
    end = raw.rfind(b"\n")
    earliest = end + 1 + _line_opens_at(raw[end + 1 :])
    missing, others = longest, 0
    while end >= 0 and missing > 0 and others <= _BRIDGED:
        start = raw.rfind(b"\n", 0, end) + 1
        line = _read(raw, start, end, goes_on=True)
        if line is None:
            others += 1
        else:
            others, missing, earliest = 0, missing - line.fewest(raw), min(earliest, line.start)
        end = start - 1
    return earliest


def _line_opens_at(line: bytes) -> int:
    """Return where cells may begin in a line that is not yet over; its length if nowhere."""
    before = max(0, len(line) - _LONGEST_LINE)
    found = (None if before else _OPEN_ALONE.match(line)) or _OPEN.search(line[before:])
    return before + found.end("blanks") if found else len(line)
