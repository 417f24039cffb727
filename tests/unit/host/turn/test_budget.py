"""The meters: nothing is spent beyond a limit, and the wrap-up is set aside from the start."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.turn.budget import (
    WRAP_UP_OUTPUT_TOKENS,
    ActiveClock,
    Day,
    Exhausted,
    Limits,
    Meters,
    Price,
    Reservation,
)


class Clock:
    """A clock that is set by hand, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def meters(clock: Clock | None = None, price: Price | None = None, **limits: float) -> Meters:
    """Return meters with the given limits and no others."""
    every = {"tokens": math.inf, "cost_usd": math.inf, "seconds": math.inf, "steps": math.inf} | limits
    return Meters(Limits(**every), price or Price(), ActiveClock(clock or Clock()))


@pytest.mark.clause("BUD-1")
@given(st.integers(500, 100_000), st.lists(st.tuples(st.integers(1, 30_000), st.integers(1, 5000)), max_size=30))
def test_tokens_stay_within_the_limit_whatever_is_asked(limit: int, calls: list[tuple[int, int]]) -> None:
    """Reservations never add up to more than the limit, the wrap-up's included."""
    turn = meters(tokens=limit)
    turn.keep_for_wrap_up(900)
    for size, output in calls:
        try:
            reserved = turn.reserve_step(size, output)
        except Exhausted:
            break
        turn.settle(reserved.tokens, 0.0)
    try:
        turn.settle(turn.reserve_wrap_up(900).tokens, 0.0)
    except Exhausted:
        assert limit < 900 / 3 + WRAP_UP_OUTPUT_TOKENS + 10
    assert turn.tokens <= limit


@pytest.mark.clause("BUD-1")
def test_the_reply_is_shortened_before_the_call_is_refused() -> None:
    """What is left decides how much a reply may hold."""
    turn = meters(tokens=2000)
    turn.keep_for_wrap_up(300)
    assert turn.reserve_step(900, 4096).max_output_tokens < 4096
    turn.settle(1200, 0.0)
    with pytest.raises(Exhausted, match="2000 tokens"):
        turn.reserve_step(900, 4096)


@pytest.mark.clause("BUD-1")
def test_cost_is_reserved_at_the_price_of_the_whole_reply() -> None:
    """A call whose reply could cost more than is left is cut to fit, then refused."""
    price = Price(input=1.0, output=10.0, known=True)
    turn = meters(price=price, cost_usd=0.02)
    turn.keep_for_wrap_up(300)
    reserved = turn.reserve_step(3000, 4096)
    assert turn.price.cost_usd(reserved.tokens_in, reserved.max_output_tokens) <= 0.02
    turn.settle(0, 0.0195)
    with pytest.raises(Exhausted) as refused:
        turn.reserve_step(3000, 4096)
    assert refused.value.meter == "cost_usd"


@pytest.mark.clause("BUD-1")
def test_the_clock_stands_still_while_a_person_is_awaited() -> None:
    """An hour of waiting costs no second."""
    clock = Clock()
    turn = meters(clock, seconds=100)
    clock.now = 10
    turn.clock.pause()
    clock.now = 3610
    turn.clock.resume()
    clock.now = 3620
    assert turn.clock.elapsed() == 20
    clock.now = 3720
    with pytest.raises(Exhausted) as refused:
        turn.reserve_step(10, 100)
    assert refused.value.meter == "seconds"


@pytest.mark.clause("BUD-1")
def test_steps_end_at_their_limit() -> None:
    """The fourth of three steps is refused."""
    turn = meters(steps=3)
    turn.steps = 3
    with pytest.raises(Exhausted) as refused:
        turn.reserve_step(10, 100)
    assert refused.value.meter == "steps"


def test_estimates_learn_from_the_providers_count() -> None:
    """A language with short tokens is reserved for as such."""
    turn = meters()
    before = turn.estimate_tokens(3000)
    turn.calibrate(3000, 2500)
    assert turn.estimate_tokens(3000) > before


@pytest.mark.clause("BUD-1")
def test_the_days_cap_counts_what_others_have_reserved() -> None:
    """Two lanes together cannot go past it."""
    day = Day(tokens=1000, cost_usd=math.inf, spent=lambda: (400, 0.0))
    share = Reservation(tokens_in=200, max_output_tokens=200, cost_usd=0.0)
    day.reserve(share)
    with pytest.raises(Exhausted) as refused:
        day.reserve(share)
    assert refused.value.meter == "daily_tokens"
    day.release(share)
    day.reserve(share)


@pytest.mark.clause("BUD-1", "BUD-4")
@pytest.mark.parametrize("meter", ["daily_tokens", "daily_cost_usd"])
def test_the_days_cap_keeps_room_for_the_wrap_up(meter: str) -> None:
    """A step that would take it is refused, and the wrap-up itself still fits."""
    tokens, cost = (1000, math.inf) if meter == "daily_tokens" else (math.inf, 10.0)
    day = Day(tokens=tokens, cost_usd=cost, spent=lambda: (400, 4.0))
    step = Reservation(tokens_in=200, max_output_tokens=200, cost_usd=4.0)
    kept = Reservation(tokens_in=100, max_output_tokens=101, cost_usd=2.01)
    with pytest.raises(Exhausted) as refused:
        day.reserve(step, kept=kept)
    assert refused.value.meter == meter
    day.reserve(kept)
    day.release(kept)
    day.reserve(step)


@pytest.mark.clause("BUD-4")
def test_what_is_kept_holds_a_wrap_up_that_has_grown_by_a_step() -> None:
    """Its request names the meter and the calls of the last step, which were not known when it was set aside."""
    turn = meters(price=Price(input=2.0, output=8.0, known=True))
    turn.keep_for_wrap_up(900)
    grown = turn.reserve_wrap_up(1800)
    assert grown.tokens <= turn.kept_for_wrap_up.tokens
    assert grown.cost_usd <= turn.kept_for_wrap_up.cost_usd


@pytest.mark.clause("BUD-3")
@pytest.mark.parametrize(("cache_read", "cost"), [(None, 0.21), (0.0, 0.01), (0.2, 0.03)])
def test_without_a_price_of_their_own_cached_tokens_cost_what_input_costs(
    cache_read: float | None, cost: float
) -> None:
    """No price is not the price zero."""
    price = Price(input=2.0, output=10.0, cache_read=cache_read, known=True)
    assert price.cost_usd(100_000, 1000, 100_000) == pytest.approx(cost)


@pytest.mark.clause("BUD-4")
def test_the_meter_that_is_used_up_most_is_named() -> None:
    """The warning at 80 % says which."""
    turn = meters(tokens=1000, steps=10)
    turn.settle(850, 0.0)
    turn.steps = 2
    assert turn.worst_share() == ("tokens", 0.85)
