"""The words in which a journal speaks: what stands in it, what is asked of a codec, what a reader gets back.

Above it everything in `memory/`; below it nothing. It knows no particular event: the union and its encoding are the
caller's.
"""

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

E = TypeVar("E")


class Transaction(Protocol):
    """The transaction of a group commit, lent to whoever must be atomic with an event."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Any:  # noqa: ANN401 - a DB-API cursor
        """Run one statement; neither it nor anything else may end the transaction."""
        ...


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored."""

    kind: str
    """The tag of the union."""
    turn: str
    """The turn it belongs to; empty outside turns."""
    body: bytes
    """The encoded event; `decode(kind, body)` gives it back."""


class Codec(Protocol[E]):
    """How events become bytes and back. Called from any thread; what it masks never reaches the file."""

    def encode(self, event: E, /) -> Encoded:
        """Return the event as it is to be stored."""
        ...

    def decode(self, kind: str, body: bytes, /) -> E:
        """Return the event that `encode` stored."""
        ...

    def text(self, event: E, /) -> str:
        """Return what search sees of the event; empty for nothing."""
        ...


class Stored(msgspec.Struct, Generic[E], frozen=True):
    """An event with its place in the journal."""

    seq: int
    """Its number, from 1, without gaps."""
    at_us: int
    """When it was written: microseconds since 1970, UTC."""
    turn: str
    kind: str
    event: E


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification found."""

    ok: bool
    events: int
    """How many rows fitted, from the first one on."""
    first_bad_seq: int | None = None
    """The first row that does not fit; None where all do, or where what is wrong is not a row."""
    detail: str = ""
    """What is wrong, in a sentence; empty when nothing is."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a search found."""

    seq: int
    at_us: int
    turn: str
    kind: str
    snippet: str
    """The words around the first match, on one line."""
