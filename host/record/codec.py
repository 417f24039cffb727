"""How a group's events become bytes of the journal, and which of their words a search can find.

The codec masks lent values before anything is written (JRN-4). Above it stands the journal, which knows no event.
"""

from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from host.record.argument_text import masked_arguments
from host.record.assisted import ApprovalAssisted
from host.record.events import (
    ApprovalAsked,
    ApprovalReopened,
    ApprovalSettled,
    AttemptFailed,
    CallFinished,
    CallRefused,
    CallRepeated,
    CallStarted,
    EgressConnection,
    GrantGiven,
    GrantRevoked,
    GroupEvent,
    GroupOpened,
    MessageEntered,
    MessageReceived,
    Noticed,
    RequestSent,
    ResponseReceived,
    SessionStarted,
    StopRequested,
    ToolsHeld,
    ToolsReleased,
    ToolsSeen,
    TurnEnded,
    TurnParked,
    TurnResumed,
    TurnStarted,
    TurnUnparked,
)
from lanes.events import LaneReplaced, MessageDropped, MessagePlaced, MessageReleased
from memory.journal import Encoded

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[GroupEvent]] = msgspec.msgpack.Decoder(GroupEvent)

Mask = Callable[[Any], Any]
"""Takes plain data (dictionaries, lists, strings) and returns it without secret values."""


def kind_of(event: GroupEvent) -> str:
    """Return the event's tag."""
    return cast("str", type(event).__struct_config__.tag)


class GroupCodec:
    """Encodes the closed union; with `mask`, every string of an event passes through it first."""

    def __init__(self, mask: Mask | None = None) -> None:
        self._mask = mask

    def encode(self, event: GroupEvent) -> Encoded:
        """Return kind, turn and bytes of `event`."""
        body = _ENCODER.encode(event)
        if self._mask is not None:
            plain = msgspec.msgpack.decode(body)
            masked = self._mask(plain)
            if masked != plain:
                if isinstance(event, ResponseReceived):
                    for call, asked in zip(masked["calls"], event.calls, strict=True):
                        call["arguments"] = masked_arguments(asked.arguments, self._mask)  # JSON within the event
                body = _ENCODER.encode(masked)
        return Encoded(kind=kind_of(event), turn=event.turn, body=body)

    def decode(self, kind: str, body: bytes) -> GroupEvent:
        """Return the event; raises msgspec.DecodeError when `body` is none of ours."""
        del kind  # the tag stands in the body
        return _DECODER.decode(body)

    def text(self, event: GroupEvent) -> str:
        """Return what a search finds of `event`; empty for events without words."""
        return words_of(event)


def words_of(event: GroupEvent) -> str:
    """Return the words of people, models and tools in `event`."""
    match event:
        case MessageReceived(text=text) | ResponseReceived(text=text) | ApprovalSettled(text=text) | Noticed(text=text):
            return text
        case CallStarted(tool=tool, arguments=arguments):
            return tool + "\n" + "\n".join(str(value) for value in arguments.values())
        case CallFinished(result=result) | CallRefused(result=result):
            return result
        case AttemptFailed(detail=detail) | TurnEnded(detail=detail):
            return detail
        case EgressConnection(host=host, detail=detail):
            return f"{host}\n{detail}"
        case ToolsSeen(server=server, tools=tools) | ToolsHeld(server=server, tools=tools):
            return "\n".join((server, *(f"{tool.name}\n{tool.description}" for tool in tools)))
        case MessageDropped(why=why) | LaneReplaced(why=why):
            return why
        case (
            GroupOpened()
            | SessionStarted()
            | TurnStarted()
            | MessageEntered()  # its words stand in message_received
            | TurnResumed()
            | RequestSent()
            | CallRepeated()
            | ApprovalAsked()  # its arguments stand in call_started or in the response
            | ApprovalReopened()
            | ApprovalAssisted()  # as those of a question
            | GrantGiven()  # its keys stand in the question
            | GrantRevoked()
            | TurnParked()
            | TurnUnparked()
            | StopRequested()
            | ToolsReleased()
            | MessagePlaced()
            | MessageReleased()
        ):
            return ""
