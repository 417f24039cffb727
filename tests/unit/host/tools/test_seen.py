"""Who saw what of a file, and who changed it."""

import pytest

from host.stops import Reason
from host.tools.seen import ABSENT, ChangedSince, SeenFiles


def _never() -> str:
    pytest.fail("the present content is looked at only when the turn saw the file")


@pytest.mark.clause("PASS-2")
def test_a_file_the_turn_never_saw_is_admitted_without_a_look() -> None:
    """Nothing can have changed under it."""
    SeenFiles().admit("t1", "a", _never)


@pytest.mark.clause("PASS-2")
def test_a_file_as_the_turn_left_it_is_admitted() -> None:
    """What the turn itself wrote it has seen."""
    seen = SeenFiles()
    seen.saw("t1", "a", "one")
    seen.wrote("t1", "a", "two")
    seen.admit("t1", "a", lambda: "two")


@pytest.mark.clause("PASS-2")
def test_a_change_by_another_turn_is_refused_by_its_name() -> None:
    """The model can tell the person who was first."""
    seen = SeenFiles()
    seen.saw("t1", "a", "one")
    seen.wrote("t2", "a", "two")
    with pytest.raises(ChangedSince, match="changed since this turn last saw it, by turn t2") as refused:
        seen.admit("t1", "a", lambda: "two")
    assert refused.value.reason is Reason.TOOL_FAILED


@pytest.mark.clause("PASS-2")
@pytest.mark.parametrize(
    ("last", "now", "happened"), [("one", "x", "changed"), ("one", ABSENT, "was removed"), (ABSENT, "x", "appeared")]
)
def test_a_change_by_nobody_known_is_said_to_be_from_outside(last: str, now: str, happened: str) -> None:
    """A shell command, a program or a person leaves no record here, not even when a turn wrote before it."""
    seen = SeenFiles()
    seen.wrote("t2", "a", "one")
    seen.saw("t1", "a", last)
    with pytest.raises(ChangedSince, match=f"{happened} since .* somebody outside this turn"):
        seen.admit("t1", "a", lambda: now)


def test_a_turn_that_ended_is_forgotten() -> None:
    """And an endless row of turns takes no endless memory."""
    seen = SeenFiles()
    seen.saw("t1", "a", "one")
    seen.forget("t1")
    seen.forget("never seen")
    seen.admit("t1", "a", _never)
    for number in range(200):
        seen.saw(f"u{number}", "a", "one")
    seen.admit("u0", "a", _never)
