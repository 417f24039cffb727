"""Failed sign-ins: delays that grow, rows that cannot fill a disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.panel.knocks import (
    ADDRESSES,
    FORGET_SECONDS,
    LONGEST_DELAY_SECONDS,
    MINUTE_US,
    NAMED_ADDRESSES,
    Backoff,
    Tally,
    bare_address,
    network_of,
)
from host.record.host_events import SignInFailed

pytestmark = pytest.mark.clause("PAN-2")


def test_the_delay_doubles_up_to_its_bound() -> None:
    """Guessing gets slower and never hangs for ever."""
    backoff = Backoff()
    assert [backoff.failed("192.0.2.1", 0) for _ in range(8)] == [0.25, 0.5, 1, 2, 4, 8, 8, 8]


def test_addresses_do_not_slow_each_other() -> None:
    """One that guesses leaves others at the shortest delay."""
    backoff = Backoff()
    for _ in range(5):
        backoff.failed("192.0.2.1", 0)
    assert backoff.failed("192.0.2.2", 0) == 0.25


def test_a_success_or_time_forgets() -> None:
    """An address starts anew after getting in, and after a quarter of an hour."""
    backoff = Backoff()
    backoff.failed("192.0.2.1", 0)
    backoff.succeeded("192.0.2.1")
    assert backoff.failed("192.0.2.1", 1) == 0.25
    assert backoff.failed("192.0.2.1", 2) == 0.5
    assert backoff.failed("192.0.2.1", int(FORGET_SECONDS * 1_000_000) + 3) == 0.25


def test_the_table_of_addresses_is_bounded() -> None:
    """Many addresses push the oldest out instead of filling memory."""
    backoff = Backoff()
    for number in range(ADDRESSES + 50):
        backoff.failed(f"10.0.{number // 256}.{number % 256}", number)
    assert backoff.failed("10.0.0.0", ADDRESSES + 51) == 0.25
    assert backoff.failed(f"10.0.4.{(ADDRESSES + 49) % 256}", ADDRESSES + 52) == 0.5


@pytest.mark.parametrize(
    ("one", "other"), [("2001:db8::1", "2001:db8::2"), ("::ffff:192.0.2.1", "192.0.2.1"), ("junk", "rubbish")]
)
def test_what_one_sender_can_draw_from_is_one_sender(one: str, other: str) -> None:
    """A /64 of IPv6 is one address, and so is whatever has none."""
    assert network_of(one) == network_of(other)
    assert network_of("2001:db8:1::1") != network_of("2001:db8:2::1")


def test_the_first_failure_is_journaled_at_once_and_the_rest_of_its_minute_as_one_row() -> None:
    """A burst is two rows: that it began, and how many followed."""
    tally = Tally()
    assert tally.add("192.0.2.1", "link", MINUTE_US) == (SignInFailed(address="192.0.2.1", how="link", count=1),)
    for _ in range(500):
        assert tally.add("192.0.2.1", "link", MINUTE_US + 1) == ()
    assert tally.flush(MINUTE_US + 2) == ()
    assert tally.flush(2 * MINUTE_US) == (SignInFailed(address="192.0.2.1", how="link", count=500),)
    assert tally.flush(3 * MINUTE_US) == ()


def test_what_is_counted_is_not_lost_at_the_end() -> None:
    """Closing writes the minute that runs."""
    tally = Tally()
    tally.add("192.0.2.1", "token", 0)
    tally.add("192.0.2.1", "token", 1)
    assert tally.flush(2, closing=True) == (SignInFailed(address="192.0.2.1", how="token", count=1),)


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 40)), max_size=400))
def test_every_failure_is_counted_once_and_rows_are_few(attempts: list[tuple[int, int]]) -> None:
    """Whatever comes from wherever: counts add up, and a minute has a bounded number of rows."""
    tally, now_us, rows = Tally(), 0, list[SignInFailed]()
    for last, seconds in attempts:
        now_us += seconds * 1_000_000
        rows += tally.add(f"192.0.2.{last}", "link", now_us)
    rows += tally.flush(now_us, closing=True)
    minutes = now_us // MINUTE_US + 1
    assert sum(row.count for row in rows) == len(attempts)
    assert len(rows) <= minutes * (2 * NAMED_ADDRESSES + 1)


def test_no_delay_is_longer_than_said() -> None:
    """The bound holds after any number of failures."""
    backoff = Backoff()
    assert max(backoff.failed("192.0.2.1", 0) for _ in range(5000)) == LONGEST_DELAY_SECONDS


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("for a while", "unknown"),
        ("[", "unknown"),
    ],
)
def test_a_proxy_may_write_an_address_with_its_port(told: str, address: str) -> None:
    """The port is dropped, and what is no address is not journaled as one."""
    assert bare_address(told) == address
