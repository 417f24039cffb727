"""The record over a real journal: projections follow events, and a turn ends exactly once."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from host.passport import Effect
from host.record import projections
from host.record.events import (
    CallAsked,
    CallFinished,
    CallRefused,
    CallStarted,
    GroupEvent,
    MessageReceived,
    RequestSent,
    ResponseReceived,
    TurnEnded,
    TurnStarted,
)
from host.record.record import Record
from host.stops import Outcome, Reason
from host.turn.ending import Verdict, end_turn
from lanes.events import MessagePlaced
from memory.journal import Transaction, Unit

TABLES = re.findall(r"^create table if not exists (\w+)", projections.SCHEMA, re.MULTILINE)


class Clock:
    """Microseconds, one millisecond a look."""

    def __init__(self) -> None:
        self.us = 1_800_000_000_000_000

    def __call__(self) -> int:
        """Return the time and go on."""
        self.us += 1000
        return self.us


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """A record in an empty folder."""
    opened = Record.open(tmp_path / "journal.db", Clock())
    yield opened
    opened.close()


STARTED = TurnStarted(
    turn="t1",
    message="m1",
    lane="chat",
    session="s1",
    model="main",
    principal="operator",
    unattended=False,
    limit_tokens=1000,
    limit_cost_usd=1,
    limit_seconds=10,
    limit_steps=5,
)


def begun() -> list[GroupEvent]:
    """Return a message and the turn it began."""
    received = MessageReceived(message="m1", key="k1", text="do it", priority="turn", principal="operator")
    return [received, MessagePlaced(turn="t1", message="m1", disposition="started"), STARTED]


def response(step: int, *tools: str) -> ResponseReceived:
    """Return an answer that asks for calls."""
    calls = tuple(
        CallAsked(call=f"{step}.{index}", provider_id=f"p{index}", tool=tool, arguments="{}")
        for index, tool in enumerate(tools)
    )
    return ResponseReceived(
        turn="t1",
        step=step,
        attempt=1,
        purpose="step",
        text="",
        calls=calls,
        finish="stop",
        tokens_in=100,
        tokens_out=20,
        tokens_cached=60,
        cost_usd=0.001,
        estimated=False,
        seconds=0.5,
    )


def ran(call: str, tool: str, effect: Effect, *, reason: Reason | None = None) -> list[GroupEvent]:
    """Return a call's start and end."""
    return [
        CallStarted(
            turn="t1",
            call=call,
            tool=tool,
            effect=effect,
            arguments={},
            key=f"t1:{call}",
            arguments_hash="h",
            target="x",
        ),
        CallFinished(
            turn="t1",
            call=call,
            tool=tool,
            effect=effect,
            ok=reason is None,
            reason=reason,
            detail="",
            result="r",
            result_hash="",
            target="x",
            seconds=0.1,
        ),
    ]


async def ended(record: Record, verdict: Verdict, *events: GroupEvent) -> TurnEnded:
    """Append `events`, end the turn, and return the final event."""
    await record.append(*begun(), *events)
    seq, first = await record.commit(end_turn("t1", verdict))
    event = record.event(seq)
    assert first
    assert isinstance(event, TurnEnded)
    return event


@pytest.mark.clause("REPLY-6")
async def test_a_turn_without_trouble_is_a_success(record: Record) -> None:
    """Its usage is the sum of its inferences, its account names what was done."""
    final = await ended(
        record, Verdict(reply="done"), response(1, "write_file"), *ran("1.0", "write_file", Effect.WRITE)
    )
    assert (final.outcome, final.reason, final.reply) == (Outcome.SUCCESS, None, "done")
    assert (final.tokens_in, final.tokens_out, final.tokens_cached, final.steps) == (100, 20, 60, 1)
    assert [line.what for line in final.done] == ["write_file x"]


@pytest.mark.clause("REPLY-6")
async def test_an_unresolved_failure_makes_the_turn_failed_with_its_reason(record: Record) -> None:
    """No later call of the same class succeeded."""
    final = await ended(
        record, Verdict(), response(1, "shell"), *ran("1.0", "shell", Effect.EXECUTE, reason=Reason.TOOL_FAILED)
    )
    assert (final.outcome, final.reason) == (Outcome.FAILED, Reason.TOOL_FAILED)
    assert [(line.what, line.reason) for line in final.failed] == [("shell x", Reason.TOOL_FAILED)]


@pytest.mark.clause("REPLY-6")
async def test_a_failure_beside_an_effect_makes_the_turn_partial(record: Record) -> None:
    """Something was done, something was not."""
    final = await ended(
        record,
        Verdict(),
        response(1, "write_file", "shell"),
        *ran("1.0", "write_file", Effect.WRITE),
        *ran("1.1", "shell", Effect.EXECUTE, reason=Reason.TIMED_OUT),
    )
    assert (final.outcome, final.reason) == (Outcome.PARTIAL, Reason.TIMED_OUT)


@pytest.mark.clause("REPLY-6")
async def test_a_later_success_of_the_same_class_resolves_a_failure(record: Record) -> None:
    """The second try counts."""
    final = await ended(
        record,
        Verdict(),
        response(1, "shell"),
        *ran("1.0", "shell", Effect.EXECUTE, reason=Reason.TOOL_FAILED),
        response(2, "shell"),
        *ran("2.0", "shell", Effect.EXECUTE),
    )
    assert (final.outcome, final.reason) == (Outcome.SUCCESS, None)


@pytest.mark.clause("REPLY-6")
async def test_calls_without_an_end_are_told_as_such(record: Record) -> None:
    """Asked and not run is not attempted; started and not finished has an unknown outcome."""
    started = ran("1.0", "shell", Effect.EXECUTE)[0]
    final = await ended(record, Verdict(reason=Reason.INTERRUPTED), response(1, "shell", "write_file"), started)
    assert (final.outcome, final.reason) == (Outcome.FAILED, Reason.INTERRUPTED)
    assert [(line.call, line.reason) for line in final.failed] == [("1.0", Reason.UNKNOWN)]
    assert [line.call for line in final.not_attempted] == ["1.1"]


@pytest.mark.clause("REPLY-6")
async def test_a_call_with_a_long_target_takes_one_line_of_the_account(record: Record) -> None:
    """Its own event has the whole of it."""
    script = "touch " + "\n".join(f"file-{number}" for number in range(400))
    events = [
        msgspec.structs.replace(event, target=script) if isinstance(event, CallStarted | CallFinished) else event
        for event in ran("1.0", "shell", Effect.EXECUTE, reason=Reason.TOOL_FAILED)
    ]
    final = await ended(record, Verdict(), response(1, "shell"), *events)
    (line,) = final.failed
    assert line.what.startswith("shell touch file-0 file-1 ")
    assert (len(line.what), line.what[-1]) == (201, "…")
    assert final.detail == f"{line.what}: {Reason.TOOL_FAILED.sentence}"


@pytest.mark.clause("REC-1", "REPLY-6")
async def test_whoever_ends_a_turn_second_is_told_the_first_end(record: Record) -> None:
    """Twenty enders at once leave one final event."""
    await record.append(*begun())
    ends = await asyncio.gather(*(record.commit(end_turn("t1", Verdict(detail=str(number)))) for number in range(20)))
    assert sum(first for _, first in ends) == 1
    assert len({seq for seq, _ in ends}) == 1
    assert sum(stored.kind == "turn_ended" for stored in record.turn_events("t1")) == 1


@pytest.mark.clause("BUD-3")
async def test_a_request_without_an_answer_is_charged_what_was_reserved(record: Record) -> None:
    """A turn that ends in the middle of an inference is never free."""
    sent = RequestSent(
        turn="t1",
        step=1,
        attempt=1,
        purpose="step",
        model="main",
        url="u",
        head="",
        messages=(),
        tail="",
        reserved_tokens=700,
        reserved_cost_usd=0.02,
    )
    final = await ended(record, Verdict(reason=Reason.INTERRUPTED), sent)
    assert (final.tokens_in, final.cost_usd, final.estimated) == (700, 0.02, True)


@pytest.mark.clause("JRN-5")
async def test_projections_rebuilt_from_the_events_are_the_same(record: Record) -> None:
    """Dropping the tables loses nothing."""
    refused = CallRefused(
        turn="t1",
        call="1.1",
        tool="shell",
        effect=Effect.EXECUTE,
        stage="policy",
        rule="person",
        reason=Reason.POLICY_VIOLATION,
        result="no",
        target="rm",
    )
    await ended(record, Verdict(), response(1, "write_file", "shell"), *ran("1.0", "write_file", Effect.WRITE), refused)
    before = {table: record.journal.query(f"select * from {table}") for table in TABLES}  # noqa: S608

    def drop(tx: Transaction) -> None:
        for table in TABLES:
            tx.execute(f"delete from {table}")  # noqa: S608 - names from our own schema

    record.journal.replay(projections.apply, prepare=drop)
    after = {table: record.journal.query(f"select * from {table}") for table in TABLES}  # noqa: S608
    assert before == after
    assert before["refused_intents"] == [("t1", "execute", "rm", "policy_violation", "no")]


@pytest.mark.clause("JRN-2")
async def test_tables_of_another_version_are_rebuilt_at_the_next_opening(tmp_path: Path) -> None:
    """Whatever form they had: they are dropped and made anew from the events."""
    record = Record.open(tmp_path / "journal.db", Clock())
    await ended(record, Verdict(), response(1, "write_file"), *ran("1.0", "write_file", Effect.WRITE))
    turn, calls = record.turn("t1"), record.calls_of("t1")

    def spoil(unit: Unit[GroupEvent]) -> None:
        unit.transaction.execute("drop table calls")
        unit.transaction.execute("create table calls (something integer) strict")
        unit.transaction.execute("update projection_version set version = 0")

    await record.commit(spoil)
    record.close()
    again = Record.open(tmp_path / "journal.db", Clock())
    assert (again.turn("t1"), again.calls_of("t1")) == (turn, calls)
    again.close()
