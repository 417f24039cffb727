"""Attended and unattended messages never share a turn, so that neither waits for the wrong one (APR-4)."""

import asyncio
import threading

import pytest

from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply

TOUCH = Call("shell", {"command": "echo hi >> made.txt"})


@pytest.mark.clause("APR-4", "LANE-2")
@pytest.mark.parametrize("restarted", [False, True])
async def test_an_unattended_message_does_not_enter_a_persons_turn(stage: Stage, *, restarted: bool) -> None:
    """It is queued, gets a turn of its own, and parks at its question instead of waiting the time-out away."""
    stage.model.respond(
        lambda request, _index: (
            Reply(calls=[TOUCH])
            if "by yourself" in str(request["messages"])
            else Reply(calls=[Call("ask_person", {"question": "Which?"})])
            if "blue" not in str(request["messages"])
            else Reply(text="blue, then")
        )
    )
    running = await stage.say("paint it")
    await stage.question()
    alone = await stage.say("by yourself", unattended=True)
    assert (alone.disposition, alone.position, alone.turn) == ("queued", 1, "")
    if restarted:
        stage.close()
    answer = await stage.say("blue")
    assert answer.disposition == "steered"
    assert (await stage.ended(running)).data["reply"] == "blue, then"
    parked = await stage.until(lambda event: event.kind == "turn_parked")
    assert parked.turn != running.turn
    assert [
        event.data["message"] for event in await stage.group.turn_events(parked.turn) if event.kind == "turn_started"
    ] == [alone.message]


@pytest.mark.clause("APR-4", "LANE-2")
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_person_does_not_enter_an_unattended_turn(stage: Stage, *, restarted: bool) -> None:
    """What the person asked for is asked about and not parked; another unattended message does enter."""
    going = threading.Event()
    stage.model.respond(
        lambda request, _index: (
            Reply(calls=[TOUCH])
            if "I am here" in str(request["messages"])
            else Reply(text="alone", chunks=2, pause=going)
        )
    )
    running = await stage.say("by yourself", unattended=True)
    await asyncio.to_thread(stage.model.wait_requests, 1, 20)
    here = await stage.say("I am here")
    too = await stage.say("that too", unattended=True)
    assert (here.disposition, here.position) == ("queued", 1)
    assert (too.disposition, too.turn) == ("steered", running.turn)
    if restarted:
        stage.close()
        await stage.until(lambda event: event.kind == "turn_resumed")
        await asyncio.to_thread(stage.model.wait_requests, 2, 20)
    going.set()
    assert (await stage.ended(running)).data["reply"] == "alone"
    question = await stage.question()
    assert [e.data["message"] for e in await stage.group.turn_events(question.turn) if e.kind == "turn_started"] == [
        here.message
    ]
    assert "turn_parked" not in await stage.kinds(question.turn)
    assert (await stage.group.view()).lanes[0].state == "waiting"
