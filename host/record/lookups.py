"""What a unit of work looks up before it decides: reads of the projections inside the unit's own transaction.

They see what the unit itself has appended, and between a look and an append nobody else writes. Above it are gate,
turn and groups; reads of what is committed, from any thread, are methods of the record.
"""

from typing import Any, Final, TypeVar

import msgspec

from host.record.rows import CallRow, MessageRow, QuestionRow, TurnRow, row_from
from host.record.statements import query
from memory.journal import Transaction

R = TypeVar("R", bound=msgspec.Struct)

_MESSAGE_BY_KEY: Final = query("messages", "by_key")
_TURN: Final = query("turns", "by_id")
_CALLS_OF_TURN: Final = query("calls", "of_turn")
_QUESTION: Final = query("questions", "by_id")
_WAITING_OF_TURN: Final = query("questions", "waiting_of_turn")


def message_by_key(tx: Transaction, key: str) -> MessageRow | None:
    """Return the message that was sent under an idempotency key."""
    return _one(MessageRow, tx.execute(_MESSAGE_BY_KEY, (key,)).fetchone())


def turn(tx: Transaction, turn: str) -> TurnRow | None:
    """Return one turn."""
    return _one(TurnRow, tx.execute(_TURN, (turn,)).fetchone())


def calls_of(tx: Transaction, turn: str) -> list[CallRow]:
    """Return a turn's calls in the order they were asked for."""
    return [row_from(CallRow, values) for values in tx.execute(_CALLS_OF_TURN, (turn,)).fetchall()]


def question(tx: Transaction, approval: str) -> QuestionRow | None:
    """Return one question."""
    return _one(QuestionRow, tx.execute(_QUESTION, (approval,)).fetchone())


def waiting_approvals_of(tx: Transaction, turn: str) -> list[str]:
    """Return the ids of a turn's questions without an answer, oldest first."""
    return [str(approval) for (approval,) in tx.execute(_WAITING_OF_TURN, (turn,)).fetchall()]


def _one(row: type[R], values: tuple[Any, ...] | None) -> R | None:
    return None if values is None else row_from(row, values)
