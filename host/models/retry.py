"""Whether a failed attempt is repeated, and after how long. Pure: chance and the time are passed in.

Exponential back-off with full jitter (a random share of the whole wait, so that many clients of one server do not
come back together); a server's Retry-After is never undercut. The loop that waits and journals is the turn's.
"""

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final

from host.models.conversation import AttemptError

ATTEMPTS: Final = 4
SILENCE_SECONDS: Final = 60.0  # so long without a byte is a failure (TURN-6)
FIRST_WAIT_SECONDS: Final = 1.0
LONGEST_WAIT_SECONDS: Final = 30.0
LONGEST_RETRY_AFTER_SECONDS: Final = 300.0  # who asks for more will not be back within a turn: give up and say so

_REQUEST_TIMEOUT: Final = 408
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERRORS: Final = 500


def is_retryable(status: int) -> bool:
    """Say whether a request that was answered with this HTTP status may be sent again."""
    return status in (_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS) or status >= _SERVER_ERRORS


def wait_before(attempt: int, failure: AttemptError, chance: Callable[[], float]) -> float | None:
    """Return the seconds to wait before attempt number `attempt` (the second is 2), None to give up.

    `failure` is that of the attempt before; `chance` returns a number in [0, 1).
    """
    if not failure.retryable or attempt > ATTEMPTS:
        return None
    if failure.retry_after_seconds is None:
        return chance() * min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** (attempt - 2))
    if failure.retry_after_seconds > LONGEST_RETRY_AFTER_SECONDS:
        return None
    return failure.retry_after_seconds + chance() * FIRST_WAIT_SECONDS


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """Read a Retry-After header (RFC 9110, 10.2.3): seconds or an HTTP date; None when absent or unreadable.

    `now` is in seconds since 1970. A moment that has passed gives 0.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return seconds if seconds >= 0 else None  # also None for "nan", which no comparison holds for
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None
