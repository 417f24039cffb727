"""The one final event of a turn: outcome, reason and account, decided on the journal's writer thread.

Whoever ends a turn (its own loop, Stop, recovery) comes through `end_turn`; the first one wins and the others are told
which event it was. What was done is read from the projections in the same transaction, so that a turn whose loop is
gone is accounted for all the same (REPLY-6).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from host.record.events import Account, ApprovalSettled, AttemptFailed, GroupEvent, TurnEnded
from host.stops import Outcome, Reason
from memory.journal import Transaction, Unit

R = TypeVar("R", bound=msgspec.Struct)

_EFFECTS: Final = frozenset({"write", "execute", "send", "spend", "destroy"})


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


class _Call(msgspec.Struct, frozen=True):
    call: str
    tool: str
    effect: str
    target: str
    state: str
    ok: bool
    reason: str
    seq: int


class _Used(msgspec.Struct, frozen=True):
    state: str
    ended_seq: int
    steps: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float
    estimated: bool
    seconds: float


def end_turn(turn: str, verdict: Verdict) -> Callable[[Unit[GroupEvent]], tuple[int, bool]]:
    """Return the unit of work that ends `turn`; it gives the final event's sequence and whether it was this one."""

    def unit(unit: Unit[GroupEvent]) -> tuple[int, bool]:
        used = _used(unit.transaction, turn)
        if used is None or used.state == "ended":
            return (0 if used is None else used.ended_seq), False
        withdraw_questions(unit, turn)
        charge = open_request_charge(unit.transaction, turn)
        if charge is not None:
            unit.append(charge)
            used = _used(unit.transaction, turn) or used
        return unit.append(final_event(turn, verdict, used, _calls(unit.transaction, turn)))[0], True

    return unit


def withdraw_questions(unit: Unit[GroupEvent], turn: str) -> None:
    """A turn that ends needs no answer any more, whatever ended it."""
    sql = "select id from questions where turn = ? and state = 'waiting' order by seq"
    for (approval,) in unit.transaction.execute(sql, (turn,)).fetchall():
        unit.append(
            ApprovalSettled(turn=turn, approval=approval, verdict="withdrawn", by="host", text="the turn has ended")
        )


def final_event(turn: str, verdict: Verdict, used: _Used, calls: Sequence[_Call]) -> TurnEnded:
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


def _judge(verdict: Verdict, calls: Sequence[_Call]) -> tuple[Outcome, Reason | None, str]:
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
    detail = verdict.detail or f"{unresolved.tool} {unresolved.target}: {reason.sentence}".strip()
    return (Outcome.PARTIAL if had_effect else Outcome.FAILED), reason, detail


def _last_unresolved(calls: Sequence[_Call]) -> _Call | None:
    for index in reversed(range(len(calls))):
        call = calls[index]
        if call.ok or call.state == "asked":
            continue
        later = calls[index + 1 :]
        # A call to an unknown tool has no class: any later success shows that the model found its way.
        if not any(other.ok and call.effect in {"", other.effect} for other in later):
            return call
    return None


def _line(call: _Call) -> Account:
    what = f"{call.tool} {call.target}".strip()
    if call.state == "started":
        return Account(call=call.call, what=what, seq=call.seq, reason=Reason.UNKNOWN)
    return Account(
        call=call.call,
        what=what,
        seq=0 if call.state == "asked" else call.seq,
        reason=Reason(call.reason) if call.reason else None,
    )


def _used(tx: Transaction, turn: str) -> _Used | None:
    sql = (
        "select state, ended_seq, steps, tokens_in, tokens_out, tokens_cached, cost_usd, estimated, seconds"
        " from turns where turn = ?"
    )
    values = tx.execute(sql, (turn,)).fetchone()
    return None if values is None else _convert(_Used, values)


def _calls(tx: Transaction, turn: str) -> list[_Call]:
    sql = "select call, tool, effect, target, state, ok, reason, seq from calls where turn = ? order by position"
    return [_convert(_Call, values) for values in tx.execute(sql, (turn,)).fetchall()]


def open_request_charge(tx: Transaction, turn: str) -> AttemptFailed | None:
    """A request that was sent and never answered is charged what was set aside for it, as an estimate (BUD-3)."""
    found = tx.execute(
        "select open_step, open_attempt, open_purpose, open_tokens, open_cost_usd from turns"
        " where turn = ? and open_tokens > 0",
        (turn,),
    ).fetchone()
    if found is None:
        return None
    step, attempt, purpose, tokens, cost_usd = found
    return AttemptFailed(
        turn=turn,
        step=step,
        attempt=attempt,
        purpose=purpose,
        reason=Reason.INTERRUPTED,
        detail="the request was sent and its answer never seen",
        received="",
        retry_seconds=-1,
        tokens_in=tokens,
        tokens_out=0,
        cost_usd=cost_usd,
    )


def _convert(row: type[R], values: Sequence[Any]) -> R:
    return msgspec.convert(dict(zip(row.__struct_fields__, values, strict=True)), row, strict=False)
