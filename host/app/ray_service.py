"""Ray as the host has it: started, watched, started again when it dies, and ended within a bound.

What blocks runs one after the other in one thread of its own: Ray's servers die with the thread that started them, and
a launch can then never meet an end half-way. The thread may hang in Ray; the host's end does not wait for it.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from host.errors import ResourceBusy
from host.groups.actor import STOPPING, Cluster
from host.panel.directory import ServiceView

_LOG: Final = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5  # how often Ray's own processes are looked after
RESTART_PAUSE_SECONDS: Final = 1.0
RESTART_PAUSE_MOST_SECONDS: Final = 30.0
STOP_SECONDS: Final = 5.0  # an orderly end takes 1.5 s on an idle machine, and nothing is lost by force
BREAK_OFF_SECONDS: Final = 2.0  # for a Ray that is only coming up, or whose servers are gone: nothing is lost with it


class RayService:
    """One Ray. Lives in one event loop."""

    def __init__(self, cluster: Cluster, on_started: Callable[[], None]) -> None:
        """`on_started` is called on the loop after each start."""
        self.stuck = False  # the end was not reached within its bound: what runs has to be killed
        self._cluster = cluster
        self._on_started = on_started
        self._state = ServiceView(name="ray", state="starting")
        self._closing = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ray")

    def view(self) -> ServiceView:
        """Return it at a glance."""
        return self._state

    @property
    def running(self) -> bool:
        """Whether groups can be launched."""
        return self._state.state == "running"

    async def call(self, work: Callable[..., None], *arguments: object) -> None:
        """Run `work` in Ray's thread; raise ResourceBusy when the host stops before it is done."""
        done = self._in_thread(work, *arguments)
        closing = asyncio.create_task(self._closing.wait(), name="wait for the end of Ray")
        either: set[asyncio.Future[Any]] = {done, closing}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
        if not done.done():
            raise ResourceBusy(STOPPING)
        done.result()

    async def start(self) -> None:
        """Start Ray, again and again until it runs."""
        pause = RESTART_PAUSE_SECONDS
        while True:
            try:
                await self.call(self._cluster.start)
            except Exception as error:  # noqa: BLE001 - Ray's own failures have no common root; each is shown and tried again
                _LOG.exception("Ray did not start")
                detail = f"Ray did not start ({type(error).__name__}: {error}); it is tried again every {pause:.0f} s"
                self._state = ServiceView(name="ray", state="failed", detail=detail)
                await asyncio.sleep(pause)
                pause = min(2 * pause, RESTART_PAUSE_MOST_SECONDS)
            else:
                self._state = ServiceView(name="ray", state="running")
                self._on_started()
                return

    async def keep(self, gone: Callable[[], None], back: Callable[[], Awaitable[None]]) -> None:
        """Start Ray again when one of its own processes is gone; `gone` and `back` are called around that."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._cluster.alive():
                continue
            _LOG.warning("a process of Ray is gone; Ray and the groups are started again")
            self._state = ServiceView(name="ray", state="starting", detail="Ray is being started again")
            gone()
            with contextlib.suppress(Exception):  # what is left of a dead cluster may refuse to be shut down
                await self.call(self._cluster.stop)
            gone()  # for a launch that was under way when it died
            await self.start()
            await back()

    def alive(self) -> bool:
        """Whether it runs and all its own processes are there."""
        return self.running and self._cluster.alive()

    async def stop(self) -> None:
        """Refuse calls from now on and end Ray within a bound; where that fails `stuck` is set."""
        bound = STOP_SECONDS if self.alive() else BREAK_OFF_SECONDS
        self._closing.set()
        self._cluster.close()
        ended = self._in_thread(self._cluster.stop)
        await asyncio.wait({ended}, timeout=bound)
        self.stuck = not ended.done() or ended.exception() is not None
        if self.stuck:
            _LOG.warning("Ray did not end in order within %.0f s; its processes are killed", bound)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _in_thread(self, work: Callable[..., None], *arguments: object) -> "asyncio.Future[None]":
        future = asyncio.get_running_loop().run_in_executor(self._thread, functools.partial(work, *arguments))
        future.add_done_callback(_seen)
        return future


def _seen(future: "asyncio.Future[Any]") -> None:
    """Take note of an error that nobody waits for any more: it is told where somebody does."""
    if not future.cancelled():
        future.exception()
