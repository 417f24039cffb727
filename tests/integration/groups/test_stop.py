"""Stop in every state that a chat turn can be in, and what becomes of what waits (STOP-1, STOP-2)."""

import asyncio
import sys
import threading
from types import FrameType

import psutil
import pytest

from tests.integration.groups.stage import BOUND, Stage
from tests.scripted_model import Call, Hang, Reply

SLEEP = Call("shell", {"command": "(setsid sleep 4831 &) ; echo up > up.txt; sleep 4831"})


def sleepers() -> list[str]:
    """Return the sleeping children that a test's command started."""
    return [p.info["name"] for p in psutil.process_iter(["name", "cmdline"]) if "4831" in (p.info["cmdline"] or [])]


def blocked() -> bool:
    """Whether some thread stands in an armed fault."""
    return any(frame.f_code.co_filename.endswith("host/faults.py") for frame in _innermost())


def _innermost() -> list[FrameType]:
    frames = list(sys._current_frames().values())  # pyright: ignore[reportPrivateUsage] - the only way to see where threads stand
    return [frame for top in frames for frame in (top, top.f_back) if frame is not None]


async def stopped(stage: Stage, turn: str) -> None:
    """Stop the group and see that the turn ended once, interrupted, with nothing left in the lane."""
    told = await stage.group.stop("", all_lanes=False, by="test")
    assert told.turns == (turn,)
    events = await stage.group.turn_events(turn)
    assert [event.data["reason"] for event in events if event.kind == "turn_ended"] == ["interrupted"]
    assert (await stage.group.view()).lanes[0].state == "idle"


@pytest.mark.clause("STOP-1", "STOP-2")
async def test_stop_in_the_middle_of_a_stream_keeps_the_part_that_was_said(stage: Stage) -> None:
    """The reply so far is in the final event, and its tokens are charged as an estimate."""
    never = threading.Event()
    stage.model.script(Reply(text="one two three four five six", chunks=6, pause=never, pause_after=3))
    placement = await stage.say()
    cursor = 0
    async with asyncio.timeout(BOUND):
        while not (watched := await stage.group.watch(10**9, cursor, BOUND)).drafts[-1:] or not watched.drafts[-1].text:
            cursor = watched.cursor
    await stopped(stage, placement.turn)
    (ended,) = [e for e in await stage.group.turn_events(placement.turn) if e.kind == "turn_ended"]
    assert "one two three four".startswith(ended.data["reply"].strip()[:8])
    assert ended.data["estimated"] is True
    assert ended.data["tokens_in"] > 0
    never.set()


@pytest.mark.clause("STOP-2")
async def test_stop_before_the_first_byte_of_an_answer(stage: Stage) -> None:
    """A provider that says nothing holds nobody."""
    stage.model.script(Hang())
    placement = await stage.say()
    await stage.until(lambda event: event.kind == "request_sent")
    await stopped(stage, placement.turn)


@pytest.mark.clause("STOP-2", "BOX-1")
async def test_stop_in_the_shell_ends_the_command_and_all_it_started(stage: Stage) -> None:
    """Children that left their session die with the sandbox."""
    stage.model.script(Reply(calls=[SLEEP]))
    placement = await stage.say()
    question = await stage.question()
    await stage.group.settle(question.id, verdict="allowed", by="test", text="")
    async with asyncio.timeout(BOUND):
        while len(sleepers()) < 2:
            await asyncio.sleep(0.01)  # another program's start can only be looked for
    await stopped(stage, placement.turn)
    async with asyncio.timeout(1):
        while sleepers():
            await asyncio.sleep(0.01)
    failed = [e.data for e in await stage.group.turn_events(placement.turn) if e.kind == "call_finished"]
    assert [call["reason"] for call in failed] == ["interrupted"]


@pytest.mark.clause("STOP-2", "APR-3")
async def test_stop_while_a_person_is_awaited_withdraws_the_question(stage: Stage) -> None:
    """Nobody needs to answer for a turn that is over; an answer all the same changes nothing."""
    stage.model.script(Reply(calls=[SLEEP]))
    placement = await stage.say()
    question = await stage.question()
    await stopped(stage, placement.turn)
    assert await stage.group.approvals() == ()
    late = await stage.group.settle(question.id, verdict="allowed", by="test", text="")
    assert (late.settled, late.verdict) == (False, "withdrawn")


@pytest.mark.clause("STOP-2")
@pytest.mark.parametrize("fault", ["turn.chat=busy:2", "turn.chat=delay:2"])
async def test_stop_with_a_blocked_loop_replaces_the_lane(stage: Stage, fault: str) -> None:
    """The control door itself ends the turn; the next message runs on a new thread."""
    stage.faults = fault
    stage.model.script(Reply(text="never sent"), Reply(text="never sent either"))
    placement = await stage.say()
    async with asyncio.timeout(BOUND):
        while not blocked():
            await asyncio.sleep(0.005)  # another thread's standstill can only be looked for
    await stopped(stage, placement.turn)
    kinds = await stage.kinds(placement.turn)
    assert kinds[-2:] == ["turn_ended", "lane_replaced"]
    assert (await stage.group.view()).lanes[0].generation == 2
    again = await stage.say("again")
    assert again.disposition == "started"
    assert (await stage.ended(again)).data["outcome"] == "success"


@pytest.mark.clause("STOP-1")
async def test_what_waited_is_held_after_a_stop_and_a_new_message_starts(stage: Stage) -> None:
    """Nothing queued starts by itself; release lets one go on, drop forgets one."""
    going = threading.Event()
    stage.model.script(Reply(text="first", chunks=2, pause=going), Reply(text="new"), Reply(text="released"))
    running = await stage.say("first")
    await stage.until(lambda event: event.kind == "request_sent")
    later = [await stage.say(f"later {number}", priority="later") for number in range(2)]
    steered = await stage.say("into the turn")
    assert [p.disposition for p in (*later, steered)] == ["queued", "queued", "steered"]
    await stopped(stage, running.turn)
    going.set()
    assert {entry.state for entry in await stage.group.queue()} == {"held"}
    new = await stage.say("new")
    assert new.disposition == "started"
    assert (await stage.ended(new)).data["reply"] == "new"
    assert len(await stage.group.queue()) == 3
    released = await stage.group.release(later[0].message)
    assert (await stage.ended(released)).data["reply"] == "released"
    await stage.group.drop(later[1].message, "test")
    assert [entry.id for entry in await stage.group.queue()] == [steered.message]


@pytest.mark.clause("STOP-1")
async def test_a_stop_word_is_a_stop(stage: Stage) -> None:
    """In any of the group's languages, whatever its case and width."""
    stage.model.respond(lambda _request, _index: Hang())
    for word in ("stop", "  STOP ", "стоп", "停止", "やめて", "ＳＴＯＰ"):
        placement = await stage.say("work")
        told = await stage.say(word)
        assert (told.disposition, told.turn) == ("stopped", placement.turn)
        assert (await stage.ended(placement)).data["reason"] == "interrupted"


@pytest.mark.clause("LANE-2")
async def test_now_interrupts_and_starts_and_the_work_so_far_is_named(stage: Stage) -> None:
    """The interrupted turn's calls are in the new turn's context."""
    stage.model.script(
        Reply(calls=[Call("write_file", {"path": "kept.txt", "content": "x"})]), Hang(), Reply(text="the new thing")
    )
    first = await stage.say("long work")
    await stage.until(lambda event: event.kind == "request_sent" and event.data["step"] == 2)
    urgent = await stage.say("this first", priority="now")
    assert urgent.disposition == "interrupting"
    assert (await stage.ended(first)).data["reason"] == "interrupted"
    assert (await stage.ended(urgent)).data["reply"] == "the new thing"
    assert b"Done before that: write_file kept.txt" in stage.model.requests[-1].body


@pytest.mark.clause("LANE-2")
async def test_a_message_to_a_running_turn_enters_before_its_next_inference(stage: Stage) -> None:
    """It is steered, and its words stand after the results of the step."""
    going = threading.Event()
    stage.model.script(
        Reply(calls=[Call("list_files", {})], pause=going, pause_after=0, text="looking", chunks=2),
        Reply(text="with your hint"),
    )
    running = await stage.say("work")
    await stage.until(lambda event: event.kind == "request_sent")
    hint = await stage.say("a hint")
    assert (hint.disposition, hint.turn) == ("steered", running.turn)
    going.set()
    assert (await stage.ended(running)).data["reply"] == "with your hint"
    assert b"a hint" in stage.model.requests[1].body


@pytest.mark.clause("LANE-2")
async def test_a_message_that_comes_during_the_last_inference_is_not_lost(stage: Stage) -> None:
    """The turn goes on with it instead of ending."""
    going = threading.Event()
    stage.model.script(Reply(text="I am done", chunks=2, pause=going), Reply(text="and now with that"))
    running = await stage.say("work")
    await stage.until(lambda event: event.kind == "request_sent")
    await stage.say("one more thing")
    going.set()
    ended = await stage.ended(running)
    assert ended.data["reply"] == "and now with that"
    assert (await stage.kinds(running.turn)).count("message_entered") == 1


@pytest.mark.clause("LANE-2")
async def test_a_message_between_a_turns_final_event_and_its_end_starts_a_turn_of_its_own(stage: Stage) -> None:
    """It is not promised to a turn that is over."""
    stage.faults = "turn.after_end=delay:0.3"
    stage.model.script(Reply(text="first"), Reply(text="second"))
    first = await stage.say("one")
    await stage.ended(first)
    second = await stage.say("two")
    assert second.disposition == "queued"
    assert (await stage.ended(second)).data["reply"] == "second"


@pytest.mark.clause("LANE-2")
async def test_of_two_now_messages_the_second_interrupts_the_first(stage: Stage) -> None:
    """Each of the three turns ends, the last one with its reply."""
    stage.model.respond(lambda request, _index: Reply(text="the last") if "two" in str(request["messages"]) else Hang())
    running = await stage.say("work")
    await stage.until(lambda event: event.kind == "request_sent")
    one, two = await asyncio.gather(stage.say("now one", priority="now"), stage.say("now two", priority="now"))
    assert (await stage.ended(running)).data["reason"] == "interrupted"
    assert (await stage.ended(one)).data["reason"] == "interrupted"
    assert (await stage.ended(two)).data["reply"] == "the last"
