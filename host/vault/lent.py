"""Lent values and everything they may look like: where they stand in a text, and where one may be about to begin.

Each value is looked for as it is, escaped (percent, JSON, HTML), in base64 of both alphabets at all three alignments,
in hexadecimal, and broken over lines or quoted in any of these. Positions are of bytes. Typical forms of secrets that
nobody lent are for `host.vault.shapes`.
"""

import base64
import re
from collections.abc import Callable
from typing import Final

import msgspec

from host.vault import views

SHORT_BYTES: Final = 6  # below this a value is masked only as a word of its own: its encodings occur by chance
_SMALLEST_CORE: Final = 6  # characters of base64 that are compared at least
_UNFINISHED_DEPTH: Final = 6  # escapes within escapes that may be cut off at once
_LONGEST_ESCAPE: Final = 8  # bytes that one byte of a value may take in a text
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


class Span(msgspec.Struct, frozen=True, order=True):
    """A stretch of bytes to be replaced."""

    start: int
    end: int
    replacement: bytes


class _Form(msgspec.Struct, frozen=True):
    """One appearance in a view; the edges are base64 characters that carry a part of the value."""

    core: bytes
    left_edge: bool = False
    right_edge: bool = False


class LentValue:
    """One value under its replacement."""

    def __init__(self, value: str, replacement: str) -> None:
        """Take the value as it is; `replacement` stands for it from now on."""
        self.plain = value.encode("utf-8", "surrogatepass")
        self.replacement = replacement.encode()
        flat, bare = views.flat(self.plain), views.bare(self.plain)
        self._short = min(len(flat), len(bare)) < SHORT_BYTES
        word = rb"(?<![0-9A-Za-z])" + re.escape(self.plain) + rb"(?![0-9A-Za-z])"
        self._word = re.compile(word)
        encoded = () if self._short else tuple(_base64_forms(self.plain))
        # In the order of `Text.views`.
        self._forms: tuple[tuple[_Form, ...], ...] = ()
        if not self._short:
            self._forms = ((_Form(flat), *encoded), (_Form(bare), *encoded), (_Form(self.plain.hex().encode()),))
        longest = max([len(self.plain), *(len(form.core) for forms in self._forms for form in forms)])
        self.reach = longest * _LONGEST_ESCAPE

    def spans(self, text: "Text") -> list[Span]:
        """Return where the value stands in `text`, in no order; appearances may overlap."""
        if self._short:
            return [Span(match.start(), match.end(), self.replacement) for match in self._word.finditer(text.raw)]
        found: list[Span] = []
        for view, forms in zip(text.views, self._forms, strict=True):
            for form in forms:
                for at in _all(view.data, form.core):
                    found.append(Span(*view.back(*_widened(view.data, form, at)), self.replacement))  # noqa: PERF401
        # What looks like an escape together with the byte before it is missed by the views, never by this.
        found += [Span(at, at + len(self.plain), self.replacement) for at in _all(text.raw, self.plain)]
        return found

    def begins_at(self, text: "Text") -> int:
        """Return the earliest byte from which the end of `text` is a beginning of the value; its length if none is."""
        earliest = len(text.raw) - _overlap(text.raw, self.plain)
        for view, forms in zip(text.views, self._forms, strict=True) if self._forms else ():
            for form in forms:
                # A zero at the end may be the first half of a 0x that stands between two digits.
                for end in {len(view.data), len(view.data) - view.data.endswith(b"0")}:
                    data = view.data[:end]
                    if overlap := _overlap(data, form.core) or _edge_overlap(data, form):
                        start = end - overlap
                        start -= form.left_edge and start > 0 and data[start - 1] in _BASE64
                        earliest = min(earliest, view.back(start, end)[0])
        return earliest


class _View:
    """A view of one text; the way back is made when it is first needed."""

    def __init__(self, data: bytes, trace: Callable[[], views.Traced]) -> None:
        self.data = data
        self._trace = trace
        self._traced: views.Traced | None = None

    def traced(self) -> views.Traced:
        """Return the view with the way back."""
        if self._traced is None:
            self._traced = self._trace()
        return self._traced

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the text behind `start`..`end` of the view."""
        return self.traced().back(start, end)


class Text:
    """A text and its views."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        flat = _View(views.flat(raw), lambda: views.trace_flat(raw))
        bare = _View(views.bare(raw), lambda: views.trace_bare(raw))
        digits = _View(views.hexadecimal(flat.data), lambda: views.trace_hexadecimal(flat.traced()))
        self.views: tuple[_View, ...] = (flat, bare, digits)


def spans_of(values: tuple[LentValue, ...], raw: bytes) -> list[Span]:
    """Return where any of `values` stands in `raw`: in order, without overlaps, the longest from each start."""
    if not values or not raw:
        return []
    text = Text(raw)
    return settled([span for value in values for span in value.spans(text)])


def opens_at(values: tuple[LentValue, ...], raw: bytes) -> int:
    """Return the earliest byte from which the end of `raw` may be the beginning of a value; its length if none is."""
    if not values or not raw:
        return len(raw)
    reach = max(value.reach for value in values)
    offset = max(0, len(raw) - reach)
    window = raw[offset:]
    earliest = ending = len(window)
    for _ in range(_UNFINISHED_DEPTH):
        text = Text(window[:ending])
        earliest = min([earliest, *(value.begins_at(text) for value in values)])
        ending, before = views.finished(window[:ending]), ending
        if ending == before:
            break
        earliest = min(earliest, ending)
    return offset + earliest


def settled(spans: list[Span]) -> list[Span]:
    """Return `spans` in order without overlaps; where some overlap the first and longest grows over the others."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        last = merged[-1] if merged else None
        if last is None or span.start >= last.end:
            merged.append(span)
        elif span.end > last.end:
            merged[-1] = Span(last.start, span.end, last.replacement)
    return merged


def _base64_forms(plain: bytes) -> list[_Form]:
    """The characters that depend on `plain` alone, for each number of bytes that may precede it in a group of three."""
    forms: dict[bytes, _Form] = {}
    for before in range(3):
        whole = base64.b64encode(bytes(before) + plain).rstrip(b"=")
        first = (0, 2, 3)[before]  # characters that the bytes before take part in
        partial = (before + len(plain)) % 3 != 0  # the last character waits for what follows
        core = whole[first : len(whole) - partial]
        if len(core) < _SMALLEST_CORE:
            continue
        for alphabet in (core, core.translate(bytes.maketrans(b"+/", b"-_"))):
            shown = views.flat(alphabet)
            forms.setdefault(shown, _Form(shown, left_edge=before > 0, right_edge=partial))
    return list(forms.values())


def _widened(data: bytes, form: _Form, at: int) -> tuple[int, int]:
    """Return the span of a form with its edges."""
    start, end = at, at + len(form.core)
    if form.left_edge and start > 0 and data[start - 1] in _BASE64:
        start -= 1
    if form.right_edge and end < len(data) and data[end] in _BASE64:
        end += 1
    while form.right_edge and data[end : end + 1] == b"=":
        end += 1
    return start, end


def _all(data: bytes, needle: bytes) -> list[int]:
    found: list[int] = []
    at = data.find(needle)
    while at >= 0:
        found.append(at)
        at = data.find(needle, at + len(needle))
    return found


def _edge_overlap(data: bytes, form: _Form) -> int:
    """Return how many bytes of the end of `data` are the whole core with a part of what may follow it."""
    if not form.right_edge:
        return 0
    bare = data.rstrip(b"=")
    for extra in (0, 1):
        core = bare[: len(bare) - extra]
        if core.endswith(form.core) and all(byte in _BASE64 for byte in bare[len(core) :]):
            return len(data) - len(core) + len(form.core)
    return 0


def _overlap(data: bytes, needle: bytes) -> int:
    """Return how many bytes of the end of `data` are the longest beginning of `needle`, which may be all of it."""
    tail = data[max(0, len(data) - len(needle)) :]
    at = tail.find(needle[:1])
    while at >= 0:
        if needle.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(needle[:1], at + 1)
    return 0
