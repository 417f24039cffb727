"""Which turn a message ended up in and how it ended, told from the group's events alone.

Pure: fed with records, it opens no connection and prints nothing. `host.cli.asking` moves it along a stream.
"""

import msgspec

from host.groups.port import EventView, Placement
from host.stops import Outcome, Reason


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn used."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    estimated: bool = False
    steps: int = 0
    seconds: float = 0.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `elis ask --json`.

    `outcome` is the turn's, or `parked` while it waits for a person, or `running` when only the waiting ended.
    """

    turn: str
    outcome: str
    reason: Reason | None
    reply: str
    usage: Usage
    first_seq: int
    last_seq: int
    steered: bool
    verified: bool

    @property
    def exit_code(self) -> int:
        """The code by which scripts tell the reason."""
        return self.reason.exit_code if self.reason else 0


class Follower:
    """Takes the group's events after a message was placed, until the message's turn is over."""

    def __init__(self, placement: Placement) -> None:
        """Start from what the host said when it took the message."""
        self._message = placement.message
        self._entered = placement.disposition == "started"  # a steered message is part of a turn once it entered it
        self.steered = placement.disposition == "steered"
        self.turn = placement.turn if placement.disposition in {"started", "steered"} else ""
        self.cursor = placement.after_seq
        self.first_seq = 0  # of the turn, as far as it was seen; 0 while none was
        self.ended: EventView | None = None  # turn_ended, or message_dropped
        self.parked = False

    def feed(self, event: EventView) -> bool:
        """Take the next event; tell whether it is one of our turn or about our message."""
        self.cursor = max(self.cursor, event.seq)  # an end that the journal could not take repeats an older number
        about_message = event.data.get("message") == self._message
        if about_message:
            self._place(event)
        if not self.turn or event.turn != self.turn:
            return about_message
        self.first_seq = self.first_seq or event.seq
        self._advance(event)
        return True

    def _place(self, event: EventView) -> None:
        match event.kind:
            case "turn_started" | "message_entered":
                if self.turn != event.turn:
                    self.first_seq = 0
                self.turn, self._entered = event.turn, True
                self.steered = event.kind == "message_entered"
            case "message_dropped":
                self.ended = event
            case _:
                return

    def _advance(self, event: EventView) -> None:
        match event.kind:
            case "turn_ended" if self._entered:
                self.ended, self.parked = event, False
            case "turn_ended":
                self.turn = ""  # it ended before our message entered, which now waits for a turn of its own
            case "turn_parked":
                self.parked = True
            case "turn_unparked":
                self.parked = False
            case _:
                return

    def answer(self) -> Answer:
        """Return the result as far as it is known by now."""
        ended = self.ended
        if ended is not None and ended.kind == "turn_ended":
            data = ended.data
            usage = msgspec.convert({name: data[name] for name in Usage.__struct_fields__}, Usage)
            reason = None if data["reason"] is None else Reason(data["reason"])
            return self._answer(data["outcome"], reason, data["reply"], usage, verified=data["verified"])
        if ended is not None:
            return self._answer(Outcome.FAILED.value, Reason.INTERRUPTED, "", Usage(), verified=False)
        outcome, reason = ("parked", Reason.APPROVAL_TIMEOUT) if self.parked else ("running", Reason.TIMED_OUT)
        return self._answer(outcome, reason, "", Usage(), verified=False)

    def _answer(self, outcome: str, reason: Reason | None, reply: str, usage: Usage, *, verified: bool) -> Answer:
        return Answer(
            turn=self.turn,
            outcome=outcome,
            reason=reason,
            reply=reply,
            usage=usage,
            first_seq=self.first_seq,
            last_seq=self.cursor,
            steered=self.steered,
            verified=verified,
        )


def unplaced() -> Answer:
    """Return the result when the waiting ended before the host said what became of the message: it may yet run."""
    return Answer(
        turn="",
        outcome="running",
        reason=Reason.TIMED_OUT,
        reply="",
        usage=Usage(),
        first_seq=0,
        last_seq=0,
        steered=False,
        verified=False,
    )


def stopped(placement: Placement) -> Answer:
    """Return the result of a message that was a stop word: it did what it says and began no turn."""
    return Answer(
        turn=placement.turn,
        outcome=Outcome.SUCCESS.value,
        reason=None,
        reply="",
        usage=Usage(),
        first_seq=placement.after_seq,
        last_seq=placement.after_seq,
        steered=False,
        verified=True,
    )
