"""What passes between a message, its row, its events and what its sender is told; no state and no decisions."""

from collections.abc import Callable

import msgspec

from host.errors import KeyTaken
from host.groups.port import Placement, Say
from host.record import lookups
from host.record.events import GroupEvent, MessageReceived
from host.record.rows import MessageRow, TurnRow
from host.stops import Reason
from host.turn.beginning import end_unbegun
from host.turn.ending import Verdict
from lanes.chat import Kept, Placed
from lanes.events import MessageDropped
from lanes.mailbox import Priority
from memory.journal import Unit


class AlreadySaid(Exception):
    """A message with this key was accepted a moment before; it is not taken twice (REC-6)."""


class TurnOver(Exception):
    """The turn has its final event; it is not taken up again."""


def placing(*events: GroupEvent, turn: str = "") -> Callable[[Unit[GroupEvent]], tuple[int, ...]]:
    """Return the unit that makes a placement durable.

    It raises AlreadySaid for a key that was taken meanwhile, and TurnOver when `turn`, with which the message is to go
    on, was ended meanwhile.
    """

    def unit(unit: Unit[GroupEvent]) -> tuple[int, ...]:
        begun = lookups.turn(unit.transaction, turn) if turn else None
        if begun is not None and begun.state == "ended":
            raise TurnOver(turn)
        for event in events:
            if isinstance(event, MessageReceived) and lookups.message_by_key(unit.transaction, event.key) is not None:
                raise AlreadySaid(event.key)
        return unit.append(*events)

    return unit


def dropping(row: MessageRow, turn: str, lane: str, why: str) -> Callable[[Unit[GroupEvent]], tuple[int, ...]]:
    """Return the unit by which a message will never run; `turn`, if it began or was promised one, ends with it."""
    end = end_unbegun(row, turn, lane, Verdict(reason=Reason.INTERRUPTED, detail=why)) if turn else None

    def unit(unit: Unit[GroupEvent]) -> tuple[int, ...]:
        dropped = unit.append(MessageDropped(turn=turn, message=row.id, why=why))
        return dropped if end is None else (*dropped, end(unit)[0])

    return unit


def received_of(message: str, say: Say) -> MessageReceived:
    """Return the event of a message that was said."""
    return MessageReceived(
        message=message,
        key=say.key,
        text=say.text,
        priority=say.priority,
        principal=say.principal,
        unattended=say.unattended,
    )


def row_of(message: str, say: Say, now_us: int) -> MessageRow:
    """Return a message as it stands when it has just been said."""
    return MessageRow(
        id=message,
        key=say.key,
        seq=0,
        at_us=now_us,
        text=say.text,
        priority=say.priority,
        principal=say.principal,
        unattended=say.unattended,
        state="received",
        turn="",
    )


def found_again(row: MessageRow, begun: TurnRow | None) -> MessageRow:
    """Return a message as it stands after a restart; `begun` is the unfinished turn that it began, if there is one.

    It belongs to the turn that it began and to no other: one that was to enter a turn and did not is free again.
    """
    if row.state == "running":
        return row
    return msgspec.structs.replace(row, turn="" if begun is None else begun.turn)


def priority_of(row: MessageRow) -> Priority:
    """Return how urgent a message is now: once its turn has begun it waits, to go on as that turn and in no other."""
    return Priority.LATER if row.turn else Priority(row.priority)


def kept_of(row: MessageRow, *, held: bool) -> Kept:
    """Return a message that was accepted before as the queue takes it back."""
    return Kept(message=row.id, priority=priority_of(row), at_us=row.at_us, held=held, unattended=row.unattended)


def placement_of(placed: Placed, turn: str, after_seq: int) -> Placement:
    """Return what the sender is told; `after_seq` is the journal's last sequence before the message."""
    return Placement(
        message=placed.message,
        turn=turn,
        disposition=placed.disposition.value,
        position=placed.position,
        after_seq=after_seq,
    )


def placement_again(row: MessageRow, say: Say) -> Placement:
    """Return what became of a message that is sent again; raise KeyTaken if it is not the same one (REC-6)."""
    before = (row.text, row.priority, row.principal, row.unattended)
    if before != (say.text, say.priority, say.principal, say.unattended):
        raise KeyTaken(f"the idempotency key {say.key!r} was used for another message; send this one under a fresh key")
    same = {"queued", "held", "steered", "stopped", "dropped"}
    disposition = row.state if row.state in same else "steered" if row.state == "entered" else "started"
    return Placement(message=row.id, turn=row.turn, disposition=disposition, position=0, after_seq=row.seq - 1)
