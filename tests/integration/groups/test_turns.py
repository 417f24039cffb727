"""Turns end to end in one process: what a person asks, what the model is sent, what the journal says."""

import asyncio
import itertools
import json
import math
import threading

import pytest

from host.config.settings import BudgetSettings, DailySettings, GroupSettings, Price
from tests.integration.groups.stage import BOUND, Stage
from tests.scripted_model import Call, Drop, Fail, Hang, Reply


def write(path: str, content: str) -> Call:
    """Return a call of write_file."""
    return Call("write_file", {"path": path, "content": content})


def read(path: str) -> Call:
    """Return a call of read_file."""
    return Call("read_file", {"path": path})


@pytest.mark.clause("TURN-1", "REPLY-6")
async def test_a_turn_uses_tools_and_answers(stage: Stage) -> None:
    """Write, read, answer: one inference a step, the file is there, usage adds up."""
    stage.model.script(
        Reply(calls=[write("a.txt", "hello\n")]), Reply(calls=[read("a.txt")]), Reply(text="It says hello.")
    )
    ended = await stage.ask("write and read")
    assert (ended.data["outcome"], ended.data["reason"], ended.data["reply"]) == ("success", None, "It says hello.")
    assert (stage.workspace / "a.txt").read_text() == "hello\n"
    assert (ended.data["tokens_in"], ended.data["tokens_out"], ended.data["steps"]) == (36, 21, 3)
    assert len(stage.model.requests) == 3


@pytest.mark.clause("TURN-2")
async def test_what_happens_is_journaled_before_and_after(stage: Stage) -> None:
    """Each request before its answer, each call's start before its end."""
    stage.model.script(Reply(calls=[write("a.txt", "x")]), Reply(text="done"))
    ended = await stage.ask()
    assert await stage.kinds(ended.turn) == [
        "message_received",
        "message_placed",
        "turn_started",
        "request_sent",
        "response_received",
        "call_started",
        "call_finished",
        "request_sent",
        "response_received",
        "turn_ended",
    ]


@pytest.mark.clause("TURN-3")
async def test_the_exact_bytes_of_a_request_can_be_shown(stage: Stage) -> None:
    """What the journal gives back is what the server received."""
    stage.model.script(Reply(calls=[write("a.txt", "x")]), Reply(text="done"))
    ended = await stage.ask("наглядно, 日本語 and “quotes”")
    sent = [event.seq for event in await stage.group.turn_events(ended.turn) if event.kind == "request_sent"]
    bodies = [await stage.group.request_body(seq) for seq in sent]
    assert bodies == [request.body for request in stage.model.requests]


@pytest.mark.clause("CTX-1")
async def test_the_prefix_is_the_same_bytes_and_the_history_only_grows(stage: Stage) -> None:
    """Over several turns each request begins with the one before it, up to its dynamic tail."""
    for number in range(4):
        stage.model.script(Reply(calls=[write(f"{number}.txt", "x")]), Reply(text=f"done {number}"))
        await stage.ask(f"turn {number}")
    messages = [json.loads(request.body)["messages"] for request in stage.model.requests]
    heads = {request.body.partition(b'"role":"user"')[0] for request in stage.model.requests}
    assert len(heads) == 1
    for before, after in itertools.pairwise(messages):
        assert after[: len(before) - 1] == before[:-1]


@pytest.mark.clause("CTX-2")
async def test_an_edited_charter_starts_a_new_session(stage: Stage) -> None:
    """The same charter keeps the session, another one does not."""
    stage.model.respond(lambda _request, _index: Reply(text="ok"))
    first, second = await stage.ask("one"), await stage.ask("two")
    (stage.workspace.parent / "charter.md").write_text("You are a gardener.\n")
    third = await stage.ask("three")
    sessions = [
        next(e.data["session"] for e in await stage.group.turn_events(end.turn) if e.kind == "turn_started")
        for end in (first, second, third)
    ]
    assert sessions[0] == sessions[1] != sessions[2]
    assert b"gardener" in stage.model.requests[-1].body


@pytest.mark.clause("TURN-4")
async def test_a_call_that_does_not_exist_comes_back_with_the_nearest_name(stage: Stage) -> None:
    """The model is told what is wrong and finds its way."""
    stage.model.script(
        Reply(calls=[Call("read_fil", {"path": "a"})]),
        Reply(calls=[Call("write_file", {"path": "a", "contents": "x"})]),
        Reply(calls=[Call("write_file", "{broken")]),
        Reply(calls=[write("a", "x")]),
        Reply(text="done"),
    )
    ended = await stage.ask()
    told = [e.data["result"] for e in await stage.group.turn_events(ended.turn) if e.kind == "call_refused"]
    assert "read_file" in told[0]
    assert "content" in told[1]
    assert "JSON" in told[2]
    assert ended.data["outcome"] == "success"


@pytest.mark.clause("TURN-4")
async def test_five_wrong_calls_in_a_row_end_the_turn_and_three_are_shown(stage: Stage) -> None:
    """The person hears of it at three; at five the turn ends without progress."""
    stage.model.respond(lambda _request, index: Reply(calls=[Call("nope", {"n": index})]))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "no_progress")
    events = await stage.group.turn_events(ended.turn)
    assert sum(event.kind == "call_refused" for event in events) == 5
    shown = [event for event in events if event.kind == "noticed"]
    assert [(event.data["code"], event.data["to"]) for event in shown] == [("misasked", "person")]


@pytest.mark.clause("TURN-6")
async def test_a_failing_provider_is_tried_again_and_every_attempt_is_journaled(stage: Stage) -> None:
    """Two refusals with Retry-After 0 and a broken stream, then an answer."""
    again = {"Retry-After": "0"}
    stage.model.script(
        Fail(status=429, headers=again), Fail(status=503, headers=again), Drop(after_chunks=1), Reply(text="at last")
    )
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reply"], ended.data["estimated"]) == ("success", "at last", True)
    failed = [e.data for e in await stage.group.turn_events(ended.turn) if e.kind == "attempt_failed"]
    assert [attempt["attempt"] for attempt in failed] == [1, 2, 3]
    assert failed[2]["received"] != ""
    assert failed[2]["tokens_in"] > 0


@pytest.mark.clause("TURN-6")
async def test_a_provider_that_stays_away_ends_the_turn_model_unavailable(stage: Stage) -> None:
    """Four attempts, then the named reason."""
    stage.model.respond(lambda _request, _index: Fail(status=500, headers={"Retry-After": "0"}))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "model_unavailable")
    assert len(stage.model.requests) == 4


@pytest.mark.clause("BUD-3")
async def test_a_response_without_usage_is_charged_an_estimate(stage: Stage) -> None:
    """Never zero, and marked."""
    stage.model.script(Reply(text="hello " * 50, usage=None))
    ended = await stage.ask()
    assert ended.data["estimated"] is True
    assert ended.data["tokens_in"] > 500
    assert 50 < ended.data["tokens_out"] < 400


@pytest.mark.clause("BUD-1", "BUD-4")
async def test_steps_that_run_out_end_in_a_wrap_up_without_tools(stage: Stage) -> None:
    """The last request forbids tools, is not a step, and its text is the reply."""
    stage.settings = GroupSettings(budget=BudgetSettings(steps=2))
    stage.model.script(
        Reply(calls=[write("1", "a")]), Reply(calls=[write("2", "b")]), Reply(text="Two files are written.")
    )
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("partial", "budget_exhausted")
    assert ended.data["detail"].startswith("steps")
    assert (ended.data["reply"], ended.data["steps"]) == ("Two files are written.", 2)
    assert json.loads(stage.model.requests[-1].body)["tool_choice"] == "none"


@pytest.mark.clause("BUD-4")
async def test_a_wrap_up_that_fails_leaves_the_first_reason(stage: Stage) -> None:
    """Nothing was done, and the provider is gone too."""
    stage.settings = GroupSettings(budget=BudgetSettings(steps=1))
    stage.model.script(Reply(calls=[Call("read_file", {"path": "nothing"})]), Fail(status=400))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "budget_exhausted")


@pytest.mark.clause("BUD-1")
async def test_tokens_and_cost_end_a_turn_within_their_limit(stage: Stage) -> None:
    """What was used never exceeds the limit, the wrap-up included."""
    stage.settings = GroupSettings(budget=BudgetSettings(tokens=20_000, cost_usd=math.inf))
    stage.model.respond(
        lambda request, index: (
            Reply(text="that is all")
            if request.get("tool_choice") == "none"
            else Reply(calls=[write(f"{index}", "x")], usage=(4000, 100, 0))
        )
    )
    ended = await stage.ask()
    assert ended.data["reason"] == "budget_exhausted"
    assert ended.data["detail"].startswith("tokens")
    assert ended.data["tokens_in"] + ended.data["tokens_out"] <= 20_000
    assert ended.data["reply"] == "that is all"


@pytest.mark.clause("BUD-1")
async def test_the_days_cap_stops_the_next_turn(stage: Stage) -> None:
    """A second turn on the same day does not fit."""
    stage.settings = GroupSettings(daily=DailySettings(cost_usd=0.1))
    stage.model_changes = {"price": Price(input=10.0, output=10.0), "output_tokens": 64}
    stage.model.respond(lambda _request, _index: Reply(text="ok", usage=(7000, 10, 0)))
    first, second = await stage.ask("one"), await stage.ask("two")
    assert first.data["outcome"] == "success"
    assert (second.data["reason"], second.data["detail"].partition(":")[0]) == ("budget_exhausted", "daily_cost_usd")


@pytest.mark.clause("BUD-1")
async def test_the_seconds_of_a_turn_end_a_silent_inference(stage: Stage) -> None:
    """A model that says nothing is broken off, and the wrap-up follows."""
    stage.settings = GroupSettings(budget=BudgetSettings(seconds=0.5))
    stage.model.script(Hang(), Reply(text="I ran out of time."))
    ended = await stage.ask()
    assert (ended.data["reason"], ended.data["detail"].partition(":")[0]) == ("budget_exhausted", "seconds")
    assert ended.data["reply"] == "I ran out of time."


@pytest.mark.clause("BUD-4")
async def test_the_model_is_told_once_at_eighty_percent(stage: Stage) -> None:
    """One notice, however many steps follow."""
    stage.settings = GroupSettings(budget=BudgetSettings(steps=10))
    stage.model.respond(
        lambda _request, index: Reply(calls=[write(f"{index}", "x")]) if index < 9 else Reply(text="done")
    )
    ended = await stage.ask()
    notices = [e.data for e in await stage.group.turn_events(ended.turn) if e.kind == "noticed"]
    assert [notice["code"] for notice in notices] == ["budget_80"]
    assert "steps" in notices[0]["text"]
    assert ended.data["outcome"] == "success"


@pytest.mark.clause("LOOP-1", "LOOP-2")
async def test_the_third_identical_call_is_not_run(stage: Stage) -> None:
    """By default, without any setting."""
    (stage.workspace).mkdir(parents=True)
    (stage.workspace / "a").write_text("same")
    stage.model.respond(lambda _request, _index: Reply(calls=[read("a")]))
    ended = await stage.ask()
    kinds = await stage.kinds(ended.turn)
    assert ended.data["reason"] == "no_progress"
    assert (kinds.count("call_started"), kinds.count("call_refused")) == (2, 1)


@pytest.mark.clause("LOOP-1")
async def test_a_run_of_five_failing_calls_ends_the_turn(stage: Stage) -> None:
    """Different calls, all failing."""
    stage.model.respond(lambda _request, index: Reply(calls=[read(f"missing-{index}")]))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "no_progress")
    assert (await stage.kinds(ended.turn)).count("call_finished") == 5


@pytest.mark.clause("REPLY-4")
async def test_an_empty_reply_is_asked_about_once_and_then_told_as_silent_failure(stage: Stage) -> None:
    """Empty twice is a failure with a name."""
    stage.model.respond(lambda _request, _index: Reply(text=""))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "silent_failure")
    assert len(stage.model.requests) == 2


@pytest.mark.clause("REPLY-4")
async def test_a_model_that_answers_after_an_empty_reply_succeeds(stage: Stage) -> None:
    """The one nudge may be enough."""
    stage.model.script(Reply(text=""), Reply(text="Here I am."))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reply"]) == ("success", "Here I am.")


@pytest.mark.clause("REPLY-6")
async def test_a_failure_that_stays_makes_the_turn_partial_with_its_reason(stage: Stage) -> None:
    """One file written, one path outside."""
    stage.model.script(Reply(calls=[write("a", "x")]), Reply(calls=[read("../secret")]), Reply(text="One of two."))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("partial", "path_violation")
    assert [line["what"] for line in ended.data["done"]] == ["write_file a"]
    assert [line["reason"] for line in ended.data["failed"]] == ["path_violation"]


@pytest.mark.clause("TURN-5")
async def test_what_is_streamed_is_a_draft_until_the_final_event(stage: Stage) -> None:
    """Text is seen while the model still speaks; the final event comes after it."""
    going = threading.Event()
    stage.model.script(Reply(text="one two three four", chunks=6, pause=going, pause_after=3))
    placement = await stage.say()
    seen, cursor = "", 0
    async with asyncio.timeout(BOUND):
        while not seen:
            watched = await stage.group.watch(10**9, cursor, BOUND)
            cursor = watched.cursor
            seen = "".join(draft.text for draft in watched.drafts)
    assert "one two three four".startswith(seen)
    assert "turn_ended" not in await stage.kinds(placement.turn)
    going.set()
    assert (await stage.ended(placement)).data["reply"] == "one two three four"
