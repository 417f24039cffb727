"""What a group takes up when it is opened again (REC-1, REC-2, REC-7), and that groups stand alone (LANE-4)."""

import asyncio
import threading
from pathlib import Path

import pytest

from host.config.settings import SecretSettings
from host.groups.port import Say
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Hang, Reply, ScriptedModel


@pytest.mark.clause("REC-1")
async def test_a_turn_goes_on_after_the_group_was_closed_in_its_middle(stage: Stage) -> None:
    """The inference that was under way is charged and asked again; the calls before it are not."""
    stage.model.script(Reply(calls=[Call("write_file", {"path": "a", "content": "x"})]), Hang(), Reply(text="finished"))
    placement = await stage.say()
    await asyncio.to_thread(stage.model.wait_requests, 2, 20)
    stage.close()
    ended = await stage.ended(placement)
    kinds = await stage.kinds(placement.turn)
    assert (ended.data["outcome"], ended.data["reply"]) == ("success", "finished")
    assert kinds.count("call_started") == kinds.count("turn_resumed") == kinds.count("turn_ended") == 1
    assert ended.data["estimated"] is True


@pytest.mark.clause("REC-7")
async def test_a_turn_resumed_three_times_without_progress_ends_unknown(stage: Stage) -> None:
    """It names the last event, and the group goes on with the next message."""
    stage.model.script(Hang(), Hang(), Hang(), Hang(), Reply(text="next"))
    placement = await stage.say()
    for times in range(4):
        sent = times + 1
        await asyncio.to_thread(stage.model.wait_requests, sent, 20)
        stage.close()
        if times < 3:
            assert (await stage.kinds(placement.turn)).count("turn_ended") == 0
    ended = await stage.ended(placement)
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "unknown")
    assert "turn_started" in ended.data["detail"]
    assert (await stage.ask("another")).data["reply"] == "next"


@pytest.mark.clause("REC-2", "REC-6")
async def test_the_same_message_sent_twice_is_one_message(stage: Stage) -> None:
    """A sender that lost the answer asks again under its key and is told the same turn."""
    stage.model.script(Reply(text="once"))
    same = Say(text="hello", key="k")
    first, second = await asyncio.gather(stage.group.say(same), stage.group.say(same))
    assert (second.message, second.turn) == (first.message, first.turn)
    await stage.ended(first)
    third = await stage.group.say(Say(text="hello", key="k"))
    assert third.turn == first.turn
    assert len(stage.model.requests) == 1


@pytest.mark.clause("REC-2")
async def test_a_watcher_that_comes_back_gets_the_reply_exactly_once(stage: Stage) -> None:
    """Events after the last one seen, in order, without gap or double."""
    stage.model.script(Reply(text="the reply"))
    ended = await stage.ask()
    everything = await stage.group.events(0, 1000)
    seen = everything[: len(everything) // 2]
    rest = (await stage.group.watch(seen[-1].seq, 0, 1)).events
    assert [event.seq for event in (*seen, *rest)] == list(range(1, ended.seq + 1))
    assert sum(event.kind == "turn_ended" for event in rest) == 1


@pytest.mark.clause("STOP-1", "LANE-3")
async def test_what_waited_before_a_restart_still_waits(stage: Stage) -> None:
    """Queued messages run in their order after the turn that was under way; held ones stay held."""
    stage.model.script(Hang(), Hang(), Hang(), Reply(text="zero"), Reply(text="one"), Reply(text="two"))
    stopped = await stage.say("first")
    held = await stage.say("held", priority="later")
    await asyncio.to_thread(stage.model.wait_requests, 1, 20)
    await stage.group.stop("", all_lanes=False, by="test")
    running = await stage.say("zero")
    one = await stage.say("one", priority="later")
    two = await stage.say("two", priority="later")
    await asyncio.to_thread(stage.model.wait_requests, 2, 20)
    stage.close()
    await stage.until(lambda event: event.kind == "turn_resumed")
    await asyncio.to_thread(stage.model.wait_requests, 3, 20)
    stage.close()
    replies = [(await stage.ended(placement)).data["reply"] for placement in (running, one, two)]
    assert replies == ["zero", "one", "two"]
    assert (await stage.ended(stopped)).data["reason"] == "interrupted"
    assert [(entry.id, entry.state) for entry in await stage.group.queue()] == [(held.message, "held")]


@pytest.mark.clause("SEC-2")
async def test_a_secret_that_cannot_be_had_fails_the_call_and_names_it(stage: Stage) -> None:
    """The call does not run without it."""
    stage.secrets = {"absent": SecretSettings(ref="env:ELIS_TEST_NO_SUCH_SECRET", tools=("shell",))}
    stage.model.script(Reply(calls=[Call("shell", {"command": "echo «secret:absent» > out.txt"})]), Reply(text="no"))
    placement = await stage.say()
    question = await stage.question()
    await stage.group.settle(question.id, verdict="allowed", by="test", text="")
    ended = await stage.ended(placement)
    assert ended.data["reason"] == "secret_missing"
    refused = [e.data for e in await stage.group.turn_events(ended.turn) if e.kind == "call_refused"]
    assert "ELIS_TEST_NO_SUCH_SECRET" in refused[0]["result"]


@pytest.mark.clause("SEC-2", "JRN-4")
async def test_a_lent_secret_is_used_and_never_written(stage: Stage, tmp_path: Path) -> None:
    """The command gets the value; the journal, the model and the result hold the handle."""
    secret = tmp_path / "value"
    secret.write_text("pl4nted-Secret/Value\n")
    secret.chmod(0o600)
    stage.secrets = {"api": SecretSettings(ref=f"file:{secret}", tools=("shell",))}
    command = "printf %s '«secret:api»' | tee seen.txt"
    stage.model.script(Reply(calls=[Call("shell", {"command": command})]), Reply(text="used"))
    placement = await stage.say()
    question = await stage.question()
    await stage.group.settle(question.id, verdict="allowed", by="test", text="")
    assert (await stage.ended(placement)).data["outcome"] == "success"
    assert (stage.workspace / "seen.txt").read_text() == "pl4nted-Secret/Value"
    stage.close()
    journals = (stage.root / "groups" / "main").glob("journal.db*")
    assert not [file for file in journals if b"pl4nted-Secret" in file.read_bytes()]
    assert not [request for request in stage.model.requests if b"pl4nted-Secret" in request.body]
    assert "«secret:api»".encode() in stage.model.requests[1].body
    stage.model.script(Reply(calls=[Call("read_file", {"path": "seen.txt"})]), Reply(text="read"))
    await stage.ask("read what the command kept")  # in a new process, which has lent nothing yet
    assert not [request for request in stage.model.requests if b"pl4nted-Secret" in request.body]


@pytest.mark.clause("LANE-1", "LANE-4")
async def test_two_groups_share_nothing(tmp_path: Path, model: ScriptedModel) -> None:
    """One runs while the other's turn stands still, each over its own files."""
    going = threading.Event()
    model.when(lambda request: "slow" in str(request["messages"]), Reply(text="slow", chunks=2, pause=going))
    model.when(lambda request: "quick" in str(request["messages"]), Reply(text="quick"))
    one, two = Stage(tmp_path / "one", model), Stage(tmp_path / "two", model)
    try:
        slow = await one.say("slow")
        assert (await two.ask("quick")).data["reply"] == "quick"
        going.set()
        assert (await one.ended(slow)).data["reply"] == "slow"
    finally:
        one.close()
        two.close()
