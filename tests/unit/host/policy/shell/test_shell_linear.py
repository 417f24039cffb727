"""The analysis is linear in the length of a text, whatever stands in it (POL-5)."""

import time

import pytest

from host.policy.shell.analysis import analyse
from tests.bench.shell import SHAPES

SHORT_BYTES = 8_000
TIMES = 4
MOST_TIMES = 10  # of the short text's cost; a square would be 16
ENOUGH_SECONDS = 0.03  # below, it is no matter


def cost(text: str, rounds: int) -> float:
    """Return the least time that this thread needed for a text, in seconds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.thread_time()
        analyse(text)
        best = min(best, time.thread_time() - began)
    return best


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.clause("POL-5")
def test_four_times_the_text_costs_about_four_times_as_much(shape: str) -> None:
    """No pattern of this folder comes back to the same place again and again."""
    long = cost(SHAPES[shape](TIMES * SHORT_BYTES), 2)
    if long > ENOUGH_SECONDS:
        assert long <= MOST_TIMES * cost(SHAPES[shape](SHORT_BYTES), 5)
