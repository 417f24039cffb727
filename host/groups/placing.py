"""What passes between a message, its row, its events and what its sender is told; no state and no decisions."""

from collections.abc import Callable

from host.groups.port import Placement, Say
from host.record import lookups
from host.record.events import GroupEvent, MessageReceived
from host.record.rows import MessageRow
from lanes.chat import Kept, Placed
from lanes.mailbox import Priority
from memory.journal import Unit


class AlreadySaid(Exception):
    """A message with this key was accepted a moment before; it is not taken twice (REC-6)."""


def placing(*events: GroupEvent) -> Callable[[Unit[GroupEvent]], tuple[int, ...]]:
    """Return the unit that makes a placement durable; it raises AlreadySaid for a key that was taken meanwhile."""

    def unit(unit: Unit[GroupEvent]) -> tuple[int, ...]:
        for event in events:
            if isinstance(event, MessageReceived) and lookups.message_by_key(unit.transaction, event.key) is not None:
                raise AlreadySaid(event.key)
        return unit.append(*events)

    return unit


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


def kept_of(row: MessageRow) -> Kept:
    """Return a message as the queue takes it back after a restart."""
    return Kept(message=row.id, priority=Priority(row.priority), at_us=row.at_us, held=row.state == "held")


def placement_of(placed: Placed, turn: str, after_seq: int) -> Placement:
    """Return what the sender is told; `after_seq` is the journal's last sequence before the message."""
    return Placement(
        message=placed.message,
        turn=turn,
        disposition=placed.disposition.value,
        position=placed.position,
        after_seq=after_seq,
    )
