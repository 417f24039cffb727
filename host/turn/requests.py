"""Requests before they are sent: durable first, each part stored once by its content hash (TURN-2, TURN-3)."""

from collections.abc import Sequence

import msgspec

from host.context.conversation import Part
from host.models.conversation import Request
from host.record.events import GroupEvent, RequestSent
from host.record.record import Admit, Record
from memory.journal import Unit


async def journaled(record: Record, parts: Sequence[Part], sent: RequestSent, admit: Admit) -> bytes:
    """Make a request durable and return its body; `parts` are head, messages and tail, whose hashes `sent` lacks."""

    def unit(unit: Unit[GroupEvent]) -> list[str]:
        hashes = [part.content_hash or unit.body(part.data) for part in parts]
        unit.append(msgspec.structs.replace(sent, head=hashes[0], messages=tuple(hashes[1:-1]), tail=hashes[-1]))
        return hashes

    for part, content_hash in zip(parts, await record.commit(unit, admit), strict=True):
        part.content_hash = content_hash
    head, *messages, tail = (part.data for part in parts)
    return Request(head=head, messages=tuple(messages), tail=tail).body()
