"""Ids sort by birth and do not collide."""

from hypothesis import given
from hypothesis import strategies as st

from host.ids import TURN, call_id, idempotency_key, new_id


@given(st.integers(0, 2**50), st.integers(1, 2**40))
def test_a_later_id_sorts_after_an_earlier_one(now_us: int, more_us: int) -> None:
    """Listings in order of the id are in order of time, to the millisecond."""
    later_us = now_us + more_us + 1000
    assert new_id(TURN, now_us) < new_id(TURN, later_us)


def test_ids_of_one_instant_differ() -> None:
    """A thousand ids of the same microsecond are a thousand ids."""
    assert len({new_id(TURN, 5) for _ in range(1000)}) == 1000


def test_a_call_has_a_key_of_its_own() -> None:
    """The key names the turn and the call (REC-6)."""
    assert idempotency_key("t1", call_id(3, 0)) == "t1:3.0"
