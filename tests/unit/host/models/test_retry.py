"""Which failures are repeated, and when."""

import math

import pytest

from host.models.conversation import AttemptError
from host.models.retry import (
    ATTEMPTS,
    LONGEST_RETRY_AFTER_SECONDS,
    LONGEST_WAIT_SECONDS,
    SILENCE_SECONDS,
    is_retryable,
    retry_after_seconds,
    wait_before,
)

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


def failed(*, retryable: bool = True, after: float | None = None) -> AttemptError:
    """Return a failure."""
    return AttemptError("failed", retryable=retryable, retry_after_seconds=after)


def almost_one() -> float:
    """Return the largest chance."""
    return math.nextafter(1.0, 0.0)


@pytest.mark.clause("TURN-6")
def test_there_are_four_attempts_and_a_minute_of_silence() -> None:
    """The numbers of the specification."""
    assert (ATTEMPTS, SILENCE_SECONDS) == (4, 60.0)
    waits = [wait_before(attempt, failed(), almost_one) for attempt in range(2, 6)]
    assert [wait is None for wait in waits] == [False, False, False, True]


@pytest.mark.clause("TURN-6")
def test_waits_double_and_are_spread_over_their_whole_length() -> None:
    """Chance decides between nothing and the whole wait."""
    assert [wait_before(attempt, failed(), lambda: 0.5) for attempt in (2, 3, 4)] == [0.5, 1.0, 2.0]
    assert [wait_before(attempt, failed(), lambda: 0.0) for attempt in (2, 3, 4)] == [0.0, 0.0, 0.0]
    assert (wait_before(4, failed(), almost_one) or 0) <= LONGEST_WAIT_SECONDS


@pytest.mark.clause("TURN-6")
def test_a_servers_wish_is_never_undercut() -> None:
    """Chance only adds to it, so that clients do not come back together."""
    assert wait_before(2, failed(after=7.0), lambda: 0.0) == 7.0
    assert 7.0 < (wait_before(4, failed(after=7.0), almost_one) or 0) <= 8.0


def test_a_wish_beyond_a_turns_patience_ends_the_attempts() -> None:
    """Coming back too early is as useless as waiting for an hour."""
    assert wait_before(2, failed(after=LONGEST_RETRY_AFTER_SECONDS), lambda: 0.0) == LONGEST_RETRY_AFTER_SECONDS
    assert wait_before(2, failed(after=LONGEST_RETRY_AFTER_SECONDS + 1), lambda: 0.0) is None


@pytest.mark.clause("TURN-6")
def test_a_lasting_failure_is_not_repeated() -> None:
    """A wrong key stays wrong."""
    assert wait_before(2, failed(retryable=False), lambda: 0.0) is None


@pytest.mark.clause("TURN-6")
def test_only_passing_statuses_are_repeated() -> None:
    """429, 408 and everything from 500 on."""
    passing = {status for status in range(300, 600) if is_retryable(status)}
    assert passing == {408, 429, *range(500, 600)}


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("12", 12.0),
        ("0.5", 0.5),
        ("-3", None),
        ("nan", None),
        ("soon", None),
        ("Fri, 15 Jan 2027 08:00:30 GMT", 30.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),
        ("Fri, 99 Jan 2027 07:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(value: str | None, seconds: float | None) -> None:
    """Whatever cannot be read counts as absent."""
    assert retry_after_seconds(value, NOW) == seconds
