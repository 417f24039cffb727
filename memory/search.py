"""Search over everything said and done (JRN-3): what a query means, and the best of what matches it.

The index answers for the events up to its watermark, the few after it are read and compared here by the same rules.
Below it analyser and index; above it the journal's reader. It knows no syntax: a query is plain text.

A term, a stretch without blanks, matches as words (its tokens side by side) or as a part of the text (its characters,
three at least). Events that match both ways come first.
"""

import contextlib
import math
import re
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from typing import Any, Final

import msgspec

from memory import analyser
from memory.entries import Codec, Hit
from memory.errors import BadQuery, SearchError
from memory.statements import query

_HAS_MARK: Final = query("search", "has_mark")
_MARK: Final = query("search", "mark")
_RANKED_WORDS: Final = query("search", "ranked_words")
_NEWEST_WORDS: Final = query("search", "newest_words")
_NEWEST_PARTS: Final = query("search", "newest_parts")
_UNINDEXED: Final = query("search", "unindexed")
_SOME: Final = query("search", "some")
_HASH_AT: Final = query("journal", "hash_at")

_RANKED: Final = 2_000  # the newest matches that are ranked; ranking all of a common word's takes half a second
_PART_CHARS: Final = 3  # the index of parts holds pieces of three characters
_QUERY_CHARS: Final = 1_000
_LARGEST: Final = 2**63 - 1
_SNIPPET_BEFORE: Final = 60
_SNIPPET_AFTER: Final = 180
_PLACE_CHARS: Final = 100_000  # further in, a snippet shows the beginning
_BLANKS: Final = re.compile(r"\s+")
_STRETCH: Final = re.compile(r"\S+")


class Term(msgspec.Struct, frozen=True):
    """A stretch of the query without blanks."""

    literal: str
    """Its characters, folded; empty where they are too few for the index of parts."""
    words: str
    """Its tokens, joined by blanks; empty where it has none."""

    @classmethod
    def read(cls, text: str) -> "Term":
        """Read a folded stretch of text."""
        return cls(text if len(text) >= _PART_CHARS else "", " ".join(analyser.phrase(text)))


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for."""

    terms: tuple[Term, ...]
    limit: int
    newest_first: bool
    before: int
    literal_first: bool
    """Whether the signs in it say more than its words, as in a path: then parts are better than words alone."""

    @classmethod
    def read(cls, text: str, *, limit: int, newest_first: bool, before: int | None) -> "Query":
        """Read a plain text; raise BadQuery where there is nothing in it to look for."""
        if len(text) > _QUERY_CHARS:
            message = f"the search text has {len(text)} characters; give at most {_QUERY_CHARS}"
            raise BadQuery(message)
        stretches = analyser.fold(text).split()
        terms = tuple(term for term in map(Term.read, stretches) if term.literal or term.words)
        if not terms:
            message = f"nothing to look for in {text!r}; give a word, a letter, or three characters in a row"
            raise BadQuery(message)
        literal_first = any(not stretch.isalnum() for stretch in stretches)
        bound = _LARGEST if before is None else before
        return cls(terms=terms, limit=limit, newest_first=newest_first, before=bound, literal_first=literal_first)

    def tier(self, folded: str) -> int | None:
        """Return how well a folded text matches, None if not at all; less is better, see `_Tiers`."""
        spaced = f" {' '.join(analyser.tokens(folded))} "
        by_words = [bool(term.words) and f" {term.words} " in spaced for term in self.terms]
        by_parts = [bool(term.literal) and term.literal in folded for term in self.terms]
        if not all(map(bool.__or__, by_words, by_parts)):
            return None
        return self.tier_of(words=all(by_words), parts=all(by_parts))

    def tier_of(self, *, words: bool, parts: bool) -> int:
        """Return the rank of a match: both ways, the better way, the other way, each term in its own way."""
        if words and parts:
            return 0
        if not words and not parts:
            return 3
        return 1 if parts == self.literal_first else 2

    @property
    def words(self) -> str:
        """The expression that asks the index for all terms as words; empty where a term has none."""
        return _all(term.words for term in self.terms)

    @property
    def parts(self) -> str:
        """The expression that asks the index for all terms as parts; empty where one is too short."""
        return _all(term.literal for term in self.terms)


Place = tuple[int, float, int]
"""Where an event stands among the hits: tier, score, and the newer the less; less is better."""


def search(journal: sqlite3.Connection, index: sqlite3.Connection | None, codec: Codec[Any], asked: Query) -> list[Hit]:
    """Return the best events for a query; raise SearchError, or sqlite3.Error for what the files do."""
    places: dict[int, Place] = {}
    mark = 0
    if index is not None:
        with _snapshot(index):
            mark = _watermark(journal, index)
            if mark:
                places = _Indexed(journal, index, codec, asked).places()
    for seq, text in _texts(journal.execute(_UNINDEXED, (mark, asked.before, -1)), codec):
        tier = asked.tier(analyser.fold(text))
        if tier is not None:
            places[seq] = (tier, -math.inf, -seq)  # no score: the newest, and few
    ordered = sorted(places, reverse=True) if asked.newest_first else sorted(places, key=places.__getitem__)
    return _hits(journal, codec, asked, ordered[: asked.limit])


class _Indexed:
    """The answer of the index to one query."""

    def __init__(self, journal: sqlite3.Connection, index: sqlite3.Connection, codec: Codec[Any], asked: Query) -> None:
        self._journal = journal
        self._index = index
        self._codec = codec
        self._asked = asked

    def places(self) -> dict[int, Place]:
        """Return the matches of all terms as words, or all as parts; where these are few, of each in its own way."""
        asked = self._asked
        window = asked.limit if asked.newest_first else _RANKED
        scores = self._words(asked.words, window)
        parts = set(self._newest(_NEWEST_PARTS, asked.parts, window))
        found: dict[int, Place] = {}
        for seq in scores.keys() | parts:
            tier = asked.tier_of(words=seq in scores, parts=seq in parts)
            found[seq] = (tier, scores.get(seq, 0.0), -seq)
        if len(found) < asked.limit and len(asked.terms) > 1:
            found |= self._mixed(found)
        return found

    def _words(self, expression: str, window: int) -> dict[int, float]:
        if self._asked.newest_first:
            return dict.fromkeys(self._newest(_NEWEST_WORDS, expression, window), 0.0)
        rows = self._index.execute(_RANKED_WORDS, (expression, self._asked.before, window)) if expression else ()
        return dict(rows)

    def _newest(self, sql: str, expression: str, window: int) -> list[int]:
        rows = self._index.execute(sql, (expression, self._asked.before, window)) if expression else ()
        return [seq for (seq,) in rows]

    def _mixed(self, known: dict[int, Place]) -> dict[int, Place]:
        """Look where one term is a word and another a part: among the newest matches of the rarest term."""
        rarest: set[int] | None = None
        for term in self._asked.terms:
            by_words = self._newest(_NEWEST_WORDS, _all([term.words]), _RANKED)
            by_parts = self._newest(_NEWEST_PARTS, _all([term.literal]), _RANKED)
            matches = {*by_words, *by_parts}
            rarest = matches if rarest is None or len(matches) < len(rarest) else rarest
        found: dict[int, Place] = {}
        rows = _some(self._journal, (rarest or set()) - known.keys())
        for seq, text in _texts(rows, self._codec):
            tier = self._asked.tier(analyser.fold(text))
            if tier is not None:
                found[seq] = (tier, 0.0, -seq)
        return found


def _all(pieces: Iterable[str]) -> str:
    """Return the index's expression for all pieces, each one quoted: nothing in them is syntax."""
    quoted = ['"' + piece.replace('"', '""') + '"' if piece else "" for piece in pieces]
    return " AND ".join(quoted) if all(quoted) else ""


@contextlib.contextmanager
def _snapshot(index: sqlite3.Connection) -> Generator[None]:
    """Read watermark and matches at one moment, so that an event is neither missed nor found twice."""
    index.execute("BEGIN")
    try:
        yield
    finally:
        index.execute("ROLLBACK")


def _watermark(journal: sqlite3.Connection, index: sqlite3.Connection) -> int:
    """Return up to which event the index reaches; 0 where it belongs to another journal or analyser."""
    if not index.execute(_HAS_MARK).fetchone()[0]:
        return 0
    version, seq, digest = index.execute(_MARK).fetchone()
    if version != analyser.VERSION or journal.execute(_HASH_AT, (seq,)).fetchone() != (digest,):
        return 0
    return int(seq)


def _some(journal: sqlite3.Connection, wanted: Iterable[int]) -> sqlite3.Cursor:
    return journal.execute(_SOME, (msgspec.json.encode(list(wanted)).decode(),))


def _text(codec: Codec[Any], seq: int, kind: str, body: bytes) -> str:
    try:
        return codec.text(codec.decode(kind, body))
    except Exception as error:
        message = f"event {seq} of kind {kind!r} cannot be decoded ({error}); verify the journal"
        raise SearchError(message) from error


def _texts(rows: Iterable[tuple[Any, ...]], codec: Codec[Any]) -> Iterator[tuple[int, str]]:
    for seq, _, _, kind, body, *_ in rows:
        if text := _text(codec, seq, kind, body):
            yield seq, text


def _hits(journal: sqlite3.Connection, codec: Codec[Any], asked: Query, best: list[int]) -> list[Hit]:
    found: dict[int, Hit] = {}
    for seq, at_us, turn, kind, body in _some(journal, best):
        snippet = snippet_of(_text(codec, seq, kind, body), asked)
        found[seq] = Hit(seq=seq, at_us=at_us, turn=turn, kind=kind, snippet=snippet)
    return [found[seq] for seq in best]


def snippet_of(text: str, asked: Query) -> str:
    """Return the words around the first match of `text` on one line, with an ellipsis where it was cut."""
    at = min((place for term in asked.terms if (place := _place(text, term)) is not None), default=0)
    start, end = max(at - _SNIPPET_BEFORE, 0), at + _SNIPPET_AFTER
    cut = _BLANKS.sub(" ", text[start:end]).strip()
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"


def _place(text: str, term: Term) -> int | None:
    """Return where a term first stands in a text as it was written, whose folded form may be longer or shorter."""
    if term.literal and (found := text.lower().find(term.literal)) >= 0:
        return found
    first = term.words.split(" ", 1)[0]
    for stretch in _STRETCH.finditer(text, 0, _PLACE_CHARS):
        if first and first in analyser.tokens(analyser.fold(stretch.group())):
            return stretch.start() + max(stretch.group().find(first), 0)
    return None
