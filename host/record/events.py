"""The events of a group's journal that the host itself writes, and the closed union of all packages' events.

An event says what happened, in the past tense, and is never changed. Tags are the journal's `kind`; `turn` is empty
for events outside a turn. Amounts carry their unit in the name. The events of the packages are declared in their own
`events.py` files and joined here.
"""

from typing import Any

import msgspec

from host.passport import Effect
from host.record.assisted import ApprovalAssisted
from host.record.event import Event
from host.stops import Outcome, Reason
from lanes.events import LaneReplaced, MessageDropped, MessagePlaced, MessageReleased


class GroupOpened(Event, frozen=True, kw_only=True, tag="group_opened"):
    """A process opened the group's journal for writing."""

    generation: int
    pid: int


class SessionStarted(Event, frozen=True, kw_only=True, tag="session_started"):
    """The charter, skills and tool list were fixed anew; the prefix stays the same from here on (CTX-2)."""

    session: str
    prefix: str  # content hash of the rendered stable prefix
    why: str  # first | changed


class MessageReceived(Event, frozen=True, kw_only=True, tag="message_received"):
    """Somebody said something to the group; durable before anything is done about it."""

    message: str
    key: str  # the sender's idempotency key: a repeated send is the same message
    text: str
    priority: str  # now | turn | later
    principal: str  # for whom it is done, e.g. "operator"
    unattended: bool = False


class TurnStarted(Event, frozen=True, kw_only=True, tag="turn_started"):
    """A turn began, with the limits it runs under. A limit of -1 means none."""

    message: str
    lane: str
    session: str
    model: str
    principal: str
    unattended: bool
    limit_tokens: float
    limit_cost_usd: float
    limit_seconds: float
    limit_steps: float


class MessageEntered(Event, frozen=True, kw_only=True, tag="message_entered"):
    """A steered message became part of the running turn, before the inference of `step`."""

    message: str
    text: str
    step: int


class TurnResumed(Event, frozen=True, kw_only=True, tag="turn_resumed"):
    """A restarted host took the turn up again after its last durable event."""

    after_seq: int
    times: int  # resumptions in a row without progress in between (REC-7)


class RequestSent(Event, frozen=True, kw_only=True, tag="request_sent"):
    """A request to a model is about to be sent. Its exact body is head + messages joined by commas + tail."""

    step: int  # 0 for the wrap-up; for "assist" the one that asked for the call
    attempt: int
    purpose: str  # step | wrap_up | assist
    model: str
    url: str
    head: str  # content hashes of the parts
    messages: tuple[str, ...]
    tail: str
    reserved_tokens: int
    reserved_cost_usd: float


class AttemptFailed(Event, frozen=True, kw_only=True, tag="attempt_failed"):
    """One attempt at an inference failed; what was received before counts and is charged as an estimate."""

    step: int
    attempt: int
    purpose: str
    reason: Reason
    detail: str
    received: str  # the part of the reply that had arrived
    retry_seconds: float  # the wait before the next attempt; -1 when there is none
    tokens_in: int
    tokens_out: int
    cost_usd: float


class CallAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the model asked for it."""

    call: str  # the host's id: step.index
    provider_id: str
    tool: str
    arguments: str  # the raw text, which may not be JSON


class ResponseReceived(Event, frozen=True, kw_only=True, tag="response_received"):
    """A model answered."""

    step: int
    attempt: int
    purpose: str
    text: str
    calls: tuple[CallAsked, ...]
    finish: str  # the provider's stop word, as it came
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float
    estimated: bool
    seconds: float


class CallStarted(Event, frozen=True, kw_only=True, tag="call_started"):
    """A call is about to run; `arguments` hold handles, never secret values."""

    call: str
    tool: str
    effect: Effect
    arguments: dict[str, Any]
    key: str
    arguments_hash: str
    target: str


class CallRepeated(Event, frozen=True, kw_only=True, tag="call_repeated"):
    """Recovery runs a started call again, as its passport allows."""

    call: str
    key: str


class ImageSeen(msgspec.Struct, frozen=True, kw_only=True):
    """An image that a call met, and what became of it (TURN-7)."""

    how: str  # shown to the model | read by the local OCR | refused, for neither can be had
    name: str  # of the file
    body: str = ""  # content hash of what was shown, which may be smaller than the file's own
    media_type: str = ""
    size_bytes: int = 0
    width: int = 0  # pixels
    height: int = 0


class CallFinished(Event, frozen=True, kw_only=True, tag="call_finished"):
    """A call ran, well or not; `result` is what the model is told, masked."""

    call: str
    tool: str
    effect: Effect
    ok: bool
    reason: Reason | None
    detail: str  # exit code, status or error in one line; empty when ok
    result: str
    result_hash: str  # of what `result` tells of the world, without incidental text (LOOP-1); empty: not known
    target: str
    seconds: float
    recorded: bool = False  # the result of an earlier call with the same key
    image: ImageSeen | None = None


Intent = tuple[str, str]
"""An effect and what it is on (APR-2)."""


class CallRefused(Event, frozen=True, kw_only=True, tag="call_refused"):
    """A call did not run; `result` is what the model is told."""

    call: str
    tool: str
    effect: Effect | None  # None: the tool is unknown
    stage: str  # registry | policy | paths | secrets | repetition | budget | stop
    rule: str
    reason: Reason
    result: str
    target: str = ""
    intents: tuple[Intent, ...] = ()  # that were refused in its place, of single commands; none: effect and target


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a call does and a grant may cover."""

    exact: str  # EFFECT:KIND:VALUE, e.g. "execute:command:git push origin main", "write:path:docs/a.txt"
    under: tuple[str, ...] = ()  # what it lies under, the narrowest first, e.g. "write:path:docs/", "write:path:"


class ApprovalAsked(Event, frozen=True, kw_only=True, tag="approval_asked"):
    """A person is asked whether a call may run, or for an answer (`ask_person`)."""

    approval: str
    call: str
    tool: str
    question: str  # approval | answer
    effect: Effect
    arguments: dict[str, Any]
    what_may_happen: str
    doing: str  # what the model said just before
    scopes: tuple[str, ...]
    timeout_seconds: float  # -1: waits for ever (parked)
    expires_at: str  # ISO 8601, UTC; empty when it does not expire
    parts: tuple[Part, ...] = ()  # what an answer wider than once would cover
    proposed: str = "once"  # the scope that would have spared the last questions


class ApprovalReopened(Event, frozen=True, kw_only=True, tag="approval_reopened"):
    """After a restart a question waits on; its clock stood still while the host was down (APR-4)."""

    approval: str
    expires_at: str


class ApprovalSettled(Event, frozen=True, kw_only=True, tag="approval_settled"):
    """A question got its one answer."""

    approval: str
    verdict: str  # allowed | denied | answered | timed_out | withdrawn
    by: str
    text: str = ""  # the reason of a refusal, or the answer
    scope: str = "once"


class GrantGiven(Event, frozen=True, kw_only=True, tag="grant_given"):
    """A person's answer stands for later calls too."""

    grant: str
    approval: str  # the question that it answered
    scope: str  # target | under | kind
    keys: tuple[str, ...]  # what it covers, see `host.policy.grants`
    until: str  # ISO 8601, UTC; empty: until it is revoked
    by: str


class GrantRevoked(Event, frozen=True, kw_only=True, tag="grant_revoked"):
    """A standing answer was taken back; calls that come later are asked about again."""

    grant: str
    by: str


class EgressConnection(Event, frozen=True, kw_only=True, tag="egress_connection"):
    """A connection to the outside ended, or was refused, on behalf of a call (BOX-2).

    `turn` is empty where the turn had its final event before.
    """

    caller: str  # turn:call
    host: str  # as it was asked for, where it is no name
    port: int
    address: str  # that was connected to, or looked at and refused; empty when it did not come to that
    verdict: str  # carried | refused | failed
    rule: str  # why it was refused, failed or broken off; empty for one that came to its own end
    detail: str
    bytes_out: int
    bytes_in: int
    seconds: float


class ServerTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its server shows it; every word of it is the server's own."""

    name: str  # what the model calls it, SERVER__TOOL
    own_name: str  # what the server calls it
    description: str
    parameters: dict[str, Any]  # JSON Schema, bounded and without references
    hints: dict[str, bool] = {}  # what the server says of its effects (readOnlyHint, …): shown, never trusted


class ToolsSeen(Event, frozen=True, kw_only=True, tag="tools_seen"):
    """A tool server told its tools for the first time; they are used as told (PASS-3)."""

    server: str
    digest: str  # content hash of the list as it came
    tools: tuple[ServerTool, ...]
    left_out: tuple[str, ...]  # tools that cannot be offered, each with the cause


class ToolsHeld(Event, frozen=True, kw_only=True, tag="tools_held"):
    """A tool server tells other tools, descriptions or schemas than before; none is used until a person looks."""

    server: str
    digest: str
    tools: tuple[ServerTool, ...]
    left_out: tuple[str, ...]


class ToolsReleased(Event, frozen=True, kw_only=True, tag="tools_released"):
    """A person looked at the held list `digest` of a tool server and lets it be used."""

    server: str
    digest: str
    by: str


class Noticed(Event, frozen=True, kw_only=True, tag="noticed"):
    """The host told the model, the person or both something."""

    code: str  # budget_80 | bad_calls | empty_reply | history_shortened | …
    text: str
    to: str  # model | person | both


class TurnParked(Event, frozen=True, kw_only=True, tag="turn_parked"):
    """An unattended turn waits for an answer without holding a lane (APR-4)."""

    approval: str


class TurnUnparked(Event, frozen=True, kw_only=True, tag="turn_unparked"):
    """A parked turn goes on: its question was answered."""


class StopRequested(Event, frozen=True, kw_only=True, tag="stop_requested"):
    """A person asked to stop."""

    lane: str
    all_lanes: bool
    by: str


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the final account: what, and the journal sequence that bears it out."""

    call: str
    what: str
    seq: int  # 0: not attempted
    reason: Reason | None = None


class TurnEnded(Event, frozen=True, kw_only=True, tag="turn_ended"):
    """The one final event of a turn (REPLY-6)."""

    outcome: Outcome
    reason: Reason | None
    detail: str
    reply: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float
    estimated: bool
    steps: int
    seconds: float
    done: tuple[Account, ...]
    failed: tuple[Account, ...]
    not_attempted: tuple[Account, ...]
    verified: bool


GroupEvent = (
    GroupOpened
    | SessionStarted
    | MessageReceived
    | TurnStarted
    | MessageEntered
    | TurnResumed
    | RequestSent
    | AttemptFailed
    | ResponseReceived
    | CallStarted
    | CallRepeated
    | CallFinished
    | CallRefused
    | ApprovalAsked
    | ApprovalReopened
    | ApprovalSettled
    | ApprovalAssisted
    | GrantGiven
    | GrantRevoked
    | EgressConnection
    | ToolsSeen
    | ToolsHeld
    | ToolsReleased
    | Noticed
    | TurnParked
    | TurnUnparked
    | StopRequested
    | TurnEnded
    | MessagePlaced
    | MessageReleased
    | MessageDropped
    | LaneReplaced
)
"""Everything that can stand in a group's journal."""
