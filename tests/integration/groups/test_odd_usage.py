"""A server that counts falsely: what cannot be true is replaced by an honest estimate (BUD-1, BUD-3)."""

from typing import Any

import pytest

from host.config.settings import BudgetSettings, GroupSettings, Price
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply, Rubbish

LONG = "words of a long reply. " * 150  # some 3,400 characters
HUGE = 2**63
IMPOSSIBLE = {
    "negative": (-500_000, -7, 0),
    "negative in": (-1, 900, 0),
    "negative out": (4000, -900, 0),
    "nothing": (0, 0, 0),
    "nothing in": (0, 900, 0),
    "nothing out": (4000, 0, 0),
    "more cached than there was": (4000, 900, 5000),
    "less than nothing cached": (4000, 900, -4000),
    "more than fits": (HUGE, HUGE, 0),
    "almost more than fits": (HUGE - 1, HUGE - 1, 0),
}


@pytest.mark.clause("BUD-3", "BUD-1")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("usage", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
async def test_impossible_counts_are_replaced_by_an_estimate(
    stage: Stage, provider: str, usage: tuple[int, int, int]
) -> None:
    """Neither nothing nor less than that is charged, and it is said to be estimated."""
    stage.model_changes = {"provider": provider, "price": Price(input=1.0, output=1.0)}
    stage.model.script(Reply(text=LONG, usage=usage))
    ended = (await stage.ask()).data
    assert (ended["outcome"], ended["estimated"]) == ("success", True)
    assert 500 < ended["tokens_in"] < 50_000
    assert 500 < ended["tokens_out"] < 5_000
    assert ended["tokens_cached"] == 0
    assert ended["cost_usd"] == pytest.approx((ended["tokens_in"] + ended["tokens_out"]) / 1e6)


ODD_COUNTS = ["NaN", "Infinity", "1e400", "12.5", '"many"', "null", "true", "[]", "{}", "9" * 400]


@pytest.mark.clause("BUD-3")
@pytest.mark.parametrize("odd", ODD_COUNTS)
async def test_counts_that_are_no_numbers_are_replaced_by_an_estimate(stage: Stage, odd: str) -> None:
    """The reply is good all the same."""
    said = '{"choices":[{"index":0,"delta":{"content":"hello there"},"finish_reason":"stop"}]}'
    used = f'{{"choices":[],"usage":{{"prompt_tokens":{odd},"completion_tokens":{odd}}}}}'
    stage.model_changes = {"price": Price(input=1.0, output=1.0)}
    stage.model.script(Rubbish(body=f"data: {said}\n\ndata: {used}\n\ndata: [DONE]\n\n"))
    ended = (await stage.ask()).data
    assert (ended["outcome"], ended["reply"], ended["estimated"]) == ("success", "hello there", True)
    assert 500 < ended["tokens_in"] < 50_000
    assert 0 < ended["tokens_out"] < 100


@pytest.mark.clause("BUD-3")
async def test_counts_that_can_be_true_are_taken_as_they_are(stage: Stage) -> None:
    """Also where a part was cached."""
    stage.model_changes = {"price": Price(input=1.0, output=1.0)}
    stage.model.script(Reply(text="hello", usage=(4000, 3, 3000)))
    ended = (await stage.ask()).data
    assert (ended["tokens_in"], ended["tokens_out"], ended["tokens_cached"]) == (4000, 3, 3000)
    assert ended["estimated"] is False


@pytest.mark.clause("BUD-1")
@pytest.mark.parametrize("usage", [(-500_000, -7, 0), (0, 0, 0), (1, 1, 0)])
async def test_a_budget_holds_whatever_the_server_says(stage: Stage, usage: tuple[int, int, int]) -> None:
    """A count of one is possible; it must not teach the host that requests of any size are free."""
    stage.settings = GroupSettings(budget=BudgetSettings(tokens=20_000))
    replies = (Reply(text=LONG * 4, calls=[Call("list_files", {"limit": at})], usage=usage) for at in range(1, 40))
    steps: list[Any] = list(replies)
    stage.model.script(*steps)
    ended = (await stage.ask("words " * 2500)).data
    assert (ended["reason"], ended["detail"].partition(":")[0]) == ("budget_exhausted", "tokens")
    assert len(stage.model.requests[-1].body) < 20_000 * 8


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_reply_nested_beyond_reason_is_the_servers_fault(stage: Stage, provider: str) -> None:
    """It is no error of the host that somebody should report."""
    stage.model_changes = {"provider": provider}
    nested = "[" * 50_000
    body = f'{{"type":"error","error":{{"x":{nested},"choices":[{{"delta":{{"reasoning":{nested}'
    stage.model.respond(lambda _request, _index: Rubbish(body=f"data: {body}\n\n"))
    assert (await stage.ask()).data["reason"] == "protocol_violation"
