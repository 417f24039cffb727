"""Parked turns are never lost, whatever comes between the question and its answer (APR-4, REC-1)."""

import asyncio
import functools
import threading

import pytest

from host.config.settings import GroupSettings, LaneSettings
from host.groups.port import EventView
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply

TOUCH = Call("shell", {"command": "echo hi >> made.txt"})


async def parked(stage: Stage) -> tuple[str, str]:
    """Let an unattended turn park; return its turn and question."""
    placement = await stage.say("make it", unattended=True)
    await stage.until(lambda event: event.kind == "turn_parked")
    await stage.idle()
    (question,) = await stage.group.approvals()
    return placement.turn, question.id


async def allow(stage: Stage, question: str) -> None:
    """Say yes."""
    await stage.group.settle(question, verdict="allowed", by="operator", text="")


async def final(stage: Stage, turn: str) -> str:
    """Return the reason of a turn's one final event, or that it succeeded."""
    ended = await stage.until(lambda event: event.kind == "turn_ended" and event.turn == turn)
    assert (await stage.kinds(turn)).count("turn_ended") == 1
    return str(ended.data["reason"] or "success")


def made(stage: Stage) -> list[str]:
    """Return what the command wrote."""
    file = stage.workspace / "made.txt"
    return file.read_text().split() if file.exists() else []


def _asked_by(turn: str, event: EventView) -> bool:
    return event.kind == "approval_asked" and event.turn == turn


@pytest.mark.clause("APR-4")
async def test_an_answer_that_comes_before_the_turn_has_parked_counts(stage: Stage) -> None:
    """Whoever answers at the first sight of the question is not too early."""
    stage.model.script(*[Reply(calls=[TOUCH]), Reply(text="made")] * 5)
    for number in range(5):
        placement = await stage.say(f"make {number}", unattended=True)
        asked = await stage.until(functools.partial(_asked_by, placement.turn))
        await allow(stage, asked.data["approval"])
        assert await final(stage, placement.turn) == "success"
        await stage.idle()
    assert made(stage) == ["hi"] * 5


@pytest.mark.clause("APR-4", "REC-1")
async def test_an_answer_that_was_durable_when_the_group_went_down_is_taken_up(stage: Stage) -> None:
    """Nobody has to answer again."""
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="made"))
    turn, question = await parked(stage)
    await stage.group._parts.desk.settle(question, verdict="allowed", by="operator")  # pyright: ignore[reportPrivateUsage] - as if the process had died right after
    stage.close()
    assert await final(stage, turn) == "success"
    assert made(stage) == ["hi"]


@pytest.mark.clause("APR-4", "LANE-3")
async def test_a_full_queue_delays_an_answered_turn_and_does_not_lose_it(stage: Stage) -> None:
    """The answer is taken, and the turn follows when there is room."""
    stage.settings = GroupSettings(lanes=LaneSettings(queue=1))
    going = threading.Event()
    stage.model.script(
        Reply(calls=[TOUCH]), Reply(text="first", chunks=2, pause=going), Reply(text="second"), Reply(text="made")
    )
    turn, question = await parked(stage)
    running = await stage.say("first")
    await stage.until(lambda event: event.kind == "request_sent" and event.turn == running.turn)
    waiting = await stage.say("second", priority="later")
    await allow(stage, question)
    going.set()
    assert (await stage.ended(waiting)).data["reply"] == "second"
    assert await final(stage, turn) == "success"


@pytest.mark.clause("APR-4", "STOP-1", "REC-1")
async def test_a_stop_holds_an_answered_turn_as_what_it_is(stage: Stage) -> None:
    """Released after a restart, the same turn goes on; nothing runs twice."""
    going = threading.Event()
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="first", chunks=2, pause=going), Reply(text="made"))
    turn, question = await parked(stage)
    running = await stage.say("first")
    await stage.until(lambda event: event.kind == "request_sent" and event.turn == running.turn)
    await allow(stage, question)
    await stage.group.stop("", all_lanes=False, by="test")
    going.set()
    stage.close()
    (held,) = await stage.group.queue()
    assert held.state == "held"
    await stage.group.release(held.id)
    assert await final(stage, turn) == "success"
    assert made(stage) == ["hi"]


@pytest.mark.clause("APR-4", "STOP-1")
async def test_stop_all_ends_parked_turns_answered_or_not(stage: Stage) -> None:
    """Nothing of them waits afterwards, and their questions need no answer."""
    going = threading.Event()
    stage.model.script(*[Reply(calls=[TOUCH])] * 2, Reply(text="first", chunks=2, pause=going))
    answered = await stage.say("one", unattended=True)
    await stage.until(lambda event: event.kind == "turn_parked" and event.turn == answered.turn)
    await stage.idle()
    (first,) = await stage.group.approvals()
    silent = await stage.say("two", unattended=True)
    await stage.until(lambda event: event.kind == "turn_parked" and event.turn == silent.turn)
    await stage.idle()
    running = await stage.say("first")
    await stage.until(lambda event: event.kind == "request_sent" and event.turn == running.turn)
    await allow(stage, first.id)
    stopped = await stage.group.stop("", all_lanes=True, by="test")
    going.set()
    assert set(stopped.turns) == {answered.turn, silent.turn, running.turn}
    for placement in (answered, silent, running):
        assert await final(stage, placement.turn) == "interrupted"
    stage.close()
    assert (await stage.group.queue(), await stage.group.approvals()) == ((), ())
    assert made(stage) == []


@pytest.mark.clause("APR-3", "REC-7")
async def test_restarts_do_not_end_a_turn_that_waits_for_a_person(stage: Stage) -> None:
    """Only a lack of progress does."""
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="made"))
    placement = await stage.say()
    question = await stage.question()
    for _ in range(5):
        stage.close()
        assert [waiting.id for waiting in await stage.group.approvals()] == [question.id]
    await allow(stage, question.id)
    assert await final(stage, placement.turn) == "success"


@pytest.mark.clause("APR-3", "LANE-3")
async def test_an_answer_that_comes_too_late_reaches_the_model_as_a_message(stage: Stage) -> None:
    """The question was settled a moment before: the words are not lost."""
    stage.model.script(
        Reply(calls=[Call("ask_person", {"question": "Which?"})]), Reply(text="on my own"), Reply(text="blue, then")
    )
    placement = await stage.say("paint it")
    question = await stage.question()
    late, _ = await asyncio.gather(
        stage.say("blue"), stage.group.settle(question.id, verdict="denied", by="other", text="")
    )
    ended = await stage.ended(placement)
    heard = [request for request in stage.model.requests if b"blue" in request.body]
    if not heard:
        await stage.ended(late)
        heard = [request for request in stage.model.requests if b"blue" in request.body]
    assert ended.data["outcome"] in {"success", "failed"}
    assert heard
