"""What the panel, the API and the supervisor may ask of a group, wherever it runs.

`host.groups.group.Group` does the work, `host.groups.actor` carries the same calls over Ray. Everything passed is a
frozen record, so that it crosses a process boundary unchanged.
"""

from typing import Any, Protocol

import msgspec

from host.gate.checking import Checked


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
    scopes: tuple[str, ...]  # how far the answer may reach: once | target | under | kind
    asked_at: str
    expires_at: str  # empty: it does not expire
    proposed: str = "once"  # the scope that would have spared the last questions
    covers: dict[str, tuple[str, ...]] = {}  # by scope: what an answer that wide would cover later


class Wider(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that stands for later calls too."""

    scope: str  # target | under | kind
    until: str = ""  # ISO 8601 with zone; empty: until it is revoked


class GrantView(msgspec.Struct, frozen=True, kw_only=True):
    """A standing answer."""

    id: str
    group: str
    scope: str  # target | under | kind
    covers: tuple[str, ...]  # e.g. "execute:command:git push origin main", "write:path:docs/", "read:host:.example.org"
    given_at: str
    given_by: str
    until: str  # empty: until it is revoked
    approval: str  # the question that it answered


class SuggestionView(msgspec.Struct, frozen=True, kw_only=True):
    """A grant that would have answered what was always approved; proposed, never applied."""

    group: str
    tool: str
    scope: str
    covers: tuple[str, ...]
    approvals: int  # so many questions it would have spared


class AssistedView(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the aux model let run without a person's word (APR-6)."""

    id: str
    group: str
    turn: str
    call: str
    tool: str
    effect: str
    arguments: dict[str, Any]
    what_may_happen: str
    by: str  # assistant model NAME
    at: str  # ISO 8601, UTC


class Revoked(msgspec.Struct, frozen=True, kw_only=True):
    """What taking a grant back did."""

    id: str
    revoked: bool  # False: it was taken back before


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
    leak: str = ""  # the way on which private data could leave without a question, and what closes it (POL-8)


class ServerView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool server at a glance (PASS-3)."""

    name: str
    state: str  # in use | held (it shows other tools than before, a person has to look) | not seen yet
    reached: str  # its command or url
    tools: int  # in use, or used before it was held
    held_digest: str  # names the list that waits for a person; empty: none does


class ServerToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its server shows it, in the server's words."""

    name: str
    description: str
    parameters: dict[str, Any]  # JSON Schema
    hints: dict[str, bool]  # what the server says of its effects; nothing rests on it


class ServerDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool server shows."""

    server: ServerView
    tools: tuple[ServerToolView, ...]
    left_out: tuple[str, ...]  # tools that cannot be offered, each with the cause
    held_tools: tuple[ServerToolView, ...]  # what would be used after a release
    held_left_out: tuple[str, ...]


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

    async def settle(
        self, approval: str, *, verdict: str, by: str, text: str, wider: Wider | None = None
    ) -> Settlement:
        """Answer a question (`allowed`, `denied`, `answered`); raise NotFound.

        `wider` lets an `allowed` stand for later calls; ProtocolViolation where that is not on offer.
        """
        ...

    async def grants(self) -> tuple[GrantView, ...]:
        """Return the standing answers, oldest first."""
        ...

    async def revoke(self, grant: str, by: str) -> Revoked:
        """Take a standing answer back; raise NotFound."""
        ...

    async def check_commands(self, commands: tuple[str, ...]) -> tuple[Checked, ...]:
        """Return what the gate would say of each shell command now."""
        ...

    async def suggestions(self) -> tuple[SuggestionView, ...]:
        """Return grants for what was always approved, the most useful first."""
        ...

    async def assisted(self) -> tuple[AssistedView, ...]:
        """Return the latest calls that the aux model let run without a person, newest first."""
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

    async def tool_servers(self) -> tuple[ServerView, ...]:
        """Return the group's tool servers."""
        ...

    async def tool_server(self, server: str) -> ServerDetail:
        """Return what a tool server shows; raise NotFound."""
        ...

    async def release_tools(self, server: str, digest: str, by: str) -> ServerView:
        """Let the held list `digest` of a server be used (empty: whichever is held); raise NotFound."""
        ...

    async def search(self, text: str, limit: int) -> tuple[Found, ...]:
        """Search everything said and done, newest first; raise ProtocolViolation for what makes no search."""
        ...

    async def verify(self) -> Verified:
        """Check the journal's chain from the first event to the last."""
        ...

    async def mask(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Return each text as masking leaves it: without what was lent, and without typical forms of secrets."""
        ...

    async def instructions(self) -> dict[str, str]:
        """Return the invariants and the charter as the model gets them."""
        ...
