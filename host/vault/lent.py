"""Lent values and everything they may look like: where they stand in a text, and where one may be about to begin.

Each value is looked for as it is, escaped (percent, JSON, HTML), in base64 and base32 at all alignments, in
hexadecimal, broken over lines or quoted in any of these (`host.vault.appearances`), and inside what base64 hides.
Positions are of bytes. Typical forms of secrets that nobody lent are for `host.vault.shapes`.
"""

import bisect
import itertools
import re
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from host.vault import dumps, hidden, rare, views
from host.vault.appearances import BARE, FLAT, HEX, ONCE, Form, forms_of
from host.vault.torn import Parts

SHORT_BYTES: Final = 6  # below this a value is masked only as a word of its own: its encodings occur by chance
_UNFINISHED_DEPTH: Final = 6  # escapes within escapes that may be cut off at once
_LONGEST_ESCAPE: Final = 12  # bytes that one byte of a value may take in a text
_OF_ESCAPES: Final = b"%\\&=0123456789abcdefABCDEF"  # also those of numbers, and of the places of a dump
_APART: Final = b"\n\x1e\n"
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


class Span(msgspec.Struct, frozen=True, order=True):
    """A stretch of bytes to be replaced."""

    start: int
    end: int
    replacement: bytes


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
        self._parts = Parts(self.plain)
        self._forms: dict[str, tuple[Form, ...]] = {} if self._short else forms_of(self.plain)
        longest = max([len(self.plain), *(len(form.core) for form in self._forms.get(FLAT, ()))])
        self.reach = longest * _LONGEST_ESCAPE
        self.dumped = 0 if self._short else max(len(form.core) for form in self._forms["hexadecimal"])
        """Bytes that the longest form of the value takes in a dump; 0 if it is not looked for there."""
        cores = [form.core[:1] for forms in self._forms.values() for form in forms]
        self.firsts = frozenset(b"".join([*cores, *(core.upper() for core in cores), _OF_ESCAPES]))
        """Every byte with which an appearance may begin, escaped or not."""

    def spans(self, text: "Text") -> list[Span]:
        """Return where the value stands in `text`, in no order; appearances may overlap."""
        if self._short:
            return [Span(match.start(), match.end(), self.replacement) for match in self._word.finditer(text.raw)]
        found: list[Span] = []
        for name, view in text.views.items():
            for form in self._forms[name]:
                places = [view.back(*_widened(view.data, form, at)) for at in _all(view.data, form.core)]
                found += [Span(start, end, self.replacement) for start, end in places]
        # What looks like an escape together with the byte before it is missed by the views, never by this.
        found += [Span(at, at + len(self.plain), self.replacement) for at in _all(text.raw, self.plain)]
        return found

    def torn(self, raw: bytes) -> list[Span]:
        """Return where a part of the value stands in `raw`, as a cut leaves it, in no order."""
        return [Span(start, end, self.replacement) for start, end in self._parts.spans(raw)]

    def begins_at(self, text: "Text") -> int:
        """Return the earliest byte from which the end of `text` is a beginning of the value; its length if none is."""
        earliest = len(text.raw) - _overlap(text.raw, self.plain)
        for name, view in text.views.items() if self._forms else ():
            for form in self._forms[name]:
                # A zero at the end may be the first half of a 0x that stands between two digits.
                for end in {len(view.data), len(view.data) - view.data.endswith(b"0")}:
                    data = view.data[:end]
                    if overlap := _overlap(data, form.core) or _edge_overlap(data, form):
                        start = end - overlap
                        start -= form.left_edge and start > 0 and data[start - 1] in _BASE64
                        earliest = min(earliest, view.back(start, end)[0])
        return earliest


class View(Protocol):
    """What of a text is looked at."""

    @property
    def data(self) -> bytes:
        """The view itself."""
        ...

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the text behind `start`..`end` of the view."""
        ...


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

    def __init__(self, raw: bytes, *, part: bool = False) -> None:
        """Take the text; a `part` of one may be cut off anywhere."""
        self.raw = raw
        undone, once = views.flat_and_once(raw)
        flat = _View(undone, lambda: views.trace_flat(raw))
        bare = _View(views.bare(raw), lambda: views.trace_bare(raw))
        digits = _View(views.hexadecimal(flat.data), lambda: views.trace_hexadecimal(flat.traced()))
        self.views: dict[str, View] = {FLAT: flat, BARE: bare, HEX: digits}
        if once is not None:
            self.views[ONCE] = _View(once, lambda: views.trace_once(raw))
        for view in rare.views(raw, part=part):
            self.views[view.name] = _View(view.data, view.trace)
        if not part:  # `dumps.opens_at` says where a part of one begins
            self.views.update(dumps.views(raw))


def spans_of(values: tuple[LentValue, ...], raw: bytes) -> list[Span]:
    """Return where any of `values` stands in `raw`: in order, without overlaps, the longest from each start."""
    if not values or not raw:
        return []
    text = Text(raw)
    found = [span for value in values for span in value.spans(text)]
    torn = [span for value in values for span in value.torn(raw)]  # last: the whole of another value beats a part
    return settled([*found, *_inside_base64(values, raw), *torn])


def opens_at(values: tuple[LentValue, ...], raw: bytes) -> int:
    """Return the earliest byte from which the end of `raw` may be the beginning of a value; its length if none is."""
    if not values or not raw:
        return len(raw)
    reach = max(value.reach for value in values)
    return min(_text_opens_at(values, raw, reach), _hidden_opens_at(values, raw, reach))


def _text_opens_at(values: tuple[LentValue, ...], raw: bytes, reach: int) -> int:
    """Return the same, with nothing behind base64."""
    offset = max(0, len(raw) - reach)
    window = raw[offset:]
    earliest = ending = len(window)
    for _ in range(_UNFINISHED_DEPTH):
        text = Text(window[:ending], part=True)
        beginnings = [value.begins_at(text) for value in values]
        earliest = min([earliest, *(at for at in beginnings if at < len(text.raw))])
        escape, (mark, waits) = views.finished(window[:ending]), rare.finished(window[:ending])
        ending, before = min(escape, mark), ending
        if ending == before:
            break
        if escape < before or waits:
            earliest = min(earliest, ending)
    longest = max((value.dumped for value in values), default=0)
    return min(offset + earliest, dumps.opens_at(raw, longest) if longest else len(raw))


def _inside_base64(values: tuple[LentValue, ...], raw: bytes) -> list[Span]:
    """Return the groups of base64 whose text holds a value that was escaped before: JSON, percent, base64 again."""
    stretches = list(hidden.stretches(raw))
    if not stretches:
        return []
    text = Text(_APART.join(each.text for each in stretches))
    begins = list(itertools.accumulate((len(each.text) + len(_APART) for each in stretches[:-1]), initial=0))
    found: list[Span] = []
    for span in (span for value in values for span in value.spans(text)):
        at = bisect.bisect_right(begins, span.start) - 1
        stretch, begin = stretches[at], begins[at]
        end = min(span.end - begin, len(stretch.text))  # a value has no separator in it
        found.append(Span(*stretch.back(span.start - begin, end), span.replacement))
    return found


def _hidden_opens_at(values: tuple[LentValue, ...], raw: bytes, reach: int) -> int:
    """Return the earliest byte from which base64 at the end of `raw` may hide the beginning of a value."""
    tail = hidden.tail(raw, reach)
    if tail is None:
        return len(raw)
    earliest = len(raw)
    if tail.text and (at := _text_opens_at(values, tail.text, reach)) < len(tail.text):
        earliest = tail.back(at)
    if any(tail.may_begin(first) for value in values for first in value.firsts):
        earliest = min(earliest, tail.waits)
    return earliest


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


def _widened(data: bytes, form: Form, at: int) -> tuple[int, int]:
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


def _edge_overlap(data: bytes, form: Form) -> int:
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
