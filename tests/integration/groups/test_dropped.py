"""A message that was dropped never runs, whatever it waited for, and its turn has one final event (LANE-2)."""

import threading

import pytest

from host.errors import NotFound
from host.groups.port import Placement
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply

TOUCH = Call("shell", {"command": "echo hi >> made.txt"})


async def approved_behind_a_running_turn(stage: Stage, going: threading.Event) -> tuple[str, Placement]:
    """Let an unattended turn park, let another one run, allow the question; return both turns."""
    stage.model.script(
        Reply(calls=[TOUCH]), Reply(text="first", chunks=2, pause=going), Reply(text="made"), Reply(text="more")
    )
    parked = await stage.say("make it", unattended=True)
    await stage.until(lambda event: event.kind == "turn_parked")
    await stage.idle()
    running = await stage.say("first")
    await stage.until(lambda event: event.kind == "request_sent" and event.turn == running.turn)
    (question,) = await stage.group.approvals()
    await stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    return parked.turn, running


async def ended_dropped(stage: Stage, turn: str) -> None:
    """See that the turn has one final event that says so, is over, and ran nothing."""
    ended = [event for event in await stage.group.turn_events(turn) if event.kind == "turn_ended"]
    assert [event.data["reason"] for event in ended] == ["interrupted"]
    assert "dropped by test" in ended[0].data["detail"]
    assert (await stage.kinds(turn))[-1] == "turn_ended"
    assert await stage.group.queue() == ()
    assert not (stage.workspace / "made.txt").exists()


@pytest.mark.clause("LANE-2", "APR-4")
async def test_a_parked_turn_that_was_queued_and_dropped_never_runs(stage: Stage) -> None:
    """Its end is durable when the drop returns, and the end of the running turn does not take it up again."""
    going = threading.Event()
    turn, running = await approved_behind_a_running_turn(stage, going)
    (queued,) = await stage.group.queue()
    await stage.group.drop(queued.id, "test")
    await ended_dropped(stage, turn)
    going.set()
    await stage.ended(running)
    assert (await stage.ask("more")).data[
        "reply"
    ] == "made"  # the answer after the running turn's: nothing came between
    await ended_dropped(stage, turn)
    stage.close()
    await ended_dropped(stage, turn)
    with pytest.raises(NotFound):
        await stage.group.drop(queued.id, "test")


@pytest.mark.clause("LANE-2", "STOP-1")
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_parked_turn_that_was_held_and_dropped_never_runs(stage: Stage, *, restarted: bool) -> None:
    """Held by a Stop, before or after a restart, it is forgotten like any other message."""
    going = threading.Event()
    turn, running = await approved_behind_a_running_turn(stage, going)
    await stage.group.stop("", all_lanes=False, by="test")
    going.set()
    await stage.ended(running)
    if restarted:
        stage.close()
    (held,) = await stage.group.queue()
    assert held.state == "held"
    await stage.group.drop(held.id, "test")
    await ended_dropped(stage, turn)
    await stage.ask("more")
    await ended_dropped(stage, turn)


@pytest.mark.clause("LANE-2", "REC-1", "STOP-1")
async def test_a_message_steered_before_a_restart_gets_a_turn_of_its_own_after_a_stop(stage: Stage) -> None:
    """It had not entered the turn that it was promised to, so it does not belong to that one any more."""
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="its own"))
    running = await stage.say("work")
    await stage.question()
    steered = await stage.say("a hint")
    assert steered.disposition == "steered"
    stage.close()
    await stage.group.stop("", all_lanes=False, by="test")
    assert (await stage.ended(running)).data["reason"] == "interrupted"
    stage.close()
    released = await stage.group.release(steered.message)
    assert released.turn not in {"", running.turn}
    assert (await stage.ended(released)).data["reply"] == "its own"
