"""How a turn comes to its state: started from a message, or taken up again after a restart (REC-1, REC-7)."""

from collections.abc import Callable
from typing import Final

from host.ids import TURN, new_id
from host.record import lookups
from host.record.events import GroupEvent, TurnResumed, TurnStarted, TurnUnparked
from host.record.record import Admit, Record
from host.record.rows import MessageRow, TurnRow
from host.stops import Reason
from host.turn.budget import Limits
from host.turn.ending import Verdict, end_turn, open_request_charge
from host.turn.state import TurnState
from memory.journal import Unit

MOST_RESUMES: Final = 3  # REC-7: without a new durable event in between


async def start_turn(  # noqa: PLR0913 - each is a fact that the event records
    record: Record, message: MessageRow, *, turn: str, lane: str, session: str, model: str, limits: Limits, admit: Admit
) -> TurnState:
    """Journal the start of `turn` for `message` and return its state."""
    started = TurnStarted(
        turn=turn,
        message=message.id,
        lane=lane,
        session=session,
        model=model,
        principal=message.principal,
        unattended=message.unattended,
        limit_tokens=_stored(limits.tokens),
        limit_cost_usd=_stored(limits.cost_usd),
        limit_seconds=_stored(limits.seconds),
        limit_steps=_stored(limits.steps),
    )
    await record.append(started, admit=admit)
    state = TurnState(turn, message.text, record.body)
    state.apply(started)
    return state


async def resume_turn(record: Record, row: TurnRow, admit: Admit, *, giving_up: Callable[[], None]) -> TurnState | None:
    """Return the state after the last durable event, or None when the turn is over or was given up (REC-7).

    `giving_up` is called before the final event of a turn that is given up.
    """
    state = state_of(record, row)
    awaited = any(question.turn == row.turn for question in record.waiting_questions())
    if row.resumes >= MOST_RESUMES and not awaited:
        giving_up()
        last = record.event(row.progress_seq)
        detail = f"resumed {row.resumes} times without progress; the last event is {row.progress_seq} ({_kind(last)})"
        await record.commit(end_turn(row.turn, Verdict(reason=Reason.UNKNOWN, detail=detail)), admit)
        return None

    def unit(unit: Unit[GroupEvent]) -> list[GroupEvent] | None:
        now = lookups.turn(unit.transaction, row.turn)
        if now is None or now.state == "ended":  # dropped or stopped a moment ago
            return None
        charge = open_request_charge(unit.transaction, row.turn)
        events: list[GroupEvent] = [] if charge is None else [charge]
        if row.state == "parked":
            events.append(TurnUnparked(turn=row.turn))
        else:
            after_seq = record.journal.last_seq()
            events.append(TurnResumed(turn=row.turn, after_seq=after_seq, times=row.resumes + (not awaited)))
        unit.append(*events)
        return events

    events = await record.commit(unit, admit)
    if events is None:
        return None
    for event in events:
        state.apply(event)
    return state


def end_unbegun(
    message: MessageRow, turn: str, lane: str, verdict: Verdict
) -> Callable[[Unit[GroupEvent]], tuple[int, bool]]:
    """Return the unit that ends `turn`, also one that never came to its start: every turn has one final event."""
    end = end_turn(turn, verdict)

    def unit(unit: Unit[GroupEvent]) -> tuple[int, bool]:
        if lookups.turn(unit.transaction, turn) is None:
            unit.append(
                TurnStarted(
                    turn=turn,
                    message=message.id,
                    lane=lane,
                    session="",
                    model="",
                    principal=message.principal,
                    unattended=message.unattended,
                    limit_tokens=0,
                    limit_cost_usd=0,
                    limit_seconds=0,
                    limit_steps=0,
                )
            )
        return end(unit)

    return unit


def state_of(record: Record, row: TurnRow) -> TurnState:
    """Return the fold of a turn's events."""
    message = record.message(row.message)
    state = TurnState(row.turn, message.text if message else "", record.body)
    for stored in record.turn_events(row.turn):
        state.apply(stored.event)
    return state


def limits_of(started: TurnStarted) -> Limits:
    """Return the limits that a turn was started with; a resumed turn keeps them."""
    return Limits(
        tokens=_read(started.limit_tokens),
        cost_usd=_read(started.limit_cost_usd),
        seconds=_read(started.limit_seconds),
        steps=_read(started.limit_steps),
    )


def new_turn_id(now_us: int) -> str:
    """Return a fresh turn id."""
    return new_id(TURN, now_us)


def _stored(limit: float) -> float:
    return -1 if limit == float("inf") else limit


def _read(limit: float) -> float:
    return float("inf") if limit < 0 else limit


def _kind(event: GroupEvent) -> str:
    return str(type(event).__struct_config__.tag)
