"""What the panel, the API and the supervisor may ask of a group, wherever it runs.

`host.groups.group.Group` does the work, `host.groups.actor` carries the same calls over Ray. Everything passed is a
frozen record, so that it crosses a process boundary unchanged.
"""

from typing import Any, Protocol

import msgspec


class Say(msgspec.Struct, frozen=True, kw_only=True):
    """Something said to a group."""

    text: str
    key: str  # the sender's idempotency key; the same key twice is one message
    priority: str = "turn"  # now | turn | later
    unattended: bool = False
    principal: str = "operator"


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message."""

    message: str
    turn: str  # the turn that runs it or that it entered; empty while it is queued
    disposition: str  # started | steered | queued | interrupting | held | stopped (it was a stop word)
    position: int
    after_seq: int  # the journal's last sequence before the message: follow events from here


class EventView(msgspec.Struct, frozen=True, kw_only=True):
    """An event as people and scripts see it (the contract: `{seq, at, turn, kind, data}`)."""

    seq: int
    at: str  # ISO 8601, UTC
    turn: str
    kind: str
    data: dict[str, Any]


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """Text of a reply that is still being written; replaced by the final event, never journaled."""

    turn: str
    step: int
    offset: int  # characters of this step's draft before `text`
    text: str


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What was new since the last look."""

    events: tuple[EventView, ...]
    drafts: tuple[Draft, ...]
    cursor: int  # pass it to the next look: the position in the stream of drafts


class ApprovalView(msgspec.Struct, frozen=True, kw_only=True):
    """A question that waits for a person."""

    id: str
    group: str
    turn: str
    call: str
    tool: str
    question: str  # approval | answer
    effect: str
    arguments: dict[str, Any]
    what_may_happen: str
    doing: str
    scopes: tuple[str, ...]
    asked_at: str
    expires_at: str  # empty: it does not expire


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer did."""

    id: str
    settled: bool  # False: it was settled before; this answer changed nothing
    verdict: str
    by: str


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """A message that waits or is held."""

    id: str
    text: str
    priority: str
    state: str  # queued | held
    position: int
    at: str


class LaneView(msgspec.Struct, frozen=True, kw_only=True):
    """A lane at a glance."""

    name: str
    state: str  # idle | running | waiting (for a person) | stopping
    generation: int
    turn: str
    running_seconds: float
    queued: int
    held: int


class TurnView(msgspec.Struct, frozen=True, kw_only=True):
    """A turn at a glance."""

    turn: str
    text: str  # the message that began it
    state: str  # running | parked | ended
    outcome: str
    reason: str
    started_at: str
    cost_usd: float


class GroupView(msgspec.Struct, frozen=True, kw_only=True):
    """A group at a glance (PAN-3)."""

    name: str
    state: str  # starting | awake | restarting | failed
    problem: str  # why it failed; empty when it did not
    model: str
    pid: int
    lanes: tuple[LaneView, ...]
    approvals: int
    today_cost_usd: float
    today_tokens: int
    daily_cost_usd: float | None
    last_failures: tuple[TurnView, ...]
    last_seq: int


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """What a Stop did."""

    turns: tuple[str, ...]  # the turns that it ended
    held: int  # messages that wait for a person's word now


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A hit of a search in the journal."""

    seq: int
    at: str
    turn: str
    kind: str
    snippet: str


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the journal's chain holds."""

    ok: bool
    events: int
    first_bad_seq: int  # 0 when all is well
    detail: str


class GroupPort(Protocol):
    """A group, here or in another process. Raises ElisError subclasses."""

    @property
    def name(self) -> str:
        """The group's name."""
        ...

    async def say(self, say: Say) -> Placement:
        """Accept a message durably and place it; raise ResourceBusy when the queue is full."""
        ...

    async def stop(self, lane: str, *, all_lanes: bool, by: str) -> Stopped:
        """Stop what runs; return when the final events are durable."""
        ...

    async def view(self) -> GroupView:
        """Return the group at a glance."""
        ...

    async def events(self, after: int, limit: int) -> tuple[EventView, ...]:
        """Return events after the sequence `after`, oldest first."""
        ...

    async def watch(self, after: int, cursor: int, seconds: float) -> Watched:
        """Wait up to `seconds` for events after `after` or drafts after `cursor`."""
        ...

    async def turns(self, limit: int, before: str) -> tuple[TurnView, ...]:
        """Return the latest turns, newest first, older than the turn id `before` unless it is empty."""
        ...

    async def turn_events(self, turn: str) -> tuple[EventView, ...]:
        """Return a turn's events; raise NotFound."""
        ...

    async def request_body(self, seq: int) -> bytes:
        """Return the exact body of the request whose event is `seq`; raise NotFound."""
        ...

    async def approvals(self) -> tuple[ApprovalView, ...]:
        """Return the questions that wait."""
        ...

    async def settle(self, approval: str, *, verdict: str, by: str, text: str) -> Settlement:
        """Answer a question (`allowed`, `denied`, `answered`); raise NotFound."""
        ...

    async def queue(self) -> tuple[Queued, ...]:
        """Return the messages that wait or are held."""
        ...

    async def release(self, message: str) -> Placement:
        """Let a held message go on; raise NotFound."""
        ...

    async def drop(self, message: str, by: str) -> None:
        """Drop a waiting or held message; raise NotFound."""
        ...

    async def search(self, text: str, limit: int) -> tuple[Found, ...]:
        """Search everything said and done, newest first; raise ProtocolViolation for what makes no search."""
        ...

    async def verify(self) -> Verified:
        """Check the journal's chain from the first event to the last."""
        ...

    async def instructions(self) -> dict[str, str]:
        """Return the invariants and the charter as the model gets them."""
        ...
