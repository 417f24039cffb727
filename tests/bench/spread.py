"""What many measurements of one thing come to: median and percentiles, by nearest rank."""

import math
from collections.abc import Sequence

import msgspec


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """The values in their own unit."""

    count: int
    median: float
    p95: float
    p99: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Sum up at least one value; raise ValueError for none."""
        if not values:
            message = "nothing was measured"
            raise ValueError(message)
        ordered = sorted(values)
        return cls(
            count=len(ordered),
            median=percentile(ordered, 0.5),
            p95=percentile(ordered, 0.95),
            p99=percentile(ordered, 0.99),
            most=ordered[-1],
        )


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of the ordered values do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
