"""What happens to messages and lanes, as records that a journal can hold. The tag is the journal's `kind`."""

import msgspec


class LaneEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every event of a lane has."""

    turn: str = ""


class MessagePlaced(LaneEvent, frozen=True, kw_only=True, tag="message_placed"):
    """A message got its one visible disposition (LANE-2)."""

    message: str
    disposition: str  # started | steered | queued | interrupting | held
    position: int = 0  # in the queue, counted from 1; 0 when it does not wait


class MessageReleased(LaneEvent, frozen=True, kw_only=True, tag="message_released"):
    """A person let a held message go on."""

    message: str


class MessageDropped(LaneEvent, frozen=True, kw_only=True, tag="message_dropped"):
    """A message will never run."""

    message: str
    why: str


class LaneReplaced(LaneEvent, frozen=True, kw_only=True, tag="lane_replaced"):
    """A lane that did not let go was abandoned; a new thread with a new generation took its place."""

    lane: str
    generation: int
    why: str
