"""Canonical views of text: the same secret in other clothes becomes the same bytes, and spans find their way back.

`FLAT` leaves out blanks, line breaks and plus signs, undoes percent, JSON and HTML escapes (also nested ones), then
leaves out quotes and backslashes, so that a value is found however it was escaped, quoted or wrapped. `BARE` leaves
out the same and undoes nothing: a value that itself holds what looks like an escape is found by it. `HEX` reads FLAT
in lower case and leaves out what people put between hexadecimal digits. All are linear. Views of rarer clothes are in
`host.vault.rare`. Nothing here knows what a secret is.
"""

import bisect
import html.entities
import re
import sys
from collections.abc import Callable
from typing import Final

import msgspec

_ROUNDS: Final = 4  # escapes of escapes that are undone; more would let a hostile text cost quadratic time

_ESCAPE: Final = re.compile(
    rb"%[0-9A-Fa-f]{2}|%u[0-9A-Fa-f]{4}"
    rb"|\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
    rb"|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}|\\U[0-9A-Fa-f]{8}|\\x[0-9A-Fa-f]{2}|\\[0-3][0-7]{2}|\\[nrt]"
    rb"|&#[0-9]{1,7};|&#[xX][0-9A-Fa-f]{1,6};|&[A-Za-z]{2,8};"
)
_ESCAPE_SIGNS: Final = (b"%", b"\\", b"&")
_ENTITIES: Final = {
    f"&{name}".encode(): text.encode() for name, text in html.entities.html5.items() if name.endswith(";")
}
_BLANKS: Final = b" \t\r\n\v\f+"  # forms write + for a blank
_BREAK: Final = re.compile(rb"[ \t\r\n\v\f+]+")
_LEFT_OUT: Final = b" \t\r\n\v\f\0\"'`\\+"  # a zero byte stands between the letters of UTF-16
_LEAVE_OUT: Final = re.compile(rb"[ \t\r\n\v\f\x00\"'`\\+]+")
_HEX_SIGNS: Final = b":,-"
_BETWEEN_HEX: Final = re.compile(rb"0x|[:,-]+")

_UNFINISHED: Final = re.compile(
    rb"(?:%(?:25)*(?:u[0-9A-Fa-f]{0,3}|[0-9A-Fa-f]?)"
    rb"|\\u[dD][89abAB][0-9A-Fa-f]{2}(?:\\(?:u[0-9A-Fa-f]{0,3})?)?"
    rb"|\\+(?:u[0-9A-Fa-f]{0,3}|u\{[0-9A-Fa-f]{0,6}|U[0-9A-Fa-f]{0,7}|x[0-9A-Fa-f]?|[0-3][0-7]?)?"
    rb"|&(?:#[0-9A-Fa-fxX]{0,7}|[A-Za-z]{0,8}))\Z"
)
"""An escape that is cut off at the end of a text."""


class _Piece(msgspec.Struct, frozen=True):
    """Where a stretch of output came from."""

    out: int  # where it starts in the output
    start: int
    end: int
    copied: bool  # byte for byte; else the whole stretch stands for start..end


class Pass:
    """One rewriting of a text, with the way back."""

    def __init__(self, data: bytes, pattern: "re.Pattern[bytes]", replace: Callable[[bytes], bytes]) -> None:
        parts: list[bytes] = []
        self._pieces: list[_Piece] = []
        out = last = 0
        for match in pattern.finditer(data):
            for piece, start, end, copied in (
                (data[last : match.start()], last, match.start(), True),
                (replace(match.group()), match.start(), match.end(), False),
            ):
                if piece:
                    self._pieces.append(_Piece(out, start, end, copied))
                    parts.append(piece)
                    out += len(piece)
            last = match.end()
        if last < len(data):
            self._pieces.append(_Piece(out, last, len(data), copied=True))
            parts.append(data[last:])
        self.data = b"".join(parts)
        self._outs = [piece.out for piece in self._pieces]

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the input that became `start`..`end` (not empty) of the output."""
        return self._origin(start)[0], self._origin(end - 1)[1]

    def _origin(self, index: int) -> tuple[int, int]:
        piece = self._pieces[bisect.bisect_right(self._outs, index) - 1]
        if not piece.copied:
            return piece.start, piece.end
        at = piece.start + index - piece.out
        return at, at + 1


class Traced:
    """A view of a text together with the way back to the text."""

    def __init__(self, data: bytes, passes: list[Pass]) -> None:
        self.data = data
        self.passes = passes

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the text behind `start`..`end` (not empty) of the view."""
        for step in reversed(self.passes):
            start, end = step.back(start, end)
        return start, end


def flat(data: bytes) -> bytes:
    """Return the FLAT view."""
    return flat_and_once(data)[0]


def flat_and_once(data: bytes) -> tuple[bytes, bytes | None]:
    """Return the FLAT view, and what it is with one round of undoing; None where one round is all there is to undo.

    A value may end in what becomes an escape with the text behind it, once the value itself was unescaped.
    """
    once: bytes | None = None
    for done in range(_ROUNDS):
        # Blanks go before every round: a wrapped escape, and one that undoing has just put together, is one too.
        data = data.translate(None, _BLANKS)
        if not any(sign in data for sign in _ESCAPE_SIGNS):
            break
        undone = _ESCAPE.sub(_undo_match, data)
        if undone == data:
            break
        once = data if done == 1 else once
        data = undone
    return data.translate(None, _LEFT_OUT), None if once is None else once.translate(None, _LEFT_OUT)


def trace_once(data: bytes) -> Traced:
    """Return the view of one round with the way back."""
    passes = [Pass(data, _BREAK, nothing)]
    passes.append(Pass(passes[-1].data, _ESCAPE, _undo))
    passes.append(Pass(passes[-1].data, _LEAVE_OUT, nothing))
    return Traced(passes[-1].data, passes)


def trace_flat(data: bytes) -> Traced:
    """Return the FLAT view with the way back; slower than `flat`."""
    passes = _rounds(data)
    passes.append(Pass(passes[-1].data, _LEAVE_OUT, nothing))
    return Traced(passes[-1].data, passes)


def bare(data: bytes) -> bytes:
    """Return the BARE view."""
    return data.translate(None, _LEFT_OUT)


def trace_bare(data: bytes) -> Traced:
    """Return the BARE view with the way back."""
    step = Pass(data, _LEAVE_OUT, nothing)
    return Traced(step.data, [step])


def finished(data: bytes) -> int:
    """Return how much of `data` is left when an escape that is cut off at its end is left out, however deep it is."""
    least = len(data)
    passes = _rounds(data)
    for done in range(1, len(passes) + 1):
        shown = passes[done - 1].data
        if cut := _UNFINISHED.search(shown):
            least = min(least, Traced(shown, passes[:done]).back(cut.start(), len(shown))[0])
    return least


def hexadecimal(flattened: bytes) -> bytes:
    """Return the HEX view of a FLAT one."""
    return flattened.lower().replace(b"0x", b"").translate(None, _HEX_SIGNS)


def trace_hexadecimal(traced: Traced) -> Traced:
    """Return the HEX view with the way back."""
    step = Pass(traced.data.lower(), _BETWEEN_HEX, nothing)
    return Traced(step.data, [*traced.passes, step])


def _rounds(data: bytes) -> list[Pass]:
    """Return the passes of FLAT up to the last that undoes something; at least one."""
    passes: list[Pass] = []
    for _ in range(_ROUNDS):
        passes.append(Pass(data, _BREAK, nothing))
        step = Pass(passes[-1].data, _ESCAPE, _undo)
        if step.data == passes[-1].data:
            break
        passes.append(step)
        data = step.data
    return passes


def _undo_match(match: "re.Match[bytes]") -> bytes:
    return _undo(match.group())


def _undo(escape: bytes) -> bytes:
    sign, digits = escape[:1], escape[1:]
    if sign == b"&":
        return _entity(escape)
    if sign == b"\\" and digits.isdigit():
        return bytes([int(digits, 8)])
    if digits[:1] in (b"u", b"U"):
        return _letter(digits)
    if sign == b"%":
        return bytes([_number(digits)])
    # What is left is a blank or line break, which is left out anyway.
    return bytes([_number(digits[1:])]) if digits[:1] == b"x" else b""


def _letter(escape: bytes) -> bytes:
    """Return the character of u0041, u{41}, U00000041, or of a pair of surrogates."""
    if escape[1:2] == b"{":
        return _character(_number(escape[2:-1]))
    if escape[:1] == b"u" and len(escape) > len(b"uFFFF"):
        high, low = _number(escape[1:5]), _number(escape[7:11])
        return _character(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return _character(_number(escape[1:]))


def _entity(escape: bytes) -> bytes:
    digits = escape[2:-1]
    if escape[1:2] != b"#":
        return _ENTITIES.get(escape, escape)
    return _character(int(digits[1:], 16) if digits[:1] in b"xX" else int(digits))


def _number(digits: bytes) -> int:
    return int(digits, 16)


def _character(code: int) -> bytes:
    return chr(code).encode("utf-8", "surrogatepass") if code <= sys.maxunicode else b"?"


def nothing(_: bytes) -> bytes:
    """Leave out what was found."""
    return b""
