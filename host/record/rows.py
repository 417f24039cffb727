"""Rows of the projections as frozen records; what other rooms read of a group's state."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from host.stops import Reason

R = TypeVar("R", bound=msgspec.Struct)


def row_from(row: type[R], values: Sequence[Any]) -> R:
    """Return what SQLite gave for all of a row's columns as the record `row`."""
    # lax, because SQLite has no booleans
    return msgspec.convert(dict(zip(row.__struct_fields__, values, strict=True)), row, strict=False)


class MessageRow(msgspec.Struct, frozen=True):
    """A message and where it stands."""

    id: str
    key: str
    seq: int
    at_us: int
    text: str
    priority: str
    principal: str
    unattended: bool
    state: str  # received | queued | held | steered | entered | running | done | dropped | stopped
    turn: str


class TurnRow(msgspec.Struct, frozen=True):
    """A turn and what it has used."""

    turn: str
    message: str
    lane: str
    session: str
    principal: str
    unattended: bool
    state: str  # running | parked | ended
    started_seq: int
    started_us: int
    ended_seq: int  # 0 while it runs
    progress_seq: int
    resumes: int
    outcome: str
    reason: str
    steps: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float
    estimated: bool
    seconds: float
    open_step: int
    open_attempt: int
    open_purpose: str
    open_tokens: int  # set aside for a request that has no answer yet; 0 when there is none
    open_cost_usd: float


class CallRow(msgspec.Struct, frozen=True):
    """A call and what came of it."""

    key: str
    turn: str
    call: str
    tool: str
    effect: str  # empty while unknown
    target: str
    arguments_hash: str
    state: str  # asked | started | finished | refused
    ok: bool
    reason: str  # empty when there is none
    position: int
    seq: int  # the event of its latest state


class QuestionRow(msgspec.Struct, frozen=True):
    """A question to a person."""

    id: str
    turn: str
    call: str
    tool: str
    question: str  # approval | answer | assisted (the aux model let it run, nobody was asked)
    state: str  # waiting | allowed | denied | answered | timed_out | withdrawn
    answered_by: str
    text: str
    timeout_seconds: float
    expires_at: str
    asked_us: int
    seq: int


class GrantRow(msgspec.Struct, frozen=True):
    """A standing answer."""

    id: str
    approval: str  # the question that it answered
    scope: str  # target | under | kind
    keys: str  # what it covers, a JSON array
    until: str  # ISO 8601, UTC; empty: until it is revoked
    given_by: str
    given_us: int
    revoked_by: str  # empty while it stands
    seq: int


class RefusedIntent(msgspec.Struct, frozen=True):
    """An effect on a target that a person refused or left unanswered in this turn (APR-2)."""

    effect: str
    target: str
    reason: Reason
    text: str


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """What was used in a span of time."""

    tokens: int
    cost_usd: float
