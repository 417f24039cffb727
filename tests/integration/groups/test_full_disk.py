"""A disk that fills up and gets room again: nothing accepted is lost or hidden, and the group goes on by itself."""

import asyncio
import threading

import pytest

from host.errors import AuditFailure
from host.groups.port import Placement
from tests.integration.groups.full_disk import full_disk
from tests.integration.groups.stage import BOUND, Stage
from tests.scripted_model import Call, Hang, Reply

PROMPT_SECONDS = 5.0  # far below the ten that a Stop waits for a message on its way into the journal

TOUCH = Call("shell", {"command": "echo hi >> made.txt"})


async def under_way(stage: Stage) -> tuple[Placement, Placement]:
    """Let one turn be in its inference and another message wait; return both."""
    running = await stage.say("first")
    await asyncio.to_thread(stage.model.wait_requests, 1, BOUND)
    return running, await stage.say("second", priority="later")


async def finals(stage: Stage, turn: str) -> list[str]:
    """Return the reasons of a turn's final events in the journal."""
    return [event.data["reason"] for event in await stage.group.turn_events(turn) if event.kind == "turn_ended"]


@pytest.mark.clause("TURN-2", "OPS-5", "LANE-2")
async def test_a_group_goes_on_by_itself_when_there_is_room_again(stage: Stage) -> None:
    """The final event that was told is entered, and what waited, shown meanwhile, runs without another word."""
    going = threading.Event()
    stage.model.script(Reply(text="first", chunks=2, pause=going), Reply(text="second"))
    running, waiting = await under_way(stage)
    with full_disk(stage):
        going.set()
        assert (await stage.ended(running)).data["reason"] == "audit_failure"
        await stage.idle()
        assert [(entry.id, entry.state) for entry in await stage.group.queue()] == [(waiting.message, "queued")]
        assert (await stage.group.view()).lanes[0].queued == 1
    started = await stage.until(
        lambda event: event.data.get("message") == waiting.message and event.kind == "turn_started"
    )
    ended = await stage.until(lambda event: event.kind == "turn_ended" and event.turn == started.turn)
    assert (ended.data["reply"], ended.data["reason"]) == ("second", None)
    assert await finals(stage, running.turn) == ["audit_failure"]


@pytest.mark.clause("STOP-1", "STOP-2", "OPS-5")
async def test_a_stop_on_a_full_disk_says_that_it_could_not_be_recorded(stage: Stage) -> None:
    """At once, and what waited is held instead of running when there is room again."""
    going = threading.Event()
    stage.model.script(Reply(text="first", chunks=2, pause=going), Reply(text="second"))
    running, waiting = await under_way(stage)
    with full_disk(stage):
        going.set()
        await stage.ended(running)
        await stage.idle()
        with pytest.raises(AuditFailure):
            await asyncio.wait_for(stage.group.stop("", all_lanes=False, by="test"), PROMPT_SECONDS)
    told = await asyncio.wait_for(stage.group.stop("", all_lanes=False, by="test"), PROMPT_SECONDS)
    assert told.turns == ()
    assert [(entry.id, entry.state) for entry in await stage.group.queue()] == [(waiting.message, "held")]
    released = await stage.group.release(waiting.message)
    assert (await stage.ended(released)).data["reply"] == "second"


@pytest.mark.clause("STOP-1", "TURN-2", "OPS-5")
async def test_a_stop_does_not_report_a_turn_whose_end_the_journal_could_not_take(stage: Stage) -> None:
    """The turn is broken off and its sender told; the Stop fails, and the event is entered later, once."""
    stage.model.script(Hang())
    running = await stage.say("first")
    await stage.until(lambda event: event.kind == "request_sent")
    with full_disk(stage):
        with pytest.raises(AuditFailure):
            await asyncio.wait_for(stage.group.stop("", all_lanes=False, by="test"), PROMPT_SECONDS)
        assert (await stage.ended(running)).data["reason"] == "audit_failure"
        assert await finals(stage, running.turn) == []
    async with asyncio.timeout(BOUND):
        while not await finals(stage, running.turn):
            await stage.group.watch(stage.group._record.journal.last_seq(), 0, 0.05)  # pyright: ignore[reportPrivateUsage] - the next event, not those before it
    assert await finals(stage, running.turn) == ["audit_failure"]


@pytest.mark.clause("LANE-3", "OPS-5")
async def test_what_the_journal_could_not_let_go_still_waits(stage: Stage) -> None:
    """A drop or a release that failed leaves the message where it was, and can be tried again."""
    stage.model.script(Hang(), Reply(text="second"))
    _, waiting = await under_way(stage)
    await stage.group.stop("", all_lanes=False, by="test")
    with full_disk(stage):
        with pytest.raises(AuditFailure):
            await stage.group.release(waiting.message)
        assert [(entry.id, entry.state) for entry in await stage.group.queue()] == [(waiting.message, "held")]
        with pytest.raises(AuditFailure):
            await stage.group.drop(waiting.message, "test")
        assert [(entry.id, entry.state) for entry in await stage.group.queue()] == [(waiting.message, "held")]
    released = await stage.group.release(waiting.message)
    assert (await stage.ended(released)).data["reply"] == "second"


@pytest.mark.clause("APR-4", "OPS-5")
async def test_a_parked_turn_whose_placement_failed_is_taken_up_when_there_is_room(stage: Stage) -> None:
    """Its question had been answered before the disk was full; nobody has to say anything for it to go on."""
    going = threading.Event()
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="first", chunks=2, pause=going), Reply(text="made"))
    parked = await stage.say("make it", unattended=True)
    await stage.until(lambda event: event.kind == "turn_parked")
    await stage.idle()
    running = await stage.say("first")
    await stage.until(lambda event: event.kind == "request_sent" and event.turn == running.turn)
    (question,) = await stage.group.approvals()
    desk = stage.group._parts.desk  # pyright: ignore[reportPrivateUsage] - the answer alone, before anybody acts on it
    await desk.settle(question.id, verdict="allowed", by="operator")
    with full_disk(stage):
        going.set()
        await stage.ended(running)
        await stage.idle()
    ended = await stage.until(lambda event: event.kind == "turn_ended" and event.turn == parked.turn)
    assert ended.data["reply"] == "made"
    assert (stage.workspace / "made.txt").read_text() == "hi\n"
