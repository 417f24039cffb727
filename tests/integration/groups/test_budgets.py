"""What an inference costs that did not come to its end, and that nothing is spent beyond a limit (BUD-1 to BUD-4)."""

import asyncio
import json
import time
from typing import Any

import pytest

from host.config.settings import BudgetSettings, DailySettings, GroupSettings, Price
from host.groups.port import EventView
from host.record.events import ResponseReceived
from host.record.record import Record
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Drop, Fail, Hang, Reply, Rubbish, Step

LONG = "words " * 2500  # a request of about 5000 tokens, as the host estimates it
ACCOUNT = Reply(text="that is all")
BIG_CALL = Reply(calls=[Call("write_file", {"path": "a", "content": "x" * 20_000})], chunks=4, usage=(4321, 9, 0))
AGAIN = {"Retry-After": "0"}


def is_wrap_up(request: dict[str, Any]) -> bool:
    """Say whether a request is the last one of a turn that ran out."""
    return request.get("tool_choice") in ("none", {"type": "none"})


def limited(meter: str, most: float) -> GroupSettings:
    """Return settings with one limit."""
    if meter.startswith("daily_"):
        return GroupSettings(daily=DailySettings(**{meter.removeprefix("daily_"): most}))
    return GroupSettings(budget=BudgetSettings(**{meter: most}))


async def attempts_failed(stage: Stage, ended: EventView) -> list[dict[str, Any]]:
    """Return the failed attempts of a turn."""
    return [event.data for event in await stage.group.turn_events(ended.turn) if event.kind == "attempt_failed"]


@pytest.mark.clause("BUD-1", "TURN-6")
@pytest.mark.parametrize(
    ("meter", "most"), [("tokens", 13_000), ("cost_usd", 0.13), ("daily_tokens", 15_000), ("daily_cost_usd", 0.15)]
)
async def test_a_broken_stream_is_not_asked_again_beyond_the_limit(stage: Stage, meter: str, most: float) -> None:
    """The first attempt used the room of a second one: the turn says what it did and stays within its limit."""
    stage.settings = limited(meter, most)
    stage.model_changes = {"price": Price(input=10.0, output=10.0), "output_tokens": 2000}
    broken = Drop(after_chunks=2, reply=Reply("half of it " * 300, chunks=3))
    stage.model.respond(lambda request, _index: ACCOUNT if is_wrap_up(request) else broken)
    ended = await stage.ask(LONG)
    assert (ended.data["reason"], ended.data["detail"].partition(":")[0]) == ("budget_exhausted", meter)
    assert [is_wrap_up(request.json) for request in stage.model.requests] == [False, True]
    assert ended.data["reply"] == "that is all"
    used = ended.data["cost_usd"] if meter.endswith("cost_usd") else ended.data["tokens_in"] + ended.data["tokens_out"]
    assert 0.4 * most < used <= most


@pytest.mark.clause("BUD-1", "TURN-6")
async def test_a_further_attempt_may_hold_only_what_is_left(stage: Stage) -> None:
    """What the broken one used is taken off the length of the next reply."""
    stage.settings = limited("tokens", 22_000)
    stage.model_changes = {"output_tokens": 22_000}
    stage.model.script(Drop(after_chunks=1, reply=Reply("half " * 600, chunks=2)), Reply(text="whole"))
    ended = await stage.ask(LONG)
    first, second = (json.loads(request.body)["max_tokens"] for request in stage.model.requests)
    (broken,) = await attempts_failed(stage, ended)
    assert ended.data["reply"] == "whole"
    left = first - broken["tokens_in"] - broken["tokens_out"]
    assert left - 20 < second <= left  # the bytes of the limits themselves are counted the second time


@pytest.mark.clause("BUD-3")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_call_that_breaks_off_is_charged(stage: Stage, provider: str) -> None:
    """Half of 20 kB of arguments are output, though no text came; what the server counted so far is taken."""
    stage.model_changes = {"provider": provider}
    stage.model.script(Drop(after_chunks=4, reply=BIG_CALL), Reply(text="ok"))
    (broken,) = await attempts_failed(stage, await stage.ask())
    assert broken["received"] == ""
    assert broken["tokens_out"] > 3000
    assert broken["tokens_in"] == 4321 if provider == "anthropic" else broken["tokens_in"] > 500


@pytest.mark.clause("BUD-3", "BUD-1")
async def test_a_call_that_is_cut_by_the_seconds_is_charged(stage: Stage) -> None:
    """Breaking off oneself is no cheaper."""
    stage.settings = limited("seconds", 1.0)
    stage.model.script(Hang(after_chunks=4, reply=BIG_CALL), ACCOUNT)
    ended = await stage.ask()
    (broken,) = await attempts_failed(stage, ended)
    assert ended.data["reply"] == "that is all"
    assert broken["tokens_out"] > 3000
    assert broken["tokens_in"] > 500


@pytest.mark.clause("BUD-3")
@pytest.mark.parametrize(
    ("step", "charged"),
    [
        (Rubbish(""), True),
        (Rubbish('data: {"error": {"message": "overloaded", "code": 503}}\n\n'), True),
        (Drop(after_chunks=3, reply=Reply(reasoning="hm " * 900, text="x")), True),
        (Fail(429, AGAIN), False),
        (Fail(503, AGAIN), False),
        (Drop(after_chunks=0), False),
    ],
    ids=["nothing", "an error", "thinking", "429", "503", "no status"],
)
async def test_what_the_server_took_is_charged_and_what_it_refused_is_free(
    stage: Stage, step: Step, *, charged: bool
) -> None:
    """A server that begins to answer has read the request, whatever comes after."""
    stage.model.script(step, Reply(text="ok"))
    (failed,) = await attempts_failed(stage, await stage.ask())
    assert (failed["tokens_in"] > 500) is charged
    assert (failed["tokens_out"] > 400) is (isinstance(step, Drop) and charged)


@pytest.mark.clause("BUD-3")
@pytest.mark.parametrize(("price", "cost"), [(Price(input=1.0), 0.1), (Price(input=1.0, cache_read=0.1), 0.01)])
async def test_cached_tokens_cost_what_all_input_costs_unless_told_otherwise(
    stage: Stage, price: Price, cost: float
) -> None:
    """A price without a price for them is no gift."""
    stage.model_changes = {"price": price}
    stage.model.script(Reply(text="ok", usage=(100_000, 5, 100_000)))
    assert (await stage.ask()).data["cost_usd"] == pytest.approx(cost)


@pytest.mark.clause("BUD-4", "BUD-1")
@pytest.mark.parametrize(("meter", "most"), [("daily_tokens", 20_000), ("daily_cost_usd", 0.2)])
async def test_a_turn_that_the_days_cap_ends_says_what_it_did(stage: Stage, meter: str, most: float) -> None:
    """What the account needs was kept free of every step."""
    stage.settings = limited(meter, most)
    stage.model_changes = {"price": Price(input=10.0, output=10.0), "output_tokens": 1000}
    stage.model.respond(
        lambda request, index: (
            ACCOUNT
            if is_wrap_up(request)
            else Reply(calls=[Call("write_file", {"path": f"{index}", "content": "x"})], usage=(3000, 100, 0))
        )
    )
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["detail"].partition(":")[0]) == ("partial", meter)
    assert ended.data["reply"] == "that is all"
    assert ended.data["tokens_in"] + ended.data["tokens_out"] <= 20_000


@pytest.mark.clause("BUD-4", "REC-1")
@pytest.mark.parametrize("meter", ["steps", "seconds"])
async def test_an_account_that_was_durable_before_a_crash_is_not_asked_for_again(stage: Stage, meter: str) -> None:
    """The turn ends with it, however much its meters would allow after the restart."""
    stage.settings = limited(meter, 1)
    stage.model.script(Reply(calls=[Call("write_file", {"path": "a", "content": "x"})]) if meter == "steps" else Hang())
    stage.model.script(Hang(), loop=True)
    placement = await stage.say()
    await asyncio.to_thread(stage.model.wait_requests, 2, 20)
    stage.close()
    await _answer_by_hand(stage, placement.turn)
    ended = await stage.ended(placement)
    assert (ended.data["reason"], ended.data["reply"]) == ("budget_exhausted", "written before the crash")
    assert len(stage.model.requests) == 2
    kinds = await stage.kinds(placement.turn)
    assert kinds.count("request_sent") == 2


async def _answer_by_hand(stage: Stage, turn: str) -> None:
    """Write the answer to the wrap-up into the journal of a closed group, as the host does before the final event."""
    record = Record.open(stage.workspace.parent / "journal.db", lambda: time.time_ns() // 1000)
    try:
        await record.append(
            ResponseReceived(
                turn=turn,
                step=0,
                attempt=1,
                purpose="wrap_up",
                text="written before the crash",
                calls=(),
                finish="stop",
                tokens_in=10,
                tokens_out=5,
                tokens_cached=0,
                cost_usd=0.0,
                estimated=False,
                seconds=0.1,
            )
        )
    finally:
        record.close()
