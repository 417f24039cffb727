"""Masking (MASK-1): lent values become their handles, typical forms of secrets «masked:KIND», all else stays as it is.

One masker serves a group: the broker tells it what was lent, and everything that leaves the gate or enters the journal
passes through it. It is a heuristic that saves people's secrets from ordinary accidents; the boundary against a hostile
program is the sandbox. Positions inside are of UTF-8 bytes. Safe to share between threads.
"""

import bisect
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from host.vault import blocks, hidden, lent, literals, named, shapes
from host.vault.lent import LentValue, Span

MASK: Final = re.compile(r"«masked:([a-z-]{1,32})»")
"""A mask; there is no way back from one, so no tool takes it as an argument."""

_CONTEXT_BYTES: Final = 512  # what was passed on and still decides what the next bytes mean
_LONGEST_HELD_BYTES: Final = 3 * 1024  # a stream holds back no more of an open value than this, …
_LONGEST_BLOCK_BYTES: Final = 16 * 1024  # … of a key block, …
_LONGEST_LENT_BYTES: Final = 64 * 1024  # … of what may be a lent value; more only where the value itself can take more
_SMALLEST: Final = 3  # bytes; nothing shorter is a secret of any form
_SEPARATOR: Final = "\n"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]{1,32}\Z")
"""Names of fields that are never masked: those of events and schemas, which a word that was lent must not break."""


def handle(name: str) -> str:
    """Return the handle by which a model speaks of the secret `name`."""
    return f"«secret:{name}»"


class Masker:
    """Takes secrets out of texts and trees of plain data."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_value: dict[str, LentValue] = {}
        self._values: tuple[LentValue, ...] = ()

    def lend(self, name: str, value: str) -> None:
        """Mask `value` and its encodings as the handle of `name` from now on."""
        self._add(value, handle(name))

    def conceal(self, kind: str, value: str) -> None:
        """Mask `value`, which no tool may be lent, as «masked:KIND» from now on.

        A plain word is left alone: local servers are given `none` or `ollama` for a key, and people say that too.
        """
        if literals.likely(value.encode("utf-8", "surrogatepass")):
            self._add(value, shapes.replacement(kind).decode())

    def _add(self, value: str, replacement: str) -> None:
        if not value or value in self._by_value:
            return
        made = LentValue(value, replacement)
        with self._lock:
            self._by_value[value] = made
            # Longest first: a value that contains another is the one that is named.
            self._values = tuple(sorted(self._by_value.values(), key=lambda each: -len(each.plain)))

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        raw = text.encode("utf-8", "surrogatepass")
        spans = _spans(self._values, raw)
        return text if not spans else _replaced(raw, spans, 0, len(raw)).decode("utf-8", "surrogatepass")

    def tree(self, data: Any) -> Any:  # noqa: ANN401 - plain data: dictionaries, lists, strings, numbers
        """Return plain `data` without secrets in any string or name of a field; what needs no change stays as it is."""
        strings: list[str] = []
        _gather(data, strings)
        raw = _SEPARATOR.join(strings).encode("utf-8", "surrogatepass")
        if not shapes.announced(raw) and not lent.spans_of(self._values, raw):
            return data
        return _mapped(data, self.text)

    def lent_tree(self, data: Any) -> Any:  # noqa: ANN401 - plain data, as in `tree`
        """Return plain `data` without lent values; typical forms stay. Costs nothing while nothing was lent (JRN-4)."""
        if not self._values:
            return data
        strings: list[str] = []
        _gather(data, strings)
        raw = _SEPARATOR.join(strings).encode("utf-8", "surrogatepass")
        return _mapped(data, self._lent_text, fields=False) if lent.spans_of(self._values, raw) else data

    def _lent_text(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        spans = lent.spans_of(self._values, raw) if len(raw) >= _SMALLEST else []
        return text if not spans else _replaced(raw, spans, 0, len(raw)).decode("utf-8", "surrogatepass")

    def stream(self) -> "MaskStream":
        """Return a masker for one text that arrives in pieces."""
        return MaskStream(lambda: self._values)


class MaskStream:
    """Masks a text piece by piece; holds back only what could still become a secret. Belongs to one thread."""

    def __init__(self, values: Callable[[], tuple[LentValue, ...]]) -> None:
        """Take a function that gives the values lent so far."""
        self._values = values
        self._buffer = b""
        self._done = 0  # bytes of the buffer that were passed on and are kept as context
        self._dropping = False  # inside a secret too long to be held

    def feed(self, chunk: str) -> str:
        """Take the next piece; return what is certain by now."""
        self._buffer += self._after_drop(chunk.encode("utf-8", "surrogatepass"))
        values = self._values()
        spans = _spans(values, self._buffer)
        exact = lent.opens_at(values, self._buffer)
        cut = max(self._done, min(exact, shapes.opens_at(self._buffer)))
        # What overlaps becomes one span, so a span waits as a whole for what may still grow into it.
        inside = next((span for span in spans if span.start < cut < span.end), None)
        waits = cut if inside is None else max(self._done, inside.start)
        if len(self._buffer) - waits <= self._longest(values, waits, exact=waits == exact or inside is not None):
            return self._pass_on(spans, waits)
        if inside is not None:
            return self._pass_on(spans, inside.end, context=_LONGEST_BLOCK_BYTES)
        # Longer than any secret of a known form: the open value is masked whole, to the end of its word.
        self._dropping = True
        spans = [*(span for span in spans if span.end <= cut), Span(cut, len(self._buffer), _too_long())]
        return self._pass_on(spans, len(self._buffer))

    def flush(self) -> str:
        """Return what was held back; the text is over."""
        return self._pass_on(_spans(self._values(), self._buffer), len(self._buffer))

    def _longest(self, values: tuple[LentValue, ...], cut: int, *, exact: bool) -> int:
        """Return how much may be held back from `cut`, which may be `exact`, the beginning of a lent value."""
        if exact and values:
            return max(_LONGEST_LENT_BYTES, *(value.reach for value in values))
        return _LONGEST_BLOCK_BYTES if self._buffer.startswith(blocks.WORD, cut) else _LONGEST_HELD_BYTES

    def _pass_on(self, spans: list[Span], cut: int, context: int = _CONTEXT_BYTES) -> str:
        passed = _replaced(self._buffer, spans, self._done, cut)
        keep = self._context(cut - context)
        self._buffer = self._buffer[keep:]
        self._done = cut - keep
        return passed.decode("utf-8", "surrogatepass")

    def _context(self, wanted: int) -> int:
        """Return from where the buffer stays: a line's beginning if one is near, else whole groups of base64."""
        keep = max(0, wanted)
        far = max(0, keep - 2 * _CONTEXT_BYTES)  # a dump's line is looked at over as much
        line = self._buffer.rfind(b"\n", far, keep) + 1
        return line or hidden.aligned(self._buffer, far)

    def _after_drop(self, data: bytes) -> bytes:
        if not self._dropping:
            return data
        for at, byte in enumerate(data):
            if byte in b" \t\r\n\"'":
                self._dropping = False
                return data[at:]
        return b""


def _too_long() -> bytes:
    return shapes.replacement(shapes.TOKEN)


def _spans(values: tuple[LentValue, ...], raw: bytes) -> list[Span]:
    """Return what to replace in `raw`, in order. A handle beats a mask, unless a key block is more than the handle."""
    if len(raw) < _SMALLEST:
        return []
    exact = lent.spans_of(values, raw)
    typical = shapes.spans_of(raw)
    if not exact or not typical:
        return exact or typical
    blocks = [span for span in typical if span.replacement == shapes.replacement(shapes.PRIVATE_KEY)]
    kept = _apart(exact, blocks)
    return lent.settled([*kept, *_apart(typical, kept)])


def _apart(spans: list[Span], others: list[Span]) -> list[Span]:
    """Return those of `spans` that touch none of `others`; both are in order and without overlaps."""
    starts = [other.start for other in others]
    kept: list[Span] = []
    for span in spans:
        after = bisect.bisect_left(starts, span.end)  # the first that begins behind the span
        if after == 0 or others[after - 1].end <= span.start:
            kept.append(span)
    return kept


def _replaced(raw: bytes, spans: list[Span], start: int, end: int) -> bytes:
    """Return `raw` from `start` to `end` with the spans that end there replaced."""
    parts: list[bytes] = []
    at = start
    for span in spans:
        if span.end <= at or span.end > end:
            continue
        parts += [raw[at : max(at, span.start)], span.replacement]
        at = span.end
    parts.append(raw[at:end])
    return b"".join(parts)


def _gather(data: Any, strings: list[str]) -> None:  # noqa: ANN401 - plain data
    match data:
        case str():
            strings.append(data)
        case dict():
            fields = cast("dict[object, object]", data)
            for name, value in fields.items():
                if isinstance(value, str) and isinstance(name, str) and named.is_secret_name(name):
                    strings.append(f'{name}="{value}"')
                elif isinstance(name, str) and not _PLAIN_NAME.match(name):
                    strings.append(name)
                _gather(value, strings)
        case list() | tuple():
            items = cast("Sequence[object]", data)
            for item in items:
                _gather(item, strings)
        case _:
            pass


def _named(name: str, mask: Callable[[str], str], new: dict[object, object]) -> str:
    """Return a field's name masked, as one that is not there yet: two may be masked alike, and both are kept."""
    if _PLAIN_NAME.match(name):
        return name
    name = mask(name)
    while name in new:
        name += "'"
    return name


def _mapped(data: Any, mask: Callable[[str], str], field: str = "", *, fields: bool = True) -> Any:  # noqa: ANN401 - plain data
    """Return `data` with `mask` over every string; with `fields` also what the name of a field shows to be secret."""
    match data:
        case str():
            masked = mask(data)
            if masked is data and field and named.is_secret_field(field, data):
                return shapes.replacement(shapes.NAMED).decode()
            return masked
        case dict():
            new: dict[object, object] = {}
            for name, value in cast("dict[object, object]", data).items():
                kept = _named(name, mask, new) if isinstance(name, str) else name
                new[kept] = _mapped(value, mask, name if fields and isinstance(name, str) else "", fields=fields)
            return new
        case list() | tuple():
            items = cast("Sequence[object]", data)
            return [_mapped(item, mask, field, fields=fields) for item in items]
        case _:
            return data
