"""The four meters of a turn and the day's cap: reserve before the call, settle after, refund the rest (BUD-1).

Pure arithmetic over numbers and a passed clock. What the wrap-up needs is set aside from the start (BUD-4), so that a
turn that runs out can still say what it did.
"""

import contextlib
import threading
from collections.abc import Callable, Generator
from typing import Final

import msgspec

WARN_SHARE: Final = 0.8  # BUD-4: the model is told once
LEAST_OUTPUT_TOKENS: Final = 64  # a reply shorter than this is not worth a call
WRAP_UP_OUTPUT_TOKENS: Final = 400  # what was done, what not, what next: a few sentences
WRAP_UP_GROWTH_BYTES: Final = 1000  # its request names the meter, and the calls that the step before it asks for
WRAP_UP_SECONDS_SHARE: Final = 0.1
WRAP_UP_SECONDS_MOST: Final = 20.0
WRAP_UP_SECONDS_LEAST: Final = 5.0  # a turn with a tiny time limit still gets its sentence
BYTES_PER_TOKEN: Final = 3.0  # below the 3.5 to 4.5 of English and code, so that estimates err upward
MOST_BYTES_PER_TOKEN: Final = 8.0  # above what any text of people gives; more is a count that leaves something out
CALIBRATION_MARGIN: Final = 1.1


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The most a turn may use; `inf` means no limit."""

    tokens: float
    cost_usd: float
    seconds: float
    steps: float


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float | None = None  # None: what `input` costs
    known: bool = False  # False: a cost computed from it is an estimate

    def cost_usd(self, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float:
        """Return what an inference costs; cached tokens are part of `tokens_in`."""
        cache_read = self.input if self.cache_read is None else self.cache_read
        fresh = tokens_in - tokens_cached
        return (fresh * self.input + tokens_cached * cache_read + tokens_out * self.output) / 1e6


class Exhausted(Exception):
    """A meter ran out."""

    def __init__(self, meter: str, detail: str) -> None:
        """Name the meter: tokens, cost_usd, seconds, steps, daily_cost_usd or daily_tokens."""
        super().__init__(detail)
        self.meter = meter
        self.detail = detail


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """What one inference may use at most."""

    tokens_in: int  # estimate of the request
    max_output_tokens: int  # asked of the provider
    cost_usd: float

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.tokens_in + self.max_output_tokens


_NOTHING: Final = Reservation(tokens_in=0, max_output_tokens=0, cost_usd=0.0)


class ActiveClock:
    """The turn's wall time in seconds; it stands still while all that the turn does is to wait for a person.

    Calls may run side by side. Each says `working` while it runs and `pause`s while it waits for a person; time passes
    as long as one of them does not wait.
    """

    def __init__(self, monotonic: Callable[[], float], already: float = 0.0) -> None:
        """Start at `already`, what a resumed turn had used before."""
        self._monotonic = monotonic
        self._already = already
        self._since: float | None = monotonic()
        self._working = 0
        self._waiting = 0

    def elapsed(self) -> float:
        """Return the active seconds so far."""
        running = 0.0 if self._since is None else self._monotonic() - self._since
        return self._already + running

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._since is None

    @contextlib.contextmanager
    def working(self) -> Generator[None]:
        """A call runs inside the `with`."""
        self._working += 1
        self._turn_over()
        try:
            yield
        finally:
            self._working -= 1
            self._turn_over()

    def pause(self) -> None:
        """One more waits for a person."""
        self._waiting += 1
        self._turn_over()

    def resume(self) -> None:
        """One wait is over."""
        self._waiting -= 1
        self._turn_over()

    def _turn_over(self) -> None:
        stands_still = self._waiting >= max(1, self._working)
        if stands_still and self._since is not None:
            self._already += self._monotonic() - self._since
            self._since = None
        elif not stands_still and self._since is None:
            self._since = self._monotonic()


class Day:
    """The day's cap over all lanes of a group; safe to share between threads."""

    def __init__(self, *, tokens: float, cost_usd: float, spent: Callable[[], tuple[int, float]]) -> None:
        """Take the caps (`inf`: none) and a function that gives today's tokens and dollars so far."""
        self._tokens = tokens
        self._cost_usd = cost_usd
        self._spent = spent
        self._lock = threading.Lock()
        self._reserved_tokens = 0
        self._reserved_cost = 0.0

    def reserve(self, reservation: Reservation, *, kept: Reservation = _NOTHING) -> None:
        """Set a call's share aside; raise Exhausted when it does not fit today.

        `kept` is what must be left after the call, so that a turn that the cap ends can still say what it did (BUD-4).
        """
        if self._tokens == float("inf") and self._cost_usd == float("inf"):
            return
        with self._lock:
            tokens, cost = self._spent()
            if tokens + self._reserved_tokens + reservation.tokens + kept.tokens > self._tokens:
                raise Exhausted("daily_tokens", f"today's cap of {self._tokens:.0f} tokens for this group is used up")
            needed = reservation.cost_usd + kept.cost_usd
            if cost + self._reserved_cost + needed > self._cost_usd or cost >= self._cost_usd:
                raise Exhausted("daily_cost_usd", f"today's cap of {self._cost_usd} USD for this group is used up")
            self._reserved_tokens += reservation.tokens
            self._reserved_cost += reservation.cost_usd

    def release(self, reservation: Reservation) -> None:
        """Give a share back once the call is settled or was not made."""
        if self._tokens == float("inf") and self._cost_usd == float("inf"):
            return
        with self._lock:
            self._reserved_tokens -= reservation.tokens
            self._reserved_cost -= reservation.cost_usd


class Meters:
    """What one turn has used, and what it may still use."""

    def __init__(self, limits: Limits, price: Price, clock: ActiveClock) -> None:
        self.limits = limits
        self.price = price
        self.clock = clock
        self.tokens = 0
        self.cost_usd = 0.0
        self.steps = 0
        self.bytes_per_token = BYTES_PER_TOKEN
        self.kept_for_wrap_up = _NOTHING

    def keep_for_wrap_up(self, request_bytes: int) -> None:
        """Set aside what the wrap-up will need; its request would have `request_bytes` by now."""
        self.kept_for_wrap_up = self._reservation(
            self.estimate_tokens(request_bytes + WRAP_UP_GROWTH_BYTES), WRAP_UP_OUTPUT_TOKENS
        )

    def estimate_tokens(self, request_bytes: int) -> int:
        """Return an upper estimate of a request's tokens."""
        return int(request_bytes / self.bytes_per_token) + 1

    def calibrate(self, request_bytes: int, tokens_in: int) -> None:
        """Learn from a provider's count how many bytes a token has with this model and language."""
        if tokens_in > 0:
            learnt = request_bytes / tokens_in / CALIBRATION_MARGIN
            self.bytes_per_token = min(max(1.0, learnt), MOST_BYTES_PER_TOKEN)

    def settle(self, tokens: int, cost_usd: float) -> None:
        """Add what an inference really used."""
        self.tokens += tokens
        self.cost_usd += cost_usd

    def seconds_left(self) -> float:
        """Return the active seconds until the ordinary work must end; the wrap-up's share is set aside."""
        return self.limits.seconds - self._wrap_up_seconds_kept() - self.clock.elapsed()

    def wrap_up_seconds(self) -> float:
        """Return how long the wrap-up may take."""
        return max(WRAP_UP_SECONDS_LEAST, self._wrap_up_seconds_kept())

    def reserve_step(self, request_bytes: int, most_output_tokens: int) -> Reservation:
        """Return what the next step may use; raise Exhausted when a useful reply does not fit any more."""
        if self.steps >= self.limits.steps:
            raise Exhausted("steps", f"the limit of {self.limits.steps:.0f} steps is reached")
        if self.seconds_left() <= 0:
            raise Exhausted("seconds", f"the limit of {self.limits.seconds:g} seconds is reached")
        return self._reserve(request_bytes, most_output_tokens, self.kept_for_wrap_up)

    def reserve_wrap_up(self, request_bytes: int) -> Reservation:
        """Return what the wrap-up may use; raise Exhausted when even that does not fit."""
        return self._reserve(request_bytes, WRAP_UP_OUTPUT_TOKENS, _NOTHING)

    def _reserve(self, request_bytes: int, most_output_tokens: int, kept: Reservation) -> Reservation:
        return self._fitting(self.estimate_tokens(request_bytes), most_output_tokens, kept, self.price)

    def reserve_beside(self, request_bytes: int, most_output_tokens: int, price: Price) -> Reservation:
        """Return what an inference of another model beside the steps may use; raise Exhausted when it does not fit.

        It is no step. How many bytes a token has was learnt of the turn's own model, so the cautious count is taken.
        """
        tokens_in = int(request_bytes / BYTES_PER_TOKEN) + 1
        return self._fitting(tokens_in, most_output_tokens, self.kept_for_wrap_up, price)

    def _fitting(self, tokens_in: int, most_output_tokens: int, kept: Reservation, price: Price) -> Reservation:
        by_tokens = self.limits.tokens - self.tokens - kept.tokens - tokens_in
        if by_tokens < LEAST_OUTPUT_TOKENS:
            raise Exhausted("tokens", f"the next inference does not fit the limit of {self.limits.tokens:.0f} tokens")
        output = int(min(most_output_tokens, by_tokens))
        cost_left = self.limits.cost_usd - self.cost_usd - kept.cost_usd - price.cost_usd(tokens_in, 0)
        if price.output > 0:
            output = int(min(output, cost_left * 1e6 / price.output))
        if cost_left < 0 or output < min(LEAST_OUTPUT_TOKENS, most_output_tokens):
            raise Exhausted("cost_usd", f"the next inference does not fit the limit of {self.limits.cost_usd:g} USD")
        return Reservation(tokens_in=tokens_in, max_output_tokens=output, cost_usd=price.cost_usd(tokens_in, output))

    def _reservation(self, tokens_in: int, output: int) -> Reservation:
        return Reservation(
            tokens_in=tokens_in, max_output_tokens=output, cost_usd=self.price.cost_usd(tokens_in, output)
        )

    def _wrap_up_seconds_kept(self) -> float:
        if self.limits.seconds == float("inf"):
            return 0.0
        return min(WRAP_UP_SECONDS_MOST, self.limits.seconds * WRAP_UP_SECONDS_SHARE)

    def worst_share(self) -> tuple[str, float]:
        """Return the meter that is used up most and its share, for the one warning of BUD-4."""
        shares = {
            "tokens": self.tokens / self.limits.tokens,
            "cost_usd": self.cost_usd / self.limits.cost_usd,
            "seconds": self.clock.elapsed() / self.limits.seconds,
            "steps": self.steps / self.limits.steps,
        }
        meter = max(shares, key=lambda name: shares[name])
        return meter, shares[meter]
