"""A turn read as a conversation."""

from typing import Any

import msgspec
import pytest

from host.cli.transcript import conversation
from host.groups.port import EventView
from host.passport import Effect
from host.record import events as e
from host.stops import Outcome, Reason


def read(*events: e.GroupEvent) -> list[str]:
    """Return the lines of a conversation, without colours."""
    views: list[EventView] = []
    for seq, event in enumerate(events, start=1):
        data: dict[str, Any] = msgspec.to_builtins(event)
        kind, turn = data.pop("kind"), data.pop("turn")
        views.append(EventView(seq=seq, at="", turn=turn, kind=kind, data=data))
    return [line.plain for line in conversation(views)]


def test_everybodys_words_stand_in_order_under_their_names() -> None:
    """Who said it, what ran, what came of it, how it ended; sequences lead back to the events."""
    ask = e.CallAsked(call="1.0", provider_id="x", tool="shell", arguments='{"command":"ls"}')
    lines = read(
        e.MessageReceived(turn="t", message="m", key="k", text="hello\nthere", priority="turn", principal="operator"),
        e.RequestSent(
            turn="t",
            step=1,
            attempt=1,
            purpose="step",
            model="main",
            url="",
            head="",
            messages=(),
            tail="",
            reserved_tokens=0,
            reserved_cost_usd=0,
        ),
        e.ResponseReceived(
            turn="t",
            step=1,
            attempt=1,
            purpose="step",
            text="I look.",
            calls=(ask,),
            finish="tool_calls",
            tokens_in=1,
            tokens_out=1,
            tokens_cached=0,
            cost_usd=0,
            estimated=False,
            seconds=1,
        ),
        e.ApprovalSettled(turn="t", approval="a1", verdict="denied", by="operator", text="not now"),
        e.CallRefused(
            turn="t",
            call="1.0",
            tool="shell",
            effect=Effect.EXECUTE,
            stage="policy",
            rule="approval:a1",
            reason=Reason.POLICY_VIOLATION,
            result="The person said no.",
        ),
        e.TurnEnded(
            turn="t",
            outcome=Outcome.FAILED,
            reason=Reason.POLICY_VIOLATION,
            detail="shell was denied",
            reply="I could not.",
            tokens_in=10,
            tokens_out=5,
            tokens_cached=0,
            cost_usd=0.25,
            estimated=True,
            steps=1,
            seconds=2,
            done=(),
            failed=(e.Account(call="1.0", what="shell ls", seq=5),),
            not_attempted=(),
            verified=False,
        ),
    )
    assert lines == [
        "     1 operator: hello",
        "       there",
        "     2 request: step 1, attempt 1, to main (--request 2)",
        "     3 assistant: I look.",
        '       asks for shell {"command":"ls"}',
        "     4 answer: denied by operator: not now",
        "     5 refused (policy_violation, approval:a1): The person said no.",
        "     6 end: failed (policy_violation) shell was denied",
        "       failed: shell ls (event 5)",
        "       1 steps, 10+5 tokens, $0.2500 estimated, 2.0 s",
    ]


@pytest.mark.parametrize("count", [20, 21])
def test_a_long_result_says_what_was_left_out(count: int) -> None:
    """Nothing is cut silently."""
    result = "\n".join(str(number) for number in range(count))
    lines = read(
        e.CallFinished(
            turn="t",
            call="1.0",
            tool="shell",
            effect=Effect.READ,
            ok=True,
            reason=None,
            detail="",
            result=result,
            result_hash="",
            target="",
            seconds=0,
        )
    )
    assert len(lines) == min(count, 21)
    assert ("1 more lines" in lines[-1]) == (count == 21)


def test_what_a_command_prints_is_no_markup() -> None:
    """Words in brackets come out as they went in."""
    lines = read(e.Noticed(turn="t", code="x", text="[bold]not bold[/bold] [/nonsense]", to="person"))
    assert lines == ["     1 notice to person: [bold]not bold[/bold] [/nonsense]"]
