"""Which turn a message ended up in, told from events alone."""

from typing import Any

import pytest

from host.cli.asking import Patience
from host.cli.client import LostConnection
from host.cli.following import Answer, Follower, stopped
from host.groups.port import EventView, Placement
from host.stops import Reason

ENDED: dict[str, Any] = {
    "outcome": "success",
    "reason": None,
    "reply": "done",
    "tokens_in": 10,
    "tokens_out": 2,
    "tokens_cached": 0,
    "cost_usd": 0.5,
    "estimated": True,
    "steps": 3,
    "seconds": 1.5,
    "verified": True,
}


def placement(disposition: str, turn: str = "") -> Placement:
    """Return what became of the message `mine`."""
    return Placement(message="mine", turn=turn, disposition=disposition, position=0, after_seq=10)


def fed(follower: Follower, *events: tuple[str, str, dict[str, Any]]) -> Answer:
    """Feed events of (kind, turn, data), numbered from 11 on, and return the answer."""
    for seq, (kind, turn, data) in enumerate(events, start=11):
        follower.feed(EventView(seq=seq, at="", turn=turn, kind=kind, data=data))
    return follower.answer()


def test_a_started_message_has_the_result_of_its_turn() -> None:
    """Usage, sequence numbers and verdict come from the final event."""
    answer = fed(
        Follower(placement("started", "t1")),
        ("message_received", "", {"message": "mine"}),
        ("turn_started", "t1", {"message": "mine"}),
        ("turn_ended", "t0", ENDED),
        ("turn_ended", "t1", ENDED),
    )
    assert (answer.turn, answer.outcome, answer.reason, answer.reply) == ("t1", "success", None, "done")
    assert (answer.first_seq, answer.last_seq, answer.steered, answer.verified) == (12, 14, False, True)
    assert (answer.usage.tokens_in, answer.usage.steps, answer.usage.estimated) == (10, 3, True)
    assert answer.exit_code == 0


def test_a_queued_message_waits_for_a_turn_of_its_own() -> None:
    """Other turns that end before are not its result."""
    answer = fed(
        Follower(placement("queued")),
        ("turn_ended", "t1", ENDED),
        ("turn_started", "t2", {"message": "mine"}),
        ("turn_ended", "t2", ENDED | {"reply": "mine"}),
    )
    assert (answer.turn, answer.reply, answer.steered) == ("t2", "mine", False)


@pytest.mark.clause("LANE-2")
def test_a_steered_message_has_the_result_of_the_turn_it_entered() -> None:
    """And says that it was steered."""
    answer = fed(
        Follower(placement("steered", "t1")),
        ("message_entered", "t1", {"message": "mine"}),
        ("turn_ended", "t1", ENDED),
    )
    assert (answer.turn, answer.steered, answer.exit_code) == ("t1", True, 0)


def test_a_steered_message_that_came_too_late_waits_for_its_own_turn() -> None:
    """A turn that ended before the message entered it is not its result."""
    follower = Follower(placement("steered", "t1"))
    assert fed(follower, ("turn_ended", "t1", ENDED)).outcome == "running"
    assert follower.ended is None
    answer = fed(follower, ("turn_started", "t2", {"message": "mine"}), ("turn_ended", "t2", ENDED))
    assert (answer.turn, answer.steered) == ("t2", False)


@pytest.mark.clause("LANE-2")
def test_an_interrupting_message_does_not_take_the_interrupted_turns_end_for_its_own() -> None:
    """The turn named in the placement is the one it interrupts."""
    answer = fed(
        Follower(placement("interrupting", "t1")),
        ("turn_ended", "t1", ENDED | {"outcome": "failed", "reason": "interrupted"}),
        ("turn_started", "t2", {"message": "mine"}),
        ("turn_ended", "t2", ENDED),
    )
    assert (answer.turn, answer.outcome) == ("t2", "success")


def test_a_dropped_message_is_told_as_interrupted() -> None:
    """It will never run: exit 21."""
    answer = fed(Follower(placement("queued")), ("message_dropped", "", {"message": "mine", "why": "by hand"}))
    assert (answer.outcome, answer.reason, answer.exit_code) == ("failed", Reason.INTERRUPTED, 21)


@pytest.mark.clause("APR-4")
def test_a_parked_turn_is_told_as_parked_until_it_goes_on() -> None:
    """Parked exits 13, unparked is running again."""
    follower = Follower(placement("started", "t1"))
    parked = fed(follower, ("turn_parked", "t1", {"approval": "a1"}))
    assert (follower.parked, parked.outcome, parked.exit_code) == (True, "parked", 13)
    fed(follower, ("turn_unparked", "t1", {"approval": "a1"}))
    assert not follower.parked


@pytest.mark.parametrize("reason", list(Reason))
def test_the_exit_code_is_the_stop_reasons(reason: Reason) -> None:
    """For every reason there is."""
    answer = fed(
        Follower(placement("started", "t1")), ("turn_ended", "t1", ENDED | {"outcome": "failed", "reason": reason})
    )
    assert answer.exit_code == reason.exit_code


def test_waiting_that_ended_before_the_turn_is_running_and_timed_out() -> None:
    """Exit 26; the outcome is not known."""
    answer = fed(Follower(placement("started", "t1")))
    assert (answer.outcome, answer.reason, answer.exit_code) == ("running", Reason.TIMED_OUT, 26)


def test_a_stop_word_has_done_its_work_at_once() -> None:
    """No turn is waited for."""
    answer = stopped(placement("stopped", "t1"))
    assert (answer.turn, answer.outcome, answer.exit_code) == ("t1", "success", 0)


def test_a_host_that_is_away_is_waited_for_from_the_first_break_on() -> None:
    """Connections that break again at once do not prolong the wait; one that lived does."""
    clock = [0.0]
    patience = Patience(30.0, lambda: clock[0])
    lost = LostConnection("gone")
    clock[0] = 100.0
    patience.lost(lost)
    for _ in range(29):
        clock[0] += 1
        patience.opened()
        patience.lost(lost)
    clock[0] += 2
    with pytest.raises(LostConnection):
        patience.lost(lost)
    patience.opened()
    clock[0] += 10
    patience.lost(lost)


def test_a_host_that_never_comes_back_is_given_up() -> None:
    """Tries that do not even connect are no good time."""
    clock = [0.0]
    patience = Patience(30.0, lambda: clock[0])
    patience.opened()
    clock[0] = 100.0
    patience.lost(LostConnection("gone"))
    clock[0] = 130.0
    patience.lost(LostConnection("gone"))
    clock[0] = 130.5
    with pytest.raises(LostConnection):
        patience.lost(LostConnection("gone"))
