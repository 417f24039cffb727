"""A lane: a long-lived thread with its own event loop, a generation, and the runs on it (lanes.md, STOP-2).

Above it stand the group's doors; below it `lanes.seat`. Every method may be called from any thread and none waits for
the loop, which may be blocked. What runs here, and what its end means, is the caller's: the lane refuses to know.
The thread is long-lived also because children tied to it by PDEATHSIG die with the thread, not with the process.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final

from lanes.errors import CalledFromInside, LaneClosed, RunAborted, RunCancelled, StaleGeneration
from lanes.seat import Seat, Undertaker

_IN_FLIGHT_SECONDS: Final = 0.1
"""How long a replacement waits for a thread that is just now setting a run's result: that takes microseconds, and
a few switches of the interpreter lock beside busy threads."""

Work = Callable[["Token"], Coroutine[Any, Any, None]]
"""What a run is made of. It is called on the lane's loop."""


class Token:
    """The right of one generation of a lane to act. The journal and the gate ask it before they do anything."""

    __slots__ = ("_seat", "generation", "lane")

    def __init__(self, lane: str, generation: int, seat: Seat) -> None:
        self.lane: Final = lane
        self.generation: Final = generation
        self._seat: Final = seat

    def check(self) -> None:
        """Raise StaleGeneration when the lane was replaced since; from any thread, without waiting."""
        if self._seat.stale:
            raise StaleGeneration(self.lane, self.generation)


class Run:
    """One coroutine on a lane.

    `done` resolves exactly once: when the coroutine has ended, or when its lane was replaced or closed without it.
    Its exception is None, the coroutine's own, RunCancelled, RunAborted or StaleGeneration: nothing that would end the
    waiter's own task or thread. It cannot be cancelled by a waiter that gave up.
    """

    def __init__(self, name: str, token: Token, seat: Seat, siblings: "set[Run]") -> None:
        """Belong to `siblings` until `done`; the lane adds and starts the run."""
        self.name: Final = name
        self.token: Final = token
        self.done: Final[concurrent.futures.Future[None]] = concurrent.futures.Future()
        self.done.set_running_or_notify_cancel()  # from here on `done.cancel()` is refused
        self._seat = seat
        self._siblings = siblings
        self._claim = threading.Lock()
        self._claimed = False
        self._cancel_asked = False
        self._task: asyncio.Task[None] | None = None

    @property
    def started(self) -> bool:
        """Whether the coroutine has begun."""
        return self._task is not None

    def cancel(self) -> None:
        """Ask the coroutine to end, from any thread, when the loop turns next; one that has not begun never begins."""
        self._cancel_asked = True
        self._seat.look()  # if the lane is replaced soon, it is known whether the thread was busy since
        self._seat.post(self._cancel_on_loop)

    def begin(self, work: Work) -> None:
        """Called by the lane, on its loop: schedule the coroutine."""
        asyncio.get_running_loop().create_task(self._drive(work), name=self.name).add_done_callback(self._end_unbegun)

    def settle(self, failure: Exception | None) -> None:
        """Called by the lane: resolve `done`, unless that has happened."""
        with self._claim:  # a plain lock: an interrupted thread cannot leave it taken
            if self._claimed:
                return
            self._claimed = True
        self._siblings.discard(self)
        self._resolve(failure)

    def retire(self, failure: Exception) -> None:
        """Called by the lane: resolve `done` and be sure that the run's own thread does not touch it any more."""
        self.settle(failure)
        with contextlib.suppress(TimeoutError):
            self.done.exception(_IN_FLIGHT_SECONDS)
            return
        self._resolve(failure)

    def _resolve(self, failure: Exception | None) -> None:
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            if failure is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(failure)

    def _cancel_on_loop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _drive(self, work: Work) -> None:
        """Run the coroutine to its end and tell how it ended."""
        if self._cancel_asked:
            self.settle(RunCancelled(started=False))
            return
        self._task = asyncio.current_task()
        failure: Exception | None = None
        try:
            self.token.check()
            await work(self.token)
        except asyncio.CancelledError:
            failure = RunCancelled(started=True)
        except Exception as error:  # noqa: BLE001 — it is not swallowed but handed to whoever waits for the run
            failure = error
        except BaseException as error:  # noqa: BLE001 — likewise; let through, it would end the lane's thread
            failure = RunAborted()
            failure.__cause__ = error
        self.settle(failure)

    def _end_unbegun(self, _task: "asyncio.Task[None]") -> None:
        """Resolve `done` where the loop's end cancelled the task before its first step."""
        self.settle(RunCancelled(started=False))


class Lane:
    """One kind of work of a group: any number of runs at once on one thread, replaceable as a whole."""

    def __init__(
        self, name: str, *, generation: int = 1, on_replaced: Callable[[str, int], None] | None = None
    ) -> None:
        """Start the thread `lane-NAME-GENERATION`; `on_replaced(name, new generation)` runs in the replacing thread."""
        self.name: Final = name
        self._on_replaced = on_replaced
        self._lock = threading.Lock()
        self._generation = generation
        self._closed = False
        self._runs: set[Run] = set()
        self._undertaker = Undertaker(f"lane-{name}-undertaker")
        self._seat = self._new_seat()
        self._seat.open()

    @property
    def generation(self) -> int:
        """The number that new tokens carry; it only rises."""
        return self._generation

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs of this generation that have not ended."""
        return tuple(self._runs)

    @property
    def abandoned(self) -> int:
        """How many abandoned threads of this lane still exist, because something in C does not return."""
        return self._undertaker.waiting_for

    def start(self, work: Work, name: str) -> Run:
        """Start `work` on the loop, soon, from any thread; raise LaneClosed."""
        with self._lock:
            run = Run(name, Token(self.name, self._generation, self._seat), self._seat, self._runs)
            self._runs.add(run)
            if self._closed or not self._seat.post(functools.partial(run.begin, work)):
                self._runs.discard(run)
                raise LaneClosed(self.name)
        return run

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run `callback` on the loop, soon, from any thread; raise LaneClosed."""
        with self._lock:
            if self._closed or not self._seat.post(callback):
                raise LaneClosed(self.name)

    def replace(self, generation: int | None = None) -> int:
        """Abandon the thread and take a new one; return the new generation.

        All tokens of the old generation are stale at once and all its runs are done with StaleGeneration. With
        `generation` given, do this only if the lane still has that one, so that two Stops at a time replace it once.
        Raises LaneClosed, and CalledFromInside on the lane's own thread.
        """
        with self._lock:
            if self._closed:
                raise LaneClosed(self.name)
            if generation is not None and generation != self._generation:
                return self._generation
            old, runs, stale = self._condemn()
            self._generation += 1
            self._runs = set()
            seat = self._seat = self._new_seat()
            current = self._generation
        self._abandon(old, runs, stale)
        seat.open()
        self._undertaker.take(old)
        if self._on_replaced is not None:
            self._on_replaced(self.name, current)
        return current

    def close(self, timeout_seconds: float) -> bool:
        """Cancel every run, wait up to `timeout_seconds` for the thread's end, and tell whether it ended.

        Tokens stay good meanwhile, so that the runs can record their end. A thread that does not end in time is
        abandoned. Further calls wait again. Raises CalledFromInside on the lane's own thread.
        """
        with self._lock:
            if self._seat.is_current:
                raise CalledFromInside(self.name)
            self._closed = True
        self._seat.leave(timeout_seconds)
        if self._seat.join(timeout_seconds):
            for run in self.runs:  # never begun: the loop ended before their turn came
                run.retire(RunCancelled(started=run.started))
            return True
        with self._lock:
            if self._seat.stale:
                return False
            old, runs, stale = self._condemn()
        self._abandon(old, runs, stale)
        self._undertaker.take(old)
        return False

    def _new_seat(self) -> Seat:
        return Seat(f"lane-{self.name}-{self._generation}")

    def _condemn(self) -> tuple[Seat, tuple[Run, ...], StaleGeneration]:
        """Make the present seat stale; the lock is held."""
        if self._seat.is_current:
            raise CalledFromInside(self.name)
        self._seat.stale = True
        return self._seat, self.runs, StaleGeneration(self.name, self._generation)

    @staticmethod
    def _abandon(seat: Seat, runs: tuple[Run, ...], failure: StaleGeneration) -> None:
        """Free whoever waits for the runs, then interrupt the thread: in this order, or it could die holding `done`."""
        for run in runs:
            run.retire(failure)
        seat.abandon()
