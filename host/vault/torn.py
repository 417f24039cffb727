"""A lent value of which only a part stands in a text: cut off at an edge, or one line of several (MASK-1).

Whoever shortens a text (a page of a file, the last words of a program, a title) mostly does not know what was lent, and
what a cut leaves of a value must not be shown either. Pure; the whole of a value is for `host.vault.lent`.
"""

from typing import Final

from host.vault import literals

LEAST_BYTES: Final = 8
"""Of a part that is masked: less is a word that many values begin with, and tells nothing of this one."""

_LEAST_LINE_BYTES: Final = 12
_CUTS: Final = ("…".encode(), b"...")  # what stands where something was left out
_BREAKS: Final = (b"\n", b"\r")


class Parts:
    """The parts of one value that are looked for."""

    def __init__(self, plain: bytes) -> None:
        """Take the value as it is."""
        self._plain = plain
        half = max(LEAST_BYTES, len(plain) // 2)
        # Half of a value is its own wherever it stands, unless it is words; less only where the text was cut.
        self._beginning = half if literals.opaque(plain[:half]) else len(plain)
        self._end = half if literals.opaque(plain[-half:]) else len(plain)
        lines = plain.splitlines()
        self._lines = tuple(
            line for line in lines if len(lines) > 1 and len(line) >= _LEAST_LINE_BYTES and literals.opaque(line)
        )

    def spans(self, raw: bytes) -> list[tuple[int, int]]:
        """Return where a part of the value stands in `raw`, in no order; the whole is none."""
        if len(self._plain) <= LEAST_BYTES:
            return []
        return [*self._beginnings(raw), *self._ends(raw), *self._whole_lines(raw)]

    def _beginnings(self, raw: bytes) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        at = raw.find(self._plain[:LEAST_BYTES])
        while at >= 0:
            end = at + _common(raw[at : at + len(self._plain)], self._plain)
            if end - at >= self._beginning or raw.startswith(_CUTS, end) or _is_line(raw, at, end):
                found.append((at, end))
            at = raw.find(self._plain[:LEAST_BYTES], end)
        return found

    def _ends(self, raw: bytes) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        backwards = self._plain[::-1]
        end = raw.rfind(self._plain[-LEAST_BYTES:])
        while end >= 0:
            end += LEAST_BYTES
            start = end - _common(raw[max(0, end - len(self._plain)) : end][::-1], backwards)
            if end - start >= self._end or raw.endswith(_CUTS, 0, start) or _is_line(raw, start, end):
                found.append((start, end))
            end = raw.rfind(self._plain[-LEAST_BYTES:], 0, start)
        return found

    def _whole_lines(self, raw: bytes) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for line in self._lines:
            at = raw.find(line)
            while at >= 0:
                found.append((at, at + len(line)))
                at = raw.find(line, at + len(line))
        return found


def _is_line(raw: bytes, start: int, end: int) -> bool:
    """Say whether a part begins or ends a line, as programs cut columns; words stand there by chance."""
    at_edge = start == 0 or end == len(raw) or raw[start - 1 : start] in _BREAKS or raw[end : end + 1] in _BREAKS
    return at_edge and literals.opaque(raw[start:end])


def _common(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
