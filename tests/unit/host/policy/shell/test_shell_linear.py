"""The analysis is linear in the length of a text, whatever stands in it (POL-5)."""

import time
from collections.abc import Callable
from functools import partial

import pytest

from host.policy.shell.analysis import analyse
from host.policy.shell.patterns import fit
from tests.bench.shell import SHAPES

RULES = ("rm -rf *", "sudo *", "git push *", "ls --all x", "a * b *")
SHORT_BYTES = 8_000
TIMES = 4
MOST_TIMES = 10  # of the short text's cost; a square would be 16
ENOUGH_SECONDS = 0.03  # below, it is no matter


def cost(work: Callable[[], object], rounds: int) -> float:
    """Return the least time that this thread needed for a piece of work, in seconds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.thread_time()
        work()
        best = min(best, time.thread_time() - began)
    return best


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.clause("POL-5")
def test_four_times_the_text_costs_about_four_times_as_much(shape: str) -> None:
    """No pattern of this folder comes back to the same place again and again."""
    short, long = SHAPES[shape](SHORT_BYTES), SHAPES[shape](TIMES * SHORT_BYTES)
    costs = cost(partial(analyse, long), 2)
    if costs > ENOUGH_SECONDS:
        assert costs <= MOST_TIMES * cost(partial(analyse, short), 5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.clause("POL-5")
def test_denials_are_held_against_a_text_in_linear_time(shape: str) -> None:
    """Also where every word might be the denied program."""
    short, long = analyse(SHAPES[shape](SHORT_BYTES)), analyse(SHAPES[shape](TIMES * SHORT_BYTES))
    costs = cost(lambda: [fit(rule, long) for rule in RULES], 2)
    if costs > ENOUGH_SECONDS:
        assert costs <= MOST_TIMES * cost(lambda: [fit(rule, short) for rule in RULES], 5)
