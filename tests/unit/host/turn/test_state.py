"""What a turn's fold tells of calls that have no end (REC-1)."""

import pytest

from host.models.conversation import Result
from host.passport import Effect
from host.record.events import CallAsked, CallStarted, ResponseReceived
from host.turn.state import BROKEN_OFF, NOT_RUN, TurnState
from host.turn.wrap_up import wrap_up_message


def two_calls() -> TurnState:
    """A turn whose host went down while the first of two calls ran."""
    state = TurnState("t", "do it")
    calls = tuple(CallAsked(call=f"1.{n}", provider_id=f"p{n}", tool="shell", arguments="{}") for n in (0, 1))
    state.apply(
        ResponseReceived(
            turn="t",
            step=1,
            attempt=1,
            purpose="step",
            text="",
            calls=calls,
            finish="tool_calls",
            tokens_in=1,
            tokens_out=1,
            tokens_cached=0,
            cost_usd=0.0,
            estimated=False,
            seconds=0.0,
        )
    )
    state.apply(
        CallStarted(
            turn="t",
            call="1.0",
            tool="shell",
            effect=Effect.EXECUTE,
            arguments={},
            key="t:1.0",
            arguments_hash="",
            target="",
        )
    )
    return state


@pytest.mark.clause("REC-1")
def test_a_call_that_had_begun_is_not_told_as_one_that_was_not_run() -> None:
    """Where a turn ends before the call is taken up again, later turns hear which of them began."""
    told = [message.text for message in two_calls().messages() if isinstance(message, Result)]
    assert told == [BROKEN_OFF, NOT_RUN]


@pytest.mark.clause("REC-1", "BUD-4")
def test_the_account_of_a_turn_that_ran_out_says_which_calls_had_begun() -> None:
    """The model is asked to claim nothing beyond this list."""
    words = wrap_up_message(two_calls(), "the limit is reached").text
    assert words.count("begun, outcome unknown") == words.count("not run") == 1
