"""The unit of work: one atomic piece of a group commit.

The writer makes one per unit and runs the caller's function with it, inside a savepoint; here events join the chain,
bodies are stored and the transaction is lent. It knows nothing of batches, threads or locks.
"""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic

from memory import bodies, chain
from memory.entries import Codec, E, Encoded, Stored, Transaction
from memory.errors import UnitMisused
from memory.statements import query

_APPEND: Final = query("journal", "append")
_HAS_BODY: Final = query("journal", "has_body")
_ADD_BODY: Final = query("journal", "add_body")

Project = Callable[[Transaction, Stored[E]], None]
"""Writes what follows from an event into tables of its own, in the event's own savepoint."""

_ENDING: Final = frozenset(
    ("BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA", "ATTACH", "DETACH", "VACUUM"),
)


class Pen(Generic[E]):
    """What the writer holds while a batch is written: the connection and the end of the chain."""

    def __init__(self, codec: Codec[E], now_us: Callable[[], int], project: Project[E] | None) -> None:
        self.codec = codec
        self.now_us = now_us
        self.project = project
        self.seq = 0
        self.hash = chain.GENESIS

    def write(self, connection: sqlite3.Connection, lent: Transaction, encoded: Encoded) -> int:
        """Add one event to the chain, then to the projections; return its number.

        Projections are shown what was stored, not what was given: so a rebuild makes the same, and what the codec
        masked reaches no table.
        """
        seq, at_us = self.seq + 1, self.now_us()
        digest = chain.link(self.hash, seq, at_us, encoded.turn, encoded.kind, encoded.body)
        connection.execute(_APPEND, (seq, at_us, encoded.turn, encoded.kind, encoded.body, digest))
        self.seq, self.hash = seq, digest
        if self.project is not None:
            event = self.codec.decode(encoded.kind, encoded.body)
            self.project(lent, Stored(seq, at_us, encoded.turn, encoded.kind, event))
        return seq


class Unit(Generic[E]):
    """One atomic piece of work. It is used by its own function only, while that runs on the writer thread."""

    def __init__(self, connection: sqlite3.Connection, pen: Pen[E]) -> None:
        self._connection: sqlite3.Connection | None = connection
        self._pen = pen
        self.transaction: Transaction = _Lent(self)

    def append(self, *events: E) -> tuple[int, ...]:
        """Add events to the journal; return their numbers. They are durable when the unit's future resolves."""
        return self.append_ready([self._pen.codec.encode(event) for event in events])

    def append_ready(self, events: Sequence[Encoded]) -> tuple[int, ...]:
        """Add events that were encoded before; return their numbers."""
        connection = self.connection
        return tuple([self._pen.write(connection, self.transaction, encoded) for encoded in events])

    def body(self, data: bytes | bodies.Packed) -> str:
        """Store a body once; return the hash, in hexadecimal, under which it is found again.

        A large one is better made ready by `memory.bodies.pack` before the unit: other units wait meanwhile.
        """
        digest = data.hash if isinstance(data, bodies.Packed) else bodies.address(data)
        if self.connection.execute(_HAS_BODY, (digest,)).fetchone() is None:
            packed = data.packed if isinstance(data, bodies.Packed) else bodies.compress(data)
            self.connection.execute(_ADD_BODY, (digest, packed))
        return digest.hex()

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection while the unit runs; raise UnitMisused after."""
        if self._connection is None:
            message = "a unit of work was used after its function returned; do all of its work inside the function"
            raise UnitMisused(message)
        return self._connection

    def end(self) -> None:
        """Take the connection back; the unit is of no more use."""
        self._connection = None


class _Lent:
    """A transaction that runs statements and does nothing else."""

    __slots__ = ("_unit",)

    def __init__(self, unit: Unit[Any]) -> None:
        self._unit = unit

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> sqlite3.Cursor:
        word = sql.split(None, 1)[0].rstrip(";").upper() if sql else ""
        if word in _ENDING:
            message = f"{word} inside a unit of work: the journal alone begins and ends transactions"
            raise UnitMisused(message)
        return self._unit.connection.execute(sql, parameters)
