"""Mailbox: order inside a priority, and nobody starves, for any arrivals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanes.mailbox import AGEING_SECONDS, NOW_IN_A_ROW, Mailbox, Priority

SECOND = 1_000_000
priorities = st.sampled_from(list(Priority))
rounds = st.lists(st.tuples(st.lists(priorities, max_size=4), st.integers(-3600, 3600)), max_size=40)


@pytest.mark.clause("LANE-3")
@given(rounds)
def test_each_priority_goes_in_order_of_acceptance_whatever_the_clock_does(
    arrivals: list[tuple[list[Priority], int]],
) -> None:
    """Messages come and go while time passes and jumps; inside a priority nobody overtakes."""
    mailbox, now_us, number = Mailbox(limit=1000), 0, 0
    gone: dict[Priority, list[int]] = {priority: [] for priority in Priority}
    for offered, seconds in arrivals:
        now_us += seconds * SECOND
        for priority in offered:
            number += 1
            mailbox.put(str(number), priority, now_us)
        foretold = mailbox.in_order(now_us)
        entry = mailbox.take(now_us)
        assert entry == (foretold[0] if foretold else None)
        if entry is not None:
            gone[entry.priority].append(int(entry.message))
    assert all(order == sorted(order) for order in gone.values())


@pytest.mark.clause("LANE-3")
@given(
    before=st.lists(priorities, max_size=10),
    flood=st.lists(st.tuples(st.lists(st.sampled_from([Priority.NOW, Priority.TURN]), min_size=1, max_size=3))),
    turn_seconds=st.integers(1, 30),
)
def test_a_later_starts_within_its_bound_under_any_flood(
    before: list[Priority], flood: list[tuple[list[Priority]]], turn_seconds: int
) -> None:
    """Once aged it waits only for those that came before it, and for the interruptions that may go between."""
    mailbox, now_us = Mailbox(limit=100_000), 0
    for number, priority in enumerate(before):
        mailbox.put(f"before{number}", priority, now_us)
    mailbox.put("it", Priority.LATER, now_us)
    ageing_turns = int(AGEING_SECONDS) // turn_seconds + 1
    bound = ageing_turns + (len(before) + 1) * (NOW_IN_A_ROW + 1)
    for turn in range(bound):
        arrivals = flood[turn % len(flood)][0] if flood else [Priority.NOW, Priority.TURN]
        for number, priority in enumerate(arrivals):
            mailbox.put(f"{turn}.{number}", priority, now_us)
        entry = mailbox.take(now_us)
        assert entry is not None
        if entry.message == "it":
            return
        now_us += turn_seconds * SECOND
    pytest.fail(f"the message with priority `later` had not started after {bound} turns")
