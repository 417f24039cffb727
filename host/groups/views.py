"""How events, turns and questions look from outside (the contract's JSON)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from host.gate.standing import Suggestion
from host.groups.port import ApprovalView, AssistedView, EventView, Found, GrantView, SuggestionView, TurnView
from host.policy.grants import Scope, keys, kind_key
from host.record.assisted import ApprovalAssisted
from host.record.events import ApprovalAsked, GroupEvent
from host.record.record import Record
from host.record.rows import GrantRow, QuestionRow, TurnRow
from memory.journal import Hit, Stored

_View = TypeVar("_View")


def instant(at_us: int) -> str:
    """Return microseconds since 1970 as ISO 8601 in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(at_us / 1e6, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def without_lent(view: _View, lent: Callable[[Any], Any]) -> _View:
    """Return what is shown of settings, servers and commands without lent values; what stands in the journal has none.

    `lent` takes plain data and returns it without them, and as it is where there are none.
    """
    plain = msgspec.to_builtins(view)
    masked = lent(plain)
    return view if masked is plain else msgspec.convert(masked, type(view))


def event_view(stored: Stored[GroupEvent]) -> EventView:
    """Return an event as people and scripts see it."""
    return EventView(
        seq=stored.seq, at=instant(stored.at_us), turn=stored.turn, kind=stored.kind, data=event_data(stored.event)
    )


def event_data(event: GroupEvent) -> dict[str, Any]:
    """Return an event's own fields as plain data."""
    data: dict[str, Any] = msgspec.to_builtins(event)
    data.pop("kind", None)
    data.pop("turn", None)
    return data


def turn_view(record: Record, row: TurnRow) -> TurnView:
    """Return a turn at a glance."""
    message = record.message(row.message)
    return TurnView(
        turn=row.turn,
        text=message.text if message else "",
        state=row.state,
        outcome=row.outcome,
        reason=row.reason,
        started_at=instant(row.started_us),
        cost_usd=row.cost_usd,
    )


def approval_view(record: Record, group: str, row: QuestionRow) -> ApprovalView | None:
    """Return a waiting question with all that a person needs to judge it; None if its event is gone."""
    asked = record.event(row.seq)
    if not isinstance(asked, ApprovalAsked):
        return None
    return ApprovalView(
        id=row.id,
        group=group,
        turn=row.turn,
        call=row.call,
        tool=row.tool,
        question=row.question,
        effect=asked.effect,
        arguments=asked.arguments,
        what_may_happen=asked.what_may_happen,
        doing=asked.doing,
        scopes=asked.scopes,
        asked_at=instant(row.asked_us),
        expires_at=row.expires_at,
        proposed=asked.proposed,
        covers={
            scope: keys(Scope(scope), asked.parts, kind_key(asked.tool, asked.effect))
            for scope in asked.scopes
            if scope != Scope.ONCE
        },
    )


def grant_view(group: str, row: GrantRow) -> GrantView:
    """Return a standing answer."""
    return GrantView(
        id=row.id,
        group=group,
        scope=row.scope,
        covers=msgspec.json.decode(row.keys, type=tuple[str, ...]),
        given_at=instant(row.given_us),
        given_by=row.given_by,
        until=row.until,
        approval=row.approval,
    )


def suggestion_view(group: str, suggestion: Suggestion) -> SuggestionView:
    """Return a proposed grant."""
    return SuggestionView(
        group=group,
        tool=suggestion.tool,
        scope=suggestion.scope,
        covers=suggestion.keys,
        approvals=suggestion.approvals,
    )


def assisted_view(record: Record, group: str, row: QuestionRow) -> AssistedView | None:
    """Return a call that the aux model let run, or None if its event is none of that kind."""
    event = record.event(row.seq)
    if not isinstance(event, ApprovalAssisted):
        return None
    return AssistedView(
        id=row.id,
        group=group,
        turn=row.turn,
        call=row.call,
        tool=row.tool,
        effect=event.effect.value,
        arguments=event.arguments,
        what_may_happen=event.what_may_happen,
        by=row.answered_by,
        at=instant(row.asked_us),
    )


def found_view(hit: Hit) -> Found:
    """Return a hit of a search."""
    return Found(seq=hit.seq, at=instant(hit.at_us), turn=hit.turn, kind=hit.kind, snippet=hit.snippet)
