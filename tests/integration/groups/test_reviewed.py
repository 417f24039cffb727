"""Turns at their edges: what broke off, identical calls of one step, words of Stop, and a clock with many hands."""

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from host.config.settings import BudgetSettings, GroupSettings, PolicySettings
from host.errors import ProtocolViolation
from host.groups.port import Say
from host.passport import Decision
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Hang, Reply

BREAK = Call("shell", {"command": "echo x > half.txt; sleep 60"})


@pytest.mark.clause("REPLY-6", "CTX-1")
async def test_a_call_that_was_broken_off_is_told_as_such_also_after_a_restart(stage: Stage) -> None:
    """It is never said that it was not run, and the bytes of the history stay the same."""
    stage.model.script(Reply(calls=[BREAK]), Reply(text="two"), Reply(text="three"))
    placement = await stage.say("work")
    question = await stage.question()
    await stage.group.settle(question.id, verdict="allowed", by="test", text="")
    async with asyncio.timeout(20):
        while not (stage.workspace / "half.txt").exists():
            await asyncio.sleep(0.01)
    await stage.group.stop("", all_lanes=False, by="test")
    assert (await stage.ended(placement)).data["reason"] == "interrupted"
    await stage.ask("go on")
    stage.close()
    await stage.ask("and on")
    second, third = (request.body for request in stage.model.requests[1:3])
    assert b"may have done a part" in second
    assert b"was not run" not in second
    history = second[: second.index(b"go on")]
    assert third.startswith(history)


@pytest.mark.clause("LOOP-1")
async def test_identical_calls_of_one_step_are_judged_one_after_the_other(stage: Stage) -> None:
    """The third is not run."""
    stage.workspace.mkdir(parents=True)
    (stage.workspace / "a").write_text("same")
    stage.model.script(Reply(calls=[Call("read_file", {"path": "a"})] * 8))
    ended = await stage.ask()
    kinds = await stage.kinds(ended.turn)
    assert ended.data["reason"] == "no_progress"
    assert (kinds.count("call_finished"), kinds.count("call_refused")) == (2, 1)


@pytest.mark.clause("REC-6", "STOP-1")
async def test_a_stop_word_sent_twice_stops_once(stage: Stage) -> None:
    """The same message again does not reach the next turn, and its words are in the journal."""
    stage.model.respond(lambda _request, _index: Hang())
    word = Say(text="stop", key="the-key")
    first = await stage.say("one")
    told = await stage.group.say(word)
    await stage.idle()
    second = await stage.say("two")
    await stage.until(lambda event: event.kind == "turn_started" and event.turn == second.turn)
    again = await stage.group.say(word)
    assert (told.disposition, again.disposition, again.turn) == ("stopped", "stopped", first.turn)
    assert "turn_ended" not in await stage.kinds(second.turn)
    said = [event.data["text"] for event in await stage.group.events(0, 100) if event.kind == "message_received"]
    assert said == ["one", "stop", "two"]


@pytest.mark.clause("BUD-1")
async def test_the_clock_stands_still_while_one_of_two_calls_waits_for_a_person(stage: Stage) -> None:
    """The other one is answered and over; nobody works, so no seconds pass."""
    choices = {"read": Decision.ASK}
    stage.settings = GroupSettings(policy=PolicySettings(choices=choices), budget=BudgetSettings(seconds=4))
    both = [Call("list_files", {}), Call("list_files", {"path": ".", "limit": 5})]
    stage.model.script(Reply(calls=both), Reply(text="listed"))
    placement = await stage.say()
    async with asyncio.timeout(20):
        while len(await stage.group.approvals()) < 2:
            await asyncio.sleep(0.01)
    one, two = await stage.group.approvals()
    await stage.group.settle(one.id, verdict="allowed", by="test", text="")
    await asyncio.sleep(4.2)  # the real clock has to pass the limit
    await stage.group.settle(two.id, verdict="allowed", by="test", text="")
    assert (await stage.ended(placement)).data["outcome"] == "success"


@pytest.mark.clause("TURN-2")
async def test_a_copy_that_cannot_be_read_does_not_keep_the_group_from_opening(stage: Stage) -> None:
    """The disk was full for the copy too; the turn is resumed instead."""
    stage.model.script(Reply(text="fine"))
    folder = stage.root / "run" / "unrecorded" / "main"
    folder.mkdir(parents=True)
    (folder / "t1.json").write_bytes(b"")
    assert (await stage.ask()).data["reply"] == "fine"
    assert [file.name for file in folder.iterdir()] == ["t1.unreadable"]


@pytest.mark.clause("TURN-2")
async def test_a_final_event_of_a_turn_that_never_began_is_entered_at_the_next_start(stage: Stage) -> None:
    """Its message does not run after its sender was told that it failed."""
    going = threading.Event()
    stage.model.script(Reply(text="first", chunks=2, pause=going), Reply(text="never"))
    running = await stage.say("first")
    await stage.until(lambda event: event.kind == "request_sent")
    copy = {"turn": running.turn, "detail": "the disk was full"}
    stage.close()
    going.set()
    file = Path(stage.root / "run" / "unrecorded" / "main" / f"{running.turn}.json")
    file.parent.mkdir(parents=True)
    file.write_bytes(msgspec.json.encode(copy))
    ended = await stage.ended(running)
    assert (ended.data["reason"], ended.data["detail"]) == ("audit_failure", "the disk was full")
    assert not file.exists()


@pytest.mark.clause("BUD-4")
async def test_a_command_that_the_seconds_broke_off_is_told_as_such_in_the_wrap_up(stage: Stage) -> None:
    """It ran, and it did not end well."""
    stage.settings = GroupSettings(budget=BudgetSettings(seconds=2))
    stage.model.script(Reply(calls=[BREAK]), Reply(text="It took too long."))
    placement = await stage.say()
    question = await stage.question()
    await stage.group.settle(question.id, verdict="allowed", by="test", text="")
    ended = await stage.ended(placement)
    assert (ended.data["reason"], ended.data["reply"]) == ("budget_exhausted", "It took too long.")
    wrap_up = stage.model.requests[-1].body
    assert b"failed: interrupted" in wrap_up
    assert b"not run" not in wrap_up


@pytest.mark.clause("JRN-3")
@pytest.mark.parametrize("text", ["", " ", "\0", "!", "a" * 1001])
async def test_a_search_for_nothing_or_too_much_blames_the_query(stage: Stage, text: str) -> None:
    """The journal is well, and what to look for is asked for."""
    with pytest.raises(ProtocolViolation, match=r"text: .*give"):
        await stage.group.search(text, 20)
