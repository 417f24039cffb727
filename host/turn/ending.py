"""The one final event of a turn: outcome, reason and account, decided on the journal's writer thread.

Whoever ends a turn (its own loop, Stop, recovery) comes through `end_turn`; the first one wins and the others are told
which event it was. What was done is read from the projections in the same transaction, so that a turn whose loop is
gone is accounted for all the same (REPLY-6).
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from host.excerpts import beginning
from host.record import lookups
from host.record.events import Account, ApprovalSettled, AttemptFailed, GroupEvent, TurnEnded
from host.record.rows import CallRow, TurnRow
from host.stops import Outcome, Reason
from memory.journal import Transaction, Unit

_EFFECTS: Final = frozenset({"write", "execute", "send", "spend", "destroy"})
_LINE_CHARS: Final = 200  # of a call in the account; its event has the whole


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How the ending one sees it. `reason` None leaves it to the calls."""

    reason: Reason | None = None
    detail: str = ""
    reply: str = ""
    verified: bool = False
    seconds: float | None = None  # active time as the turn's own clock has it; None: from the record

    def within(self, seconds: float) -> "Verdict":
        """Return the verdict with the turn's active time."""
        return msgspec.structs.replace(self, seconds=seconds)


class Ending(Exception):
    """The turn ends now."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.detail)
        self.verdict = verdict


def end_turn(turn: str, verdict: Verdict) -> Callable[[Unit[GroupEvent]], tuple[int, bool]]:
    """Return the unit of work that ends `turn`; it gives the final event's sequence and whether it was this one."""

    def unit(unit: Unit[GroupEvent]) -> tuple[int, bool]:
        used = lookups.turn(unit.transaction, turn)
        if used is None or used.state == "ended":
            return (0 if used is None else used.ended_seq), False
        withdraw_questions(unit, turn)
        charge = open_request_charge(unit.transaction, turn)
        if charge is not None:
            unit.append(charge)
            used = lookups.turn(unit.transaction, turn) or used
        return unit.append(final_event(turn, verdict, used, lookups.calls_of(unit.transaction, turn)))[0], True

    return unit


def withdraw_questions(unit: Unit[GroupEvent], turn: str) -> None:
    """A turn that ends needs no answer any more, whatever ended it."""
    for approval in lookups.waiting_approvals_of(unit.transaction, turn):
        unit.append(
            ApprovalSettled(turn=turn, approval=approval, verdict="withdrawn", by="host", text="the turn has ended")
        )


def final_event(turn: str, verdict: Verdict, used: TurnRow, calls: Sequence[CallRow]) -> TurnEnded:
    """Return the final event that follows from what was used and called."""
    outcome, reason, detail = _judge(verdict, calls)
    return TurnEnded(
        turn=turn,
        outcome=outcome,
        reason=reason,
        detail=detail,
        reply=verdict.reply,
        tokens_in=used.tokens_in,
        tokens_out=used.tokens_out,
        tokens_cached=used.tokens_cached,
        cost_usd=used.cost_usd,
        estimated=used.estimated,
        steps=used.steps,
        seconds=used.seconds if verdict.seconds is None else verdict.seconds,
        done=tuple(_line(call) for call in calls if call.ok),
        failed=tuple(_line(call) for call in calls if not call.ok and call.state in {"finished", "refused", "started"}),
        not_attempted=tuple(_line(call) for call in calls if call.state == "asked"),
        verified=verdict.verified,
    )


def _judge(verdict: Verdict, calls: Sequence[CallRow]) -> tuple[Outcome, Reason | None, str]:
    """A given reason stands; else the last call that nothing made good decides (the contract, Outcomes)."""
    had_effect = any(call.ok and call.effect in _EFFECTS for call in calls)
    if verdict.reason is not None:
        # A budget that ran out after mere reading still leaves findings behind, so any success counts there.
        done = any(call.ok for call in calls) if verdict.reason is Reason.BUDGET_EXHAUSTED else had_effect
        return (Outcome.PARTIAL if done else Outcome.FAILED), verdict.reason, verdict.detail
    unresolved = _last_unresolved(calls)
    if unresolved is None:
        return Outcome.SUCCESS, None, verdict.detail
    reason = Reason(unresolved.reason) if unresolved.reason else Reason.UNKNOWN
    detail = verdict.detail or f"{_named(unresolved)}: {reason.sentence}"
    return (Outcome.PARTIAL if had_effect else Outcome.FAILED), reason, detail


def _last_unresolved(calls: Sequence[CallRow]) -> CallRow | None:
    for index in reversed(range(len(calls))):
        call = calls[index]
        if call.ok or call.state == "asked":
            continue
        later = calls[index + 1 :]
        # A call to an unknown tool has no class: any later success shows that the model found its way.
        if not any(other.ok and call.effect in {"", other.effect} for other in later):
            return call
    return None


def _named(call: CallRow) -> str:
    """Name a call in one line (REPLY-6)."""
    return beginning(" ".join(f"{call.tool} {call.target}".split()), _LINE_CHARS)


def _line(call: CallRow) -> Account:
    what = _named(call)
    if call.state == "started":
        return Account(call=call.call, what=what, seq=call.seq, reason=Reason.UNKNOWN)
    return Account(
        call=call.call,
        what=what,
        seq=0 if call.state == "asked" else call.seq,
        reason=Reason(call.reason) if call.reason else None,
    )


def open_request_charge(tx: Transaction, turn: str) -> AttemptFailed | None:
    """A request that was sent and never answered is charged what was set aside for it, as an estimate (BUD-3)."""
    used = lookups.turn(tx, turn)
    if used is None or used.open_tokens <= 0:
        return None
    return AttemptFailed(
        turn=turn,
        step=used.open_step,
        attempt=used.open_attempt,
        purpose=used.open_purpose,
        reason=Reason.INTERRUPTED,
        detail="the request was sent and its answer never seen",
        received="",
        retry_seconds=-1,
        tokens_in=used.open_tokens,
        tokens_out=0,
        cost_usd=used.open_cost_usd,
    )
