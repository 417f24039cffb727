"""What counts as going round in circles, and what is work."""

import json

import pytest

from host.models.conversation import Said
from host.record.events import CallAsked
from host.turn.repetition import call_key, errors_in_a_row, misasked_in_a_row, repeats
from host.turn.state import CallEnd, Step, TurnState

Made = tuple[str, dict[str, str], str, bool]
"""A call that was made: tool, arguments, result, whether it changed the state."""


def asked(step: int, tool: str, **arguments: object) -> CallAsked:
    """Return a call as a model asks for it."""
    return CallAsked(call=f"{step}.0", provider_id="p", tool=tool, arguments=json.dumps(arguments))


def turn(*calls: Made | str) -> TurnState:
    """Return a turn that made `calls` (tool, arguments, result, changed state); a string is a person's word."""
    state = TurnState("t", "do it")
    for number, call in enumerate(calls, start=1):
        if isinstance(call, str):
            state.items.append(Said(call))
            continue
        tool, arguments, result, changed = call
        step = Step(number, "", (asked(number, tool, **arguments),))
        step.ends[f"{number}.0"] = CallEnd(ok=True, ran=True, changed_state=changed, reason=None, text=result)
        state.items.append(step)
    return state


READ: Made = ("read_file", {"path": "a"}, "same", False)
TEST: Made = ("shell", {"command": "pytest"}, "2 failed", True)


@pytest.mark.clause("LOOP-1")
def test_the_third_identical_call_with_nothing_changed_is_a_repetition() -> None:
    """Twice may be care, three times is a circle."""
    assert not repeats(asked(2, "read_file", path="a"), turn(READ))
    assert repeats(asked(3, "read_file", path="a"), turn(READ, READ))


@pytest.mark.clause("LOOP-1")
def test_arguments_are_compared_in_canonical_form() -> None:
    """The order of keys and white space hide nothing."""
    left = CallAsked(call="1.0", provider_id="", tool="x", arguments='{"a":1,"b":2}')
    right = CallAsked(call="1.0", provider_id="", tool="x", arguments='{ "b": 2, "a": 1 }')
    assert call_key(left) == call_key(right)


@pytest.mark.clause("LOOP-1")
def test_an_effect_of_another_call_in_between_makes_it_work() -> None:
    """Five test runs after five edits are work."""
    calls: list[Made | str] = []
    for number in range(5):
        calls += [("edit_file", {"path": "a", "new": str(number)}, "edited", True), TEST]
    assert not repeats(asked(11, "shell", command="pytest"), turn(*calls))


@pytest.mark.clause("LOOP-1")
def test_a_result_that_differs_makes_it_work() -> None:
    """Looking at something that moves is no circle."""
    other = ("read_file", {"path": "a"}, "different", False)
    assert not repeats(asked(3, "read_file", path="a"), turn(READ, other))


@pytest.mark.clause("LOOP-1")
def test_reads_in_between_do_not_excuse_it() -> None:
    """Only an effect changes the state of the world."""
    other = ("read_file", {"path": "b"}, "b", False)
    third = ("read_file", {"path": "c"}, "c", False)
    assert repeats(asked(5, "read_file", path="a"), turn(READ, other, READ, third))


@pytest.mark.clause("LOOP-1")
def test_alternating_effects_count_as_a_circle() -> None:
    """A B A B and A again: each has an effect, nothing outside the two does."""
    first = ("write_file", {"path": "x", "content": "1"}, "written", True)
    second = ("write_file", {"path": "x", "content": "2"}, "written", True)
    assert not repeats(asked(3, "write_file", path="x", content="1"), turn(first, second))
    assert repeats(asked(5, "write_file", path="x", content="1"), turn(first, second, first, second))


@pytest.mark.clause("LOOP-1")
def test_the_same_effect_three_times_is_a_circle() -> None:
    """An identical command's own effect does not excuse it."""
    assert repeats(asked(3, "shell", command="pytest"), turn(TEST, TEST))


@pytest.mark.clause("LOOP-1")
def test_a_new_word_of_the_person_starts_the_count_again() -> None:
    """They may well ask for the same once more."""
    assert not repeats(asked(4, "read_file", path="a"), turn(READ, READ, "look again, please"))


@pytest.mark.clause("LOOP-1", "TURN-4")
def test_errors_are_counted_until_one_call_succeeds() -> None:
    """The run that ends a turn is an unbroken one."""
    state = turn(READ)
    for number in (2, 3):
        step = Step(number, "", (asked(number, "nope"),))
        step.ends[f"{number}.0"] = CallEnd(
            ok=False, ran=False, changed_state=False, reason=None, text="no such tool", misasked=True
        )
        state.items.append(step)
    assert errors_in_a_row(state) == misasked_in_a_row(state) == 2
    state.items.append(turn(READ).items[1])
    assert errors_in_a_row(state) == 0
