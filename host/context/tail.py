"""The dynamic tail of a request: what the model cannot see otherwise and what changes from step to step (CTX-1).

It is the last message of a request and is never part of the history.
"""

from datetime import datetime

import msgspec

from host.models.conversation import Said


class BudgetLeft(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn may still use; `inf` means no limit."""

    tokens: float
    cost_usd: float
    seconds: float
    steps: float


def tail(now: datetime, left: BudgetLeft, *, turns_left_out: int, waiting: int = 0) -> Said:
    """Return the tail; `now` carries the group's time zone, `turns_left_out` no longer fit the window."""
    lines = [
        "[Status from the host. It is not from the person and needs no answer; go on with the message above.]",
        f"Time: {now.isoformat(timespec='minutes')} ({now.tzname()})",
        f"Left: {_amount(left.tokens)} tokens, {_amount(left.cost_usd, 4)} USD, {_amount(left.seconds)} s,"
        f" {_amount(left.steps)} steps",
    ]
    if turns_left_out:
        lines.append(f"{turns_left_out} older turns of this conversation do not fit and are not shown.")
    if waiting:
        lines.append(f"{waiting} messages wait.")
    return Said("\n".join(lines))


def _amount(value: float, digits: int = 0) -> str:
    return "unlimited" if value == float("inf") else f"{max(value, 0):.{digits}f}"
