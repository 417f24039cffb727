"""Names for things that are born at run time: turns, messages, approvals, grants.

An id sorts by the time of its birth, so that listings and file names read in order. This module knows no clock of
its own: callers pass the time.
"""

import secrets
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread
_TIME_CHARS: Final = 9  # 45 bits of milliseconds last until the year 3084
_RANDOM_CHARS: Final = 7  # 35 bits: two ids of one millisecond collide once in 3e10

TURN: Final = "t"
MESSAGE: Final = "m"
APPROVAL: Final = "a"
GRANT: Final = "g"
SESSION: Final = "s"


def new_id(prefix: str, now_us: int) -> str:
    """Return a fresh id: `prefix`, then the time `now_us` (microseconds since 1970, UTC), then random characters."""
    milliseconds = now_us // 1000
    time_part = "".join(_ALPHABET[(milliseconds >> (5 * i)) & 31] for i in reversed(range(_TIME_CHARS)))
    random_part = "".join(_ALPHABET[secrets.randbelow(32)] for _ in range(_RANDOM_CHARS))
    return prefix + time_part + random_part


def call_id(step: int, index: int) -> str:
    """Return the host's own id of the `index`-th call of a step; a provider's id may repeat, this one cannot."""
    return f"{step}.{index}"


def idempotency_key(turn: str, call: str) -> str:
    """Return the key under which a call with effects happens at most once (REC-6)."""
    return f"{turn}:{call}"
