"""The body of a lane for one generation: a daemon thread with its own event loop, and the means to get rid of it.

Above it stands `lanes.lane`. It knows threads, loops and how to interrupt them; it refuses to know what the loop
runs. A thread that waits in C (a sleep, a regular expression) cannot be interrupted by anybody: it is left behind,
and ends when it comes back to Python. What holds the interpreter lock in C needs the process killed.
"""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import ctypes
import gc
import logging
import queue
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final

FAREWELL_SECONDS: Final = 1.0
"""How long an abandoned loop may run on for its tasks' clean-up: killing a child takes milliseconds, and a second is
what STOP-2 grants until all descendants are gone."""

FIRST_LOOK_SECONDS: Final = 0.002
"""The first pause of the undertaker: a thread that was in a delicate place has left it after far less."""

LAST_LOOK_SECONDS: Final = 0.05
"""The longest pause. A look costs some 20 microseconds, so a thread that sleeps for an hour costs next to nothing, and
one that runs in and out of delicate places is caught outside before long."""

_CALLBACK: Final = asyncio.Handle._run.__code__  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] — see below
"""How a loop calls everything that it runs; a thread that is not inside it is busy with its loop, not with work."""

_DELICATE: Final = (
    threading.__file__,
    queue.__file__,
    logging.__file__,
    str(Path(concurrent.futures.__file__).parent),
    "<frozen importlib",
    weakref.WeakSet[object].add.__code__.co_filename,
    weakref.__file__,
    str(Path(asyncio.__file__).parent),
    str(Path(__file__).parent),
)
"""Where nobody is interrupted, by the beginning of the file's name.

Some of this code takes locks in Python functions: an exception between the acquiring call and the `with` it belongs
to would leave the lock taken for ever, and everybody else who needs it would hang. (A plain `with lock:` is safe: the
interpreter looks for such exceptions only once it is inside.) In a weak reference's callback it would be printed and
lost. The rest is the loop's own, and this package: a thread that is there comes by the request to leave without an
interrupt, and its loop stays fit for the farewell."""


class _Nothing(BaseException):
    """Raised and caught in the same place."""


_LEAVE: Final = ctypes.py_object(SystemExit)
_NOTHING: Final = ctypes.py_object(_Nothing)


class Seat:
    """A daemon thread with an event loop of its own. `stale` once it was abandoned; it never becomes fresh again."""

    def __init__(self, name: str) -> None:
        """Name the thread; `open` starts it and work may be posted before that.

        The thread makes its loop itself: that takes system calls, and each would hand the interpreter lock to the
        busy thread that this seat shall replace.
        """
        self.stale = False
        self._door = threading.Lock()  # between those who post and the thread that has just made its loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._early: list[tuple[Callable[[], object], contextvars.Context]] = []
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._opened = threading.Event()
        self._leaving = False
        self._serving = True
        self._patience_seconds = FAREWELL_SECONDS
        self._clock: int | None = None  # of the processor time that the thread uses
        self._spent_ns: int | None = None  # what it showed at the last look
        self._trusted_until = 0.0  # monotonic time up to which the thread is believed to be ending by itself
        self._exit = threading.Lock()  # held by whoever interrupts, so that the thread's ident cannot pass to another
        self._gone = False

    @property
    def alive(self) -> bool:
        """Whether the thread still exists."""
        return self._thread.is_alive()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs on this seat's thread."""
        return threading.get_ident() == self._thread.ident

    def open(self) -> None:
        """Start the thread."""
        self._thread.start()
        self._opened.set()

    def post(self, callback: Callable[[], object]) -> bool:
        """Run `callback` on the loop, soon, from any thread and without waiting; False: the loop is closed."""
        with self._door:
            if self._loop is None:
                self._early.append((callback, contextvars.copy_context()))
                return True
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # how asyncio says that the loop is closed
            return False
        return True

    def leave(self, patience_seconds: float = FAREWELL_SECONDS) -> None:
        """Ask the thread to cancel its tasks, wait up to `patience_seconds` for them, and end; returns at once."""
        self._patience_seconds = patience_seconds
        self._leaving = True
        self.post(self._stop_serving)

    def abandon(self) -> None:
        """Interrupt the thread if it is busy, and ask it to leave; returns at once."""
        self._leaving = True
        self.interrupt()  # first: the request is a system call, which hands the interpreter lock to the busy thread
        self.leave()

    def join(self, timeout_seconds: float) -> bool:
        """Wait up to `timeout_seconds` for the thread's end; return whether it came."""
        give_up_at = time.monotonic() + timeout_seconds
        if not self._opened.wait(timeout_seconds):  # another thread is just replacing the lane
            return False
        self._thread.join(max(0.0, give_up_at - time.monotonic()))
        return not self._thread.is_alive()

    def look(self) -> bool:
        """Tell whether the thread has used any processor time since the last look; never so at the first."""
        with contextlib.suppress(OSError):  # the thread has just ended
            spent_ns = None if self._clock is None else time.clock_gettime_ns(self._clock)
            moved = self._spent_ns not in (None, spent_ns)
            self._spent_ns = spent_ns
            return moved
        return False

    def interrupt(self) -> None:
        """Raise SystemExit in what the thread's loop runs, if that is busy and no lock could be left taken.

        It may not arrive (in a finaliser it is lost, it can be caught, or the moment is wrong), so whoever wants the
        thread gone asks again. A thread that waits in C is let be: an exception pending for long would keep every
        thread that is traced (by coverage, a debugger) from going on, in Python 3.11.
        """
        with self._exit:
            if self._gone or not self._thread.is_alive() or time.monotonic() < self._trusted_until:
                return
            if not self.look() or not self._is_at_work():
                return
            raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
            there, here = ctypes.c_ulong(self._thread.ident or 0), ctypes.c_ulong(threading.get_ident())
            raise_in(there, _LEAVE)
            if not self._is_at_work():  # it went on between the look and the deed: take the exception back
                try:  # the interpreter keeps looking for an exception until it finds one, so it gets one here, and
                    raise_in(there, None)  # no Python function is called meanwhile, where a traced thread would stop
                    raise_in(here, _NOTHING)
                except _Nothing:
                    pass

    def _is_at_work(self) -> bool:
        """Whether the thread is now in something that its loop runs, and not in a delicate place."""
        frame = _frame_of(self._thread.ident or 0)
        if frame is None or frame.f_code.co_filename.startswith(_DELICATE):
            return False
        while frame is not None and frame.f_code is not _CALLBACK:
            frame = frame.f_back
        return frame is not None

    def _main(self) -> None:
        """Be the thread. SystemExit may arrive between any two instructions, hence the many catches."""
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        loop = asyncio.new_event_loop()
        with contextlib.suppress(SystemExit):
            self._let_in(loop)
            self._serve(loop)
        with contextlib.suppress(SystemExit):
            self._say_farewell(loop)
        while not self._gone:
            with contextlib.suppress(SystemExit):
                with self._exit:
                    self._gone = True

    def _let_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take over what was posted before the loop was there."""
        with self._door:
            self._loop = loop
            for callback, context in self._early:
                loop.call_soon(callback, context=context)
            self._early.clear()

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the loop until asked to leave; work that tries to end the interpreter does not end the lane."""
        while not self._leaving:
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()

    def _stop_serving(self) -> None:
        """On the loop. The request may come round after an interrupt has ended the service: then it means nothing."""
        if self._serving:
            asyncio.get_running_loop().stop()

    def _say_farewell(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel what is left on the loop, let it clean up within the patience, and close the loop."""
        self._serving = False
        self._trusted_until = time.monotonic() + self._patience_seconds + FAREWELL_SECONDS
        try:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks, timeout=self._patience_seconds))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


_LOOKING = threading.Lock()


def _frame_of(thread_ident: int) -> types.FrameType | None:
    """Return the innermost frame of a thread, without letting the garbage collector in.

    Before Python 3.12 `sys._current_frames` makes objects while it holds the interpreter's list of threads. A
    collection at that moment may run Python code, which lets other threads go on, and one that begins or ends then
    waits for that list with the interpreter lock in its hands: the whole process stands still for ever.
    """
    with _LOOKING:
        collecting = gc.isenabled()
        gc.disable()
        try:
            frames = sys._current_frames()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] — documented for this
        finally:
            if collecting:
                gc.enable()
    return frames.get(thread_ident)


class Undertaker:
    """Sees abandoned seats to their end: interrupts them again and again until their threads are gone.

    Without it abandoned busy loops pile up and starve the process. Its own thread lives only while there is a seat.
    """

    def __init__(self, name: str) -> None:
        """Name the thread that will look after the seats."""
        self._name = name
        self._lock = threading.Lock()
        self._seats: list[Seat] = []
        self._watching = False
        self._news = threading.Event()

    @property
    def waiting_for(self) -> int:
        """How many abandoned threads still exist."""
        with self._lock:
            return sum(seat.alive for seat in self._seats)

    def take(self, seat: Seat) -> None:
        """Look after `seat` from now on; returns at once."""
        with self._lock:
            self._seats.append(seat)
            start = not self._watching
            self._watching = True
        self._news.set()
        if start:
            threading.Thread(target=self._watch, name=self._name, daemon=True).start()

    def _watch(self) -> None:
        """Interrupt what is left, with growing pauses, until nothing is left."""
        pause_seconds = FIRST_LOOK_SECONDS
        while seats := self._remaining():
            for seat in seats:
                seat.interrupt()
            if self._news.wait(pause_seconds):
                self._news.clear()
                pause_seconds = FIRST_LOOK_SECONDS
            else:
                pause_seconds = min(2 * pause_seconds, LAST_LOOK_SECONDS)

    def _remaining(self) -> list[Seat]:
        """Forget the seats that are gone and return the others; none means that the watch ends."""
        with self._lock:
            self._seats = [seat for seat in self._seats if seat.alive]
            self._watching = bool(self._seats)
            return list(self._seats)
