"""The thread and event loop on which the tool servers of a group live.

A server outlives the turn that started it, and a sandboxed process dies with the thread that made it: so neither the
loop nor the thread of a lane will do, which a Stop may abandon.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

T = TypeVar("T")
_CLOSE_SECONDS: Final = 5.0


class ServerThread:
    """One thread with one loop; begun with the first piece of work. Methods are safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # re-entrant: what a lost coroutine cleans up may come in between
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run `work` on the loop."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="tool-servers", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def tell(self, callback: Callable[[], None]) -> None:
        """Call back on the loop, if there is one that runs."""
        with self._lock, contextlib.suppress(RuntimeError):  # it was closed
            if self._loop is not None:
                self._loop.call_soon_threadsafe(callback)

    def close(self) -> None:
        """Cancel what runs, and end the thread within a bound."""
        with self._lock:
            loop, thread = self._loop, self._thread
        if loop is None or thread is None or loop.is_closed():
            return
        with contextlib.suppress(TimeoutError, RuntimeError):
            asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result(_CLOSE_SECONDS)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSE_SECONDS)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


async def _cancel_all() -> None:
    own = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not own]
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=_CLOSE_SECONDS)
