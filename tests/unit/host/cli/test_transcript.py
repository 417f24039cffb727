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
    return ["".join(piece if isinstance(piece, str) else piece[0] for piece in line) for line in conversation(views)]


def said(text: str) -> e.MessageReceived:
    """Return what the operator said."""
    return e.MessageReceived(turn="t", message="m", key="k", text=text, priority="turn", principal="operator")


def test_a_message_stands_under_the_name_of_who_said_it() -> None:
    """All of its lines."""
    assert read(said("hello\nthere")) == ["     1 operator: hello", "       there"]


def test_sequences_lead_back_to_the_events() -> None:
    """Also behind events that nobody says anything with."""
    between = e.TurnUnparked(turn="t")
    assert read(said("one"), between, said("three")) == ["     1 operator: one", "     3 operator: three"]


def test_a_request_says_where_it_went_and_how_to_see_it() -> None:
    """The step, the attempt, the model, and the option that prints the body."""
    sent = e.RequestSent(
        turn="t",
        step=1,
        attempt=2,
        purpose="step",
        model="main",
        url="",
        head="",
        messages=(),
        tail="",
        reserved_tokens=0,
        reserved_cost_usd=0,
    )
    assert read(sent) == ["     1 request: step 1, attempt 2, to main (--request 1)"]


def test_a_reply_is_followed_by_the_calls_that_it_asks_for() -> None:
    """With their arguments as the model wrote them."""
    reply = e.ResponseReceived(
        turn="t",
        step=1,
        attempt=1,
        purpose="step",
        text="I look.",
        calls=(e.CallAsked(call="1.0", provider_id="x", tool="shell", arguments='{"command":"ls"}'),),
        finish="tool_calls",
        tokens_in=1,
        tokens_out=1,
        tokens_cached=0,
        cost_usd=0,
        estimated=False,
        seconds=1,
    )
    assert read(reply) == ["     1 assistant: I look.", '       asks for shell {"command":"ls"}']


@pytest.mark.parametrize(("text", "shown"), [("not now", "denied by operator: not now"), ("", "denied by operator")])
def test_an_answer_says_what_was_decided_by_whom_and_why(text: str, shown: str) -> None:
    """A reason only where one was given."""
    answer = e.ApprovalSettled(turn="t", approval="a1", verdict="denied", by="operator", text=text)
    assert read(answer) == [f"     1 answer: {shown}"]


def test_a_refusal_names_its_reason_and_the_rule() -> None:
    """And repeats what the model was told."""
    refused = e.CallRefused(
        turn="t",
        call="1.0",
        tool="shell",
        effect=Effect.EXECUTE,
        stage="policy",
        rule="approval:a1",
        reason=Reason.POLICY_VIOLATION,
        result="The person said no.",
    )
    assert read(refused) == ["     1 refused (policy_violation, approval:a1): The person said no."]


def test_the_end_says_how_what_failed_and_at_what_price() -> None:
    """An account leads back to its event; an estimated price is called so."""
    end = e.TurnEnded(
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
    )
    assert read(end) == [
        "     1 end: failed (policy_violation) shell was denied",
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
