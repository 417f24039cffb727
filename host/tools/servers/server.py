"""One tool server of a group: started when it is needed, again when it ended, cut when a call is broken off (BOX-5).

A call that is cancelled (Stop, time-out) kills the server before anybody hears that the call is over, and one that is
only about to start does not start any more. The protocol has a message for that, which a server may ignore, and then
its effect would come after the Stop; the next call starts a new one. What it shows of its tools is handed on at each
start, and again when it says that they changed or some time has passed. Whether they may be used is said by whoever
keeps the lists.
"""

import asyncio
import collections
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar, cast

from host.errors import ElisError, PolicyViolation
from host.tools.servers.errors import Lost, ServerFailed
from host.tools.servers.link import Changes, Link, Said, linked
from host.tools.servers.listing import Listing, listing_of
from host.tools.servers.thread import ServerThread
from host.tools.servers.ways import Way

START_SECONDS: Final = 30.0  # until the tools are known; programs that are first unpacked take some
LOOK_AGAIN_SECONDS: Final = 60.0  # a server that changes its tools need not say so
ENDS: Final = 3  # so often it may end by itself within …
ENDS_SECONDS: Final = 300.0  # … this time, before it is left alone for the rest of it
_END_SECONDS: Final = 2.0
T = TypeVar("T")


class Server:
    """One tool server. Methods are safe from any thread and loop."""

    def __init__(  # noqa: PLR0913 - its ways in and out, given by the composition
        self,
        name: str,
        way: Way,
        thread: ServerThread,
        *,
        seen: Callable[[str, Listing], Awaitable[None]],
        held: Callable[[str], str],
        monotonic: Callable[[], float] = time.monotonic,
        start_seconds: float = START_SECONDS,
    ) -> None:
        """`seen` hears every list that it shows, `held` says why its tools may not be used."""
        self.name = name
        self._way = way
        self._thread = thread
        self._seen = seen
        self._held = held
        self._monotonic = monotonic
        self._start_seconds = start_seconds
        self._life: _Life | None = None
        self._starting: asyncio.Lock | None = None
        self._ends: collections.deque[float] = collections.deque(maxlen=ENDS)
        self._lock = threading.RLock()  # re-entrant: what a lost coroutine cleans up may come in between
        self._works: set[Future[Any]] = set()  # what is asked of it at present

    async def look(self) -> None:
        """Start it if it does not run, so that its list is seen; raise ServerFailed, SecretMissing, …."""
        await self._there(self._look())

    async def call(self, own_name: str, arguments: dict[str, Any]) -> Said:
        """Call a tool; raise ServerFailed or PolicyViolation. When this is cancelled, nothing goes on behind it."""
        return await self._there(self._call(own_name, arguments))

    def cut(self) -> None:
        """End it at once, and all that is asked of it; the next call starts it anew."""
        with self._lock:
            works = list(self._works)
        for work in works:
            work.cancel()  # else one that waits for its turn would start it again
        life = self._life
        if life is not None:
            life.dead = life.was_cut = True
        self._way.cut()
        if life is not None:
            self._thread.tell(life.cut)

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        running = self._thread.submit(work)
        with self._lock:
            self._works.add(running)
        running.add_done_callback(self._done)
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError as error:
            own = asyncio.current_task()
            if own is None or own.cancelling():
                self.cut()
                raise
            raise ServerFailed(self._ended_amid()) from error  # another call was broken off

    def _done(self, running: "Future[Any]") -> None:
        with self._lock:
            self._works.discard(running)

    def _ended_amid(self) -> str:
        return f"The tool server {self.name} ended in the middle of the call, which may have done a part of its work"

    # What follows runs on the loop of the thread.

    async def _look(self) -> None:
        life = await self._running()
        await self._look_again(life)

    async def _call(self, own_name: str, arguments: dict[str, Any]) -> Said:
        life = await self._running()
        await self._look_again(life)
        if why := self._held(self.name):
            raise PolicyViolation(why)
        try:
            return await life.link.call(own_name, arguments)
        except Lost as error:
            await self._let_end(life)
            raise ServerFailed(self._ended_amid(), self._way.last_words()) from error

    async def _running(self) -> "_Life":
        """Return a life of the server that goes on, a new one where need be."""
        self._starting = self._starting or asyncio.Lock()
        async with self._starting:
            life = self._life
            if life is not None and not life.dead:
                return life
            if life is not None:
                await asyncio.wait({life.task}, timeout=_END_SECONDS)
            self._refuse_too_many()
            life = self._life = _Life(self._way, self._listed)
            life.task.add_done_callback(lambda _: self._ended(life))
            try:
                async with asyncio.timeout(self._start_seconds):
                    await asyncio.shield(life.ready)
            except TimeoutError as error:
                self._kill(life)
                message = f"The tool server {self.name} was not ready within {self._start_seconds:g} s, and was ended"
                raise ServerFailed(message) from error
            except ServerFailed as error:
                await self._let_end(life)
                words = "\n".join(filter(None, (error.words, self._way.last_words())))
                raise ServerFailed(f"The tool server {self.name} cannot be used: {error.message}", words) from error
            except asyncio.CancelledError:
                self._kill(life)  # whoever cut it may not have known of it yet
                raise
            return life

    async def _look_again(self, life: "_Life") -> None:
        if life.changes.announced or self._monotonic() - life.looked > LOOK_AGAIN_SECONDS:
            life.changes.announced = False
            try:
                await self._listed(life.link, life)
            except Lost as error:
                await self._let_end(life)
                raise ServerFailed(f"The tool server {self.name} ended", self._way.last_words()) from error

    async def _listed(self, link: Link, life: "_Life") -> None:
        shown = await link.tools()
        try:
            listing = listing_of(self.name, shown)
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            raise ServerFailed("what it shows of its tools cannot be taken in", str(error)) from error
        life.looked = self._monotonic()
        await self._seen(self.name, listing)

    def _kill(self, life: "_Life") -> None:
        life.cut()
        self._way.cut()

    async def _let_end(self, life: "_Life") -> None:
        life.dead = True
        life.over.set()
        await asyncio.wait({life.task}, timeout=_END_SECONDS)

    def _ended(self, life: "_Life") -> None:
        life.dead = True
        if not life.was_cut:
            self._ends.append(self._monotonic())

    def _refuse_too_many(self) -> None:
        if len(self._ends) < ENDS:
            return
        wait = self._ends[0] + ENDS_SECONDS - self._monotonic()
        if wait > 0:
            message = (
                f"The tool server {self.name} ended by itself {ENDS} times in a short while; it is started again in "
                f"{wait:.0f} s at the earliest"
            )
            raise ServerFailed(message, self._way.last_words())


class _Life:
    """The server from one start to its end."""

    def __init__(self, way: Way, listed: Callable[[Link, "_Life"], Awaitable[None]]) -> None:
        self.changes = Changes()
        self.over = asyncio.Event()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.dead = False  # nothing is asked of it any more
        self.was_cut = False
        self.looked = 0.0
        self._link: Link | None = None
        self.task = asyncio.create_task(self._live(way, listed), name="life of a tool server")

    @property
    def link(self) -> Link:
        """The session; there once it is ready."""
        assert self._link is not None  # noqa: S101 - whoever asks has waited for `ready`
        return self._link

    def cut(self) -> None:
        """End it wherever it stands, also before there is anything that could be killed."""
        self.dead = self.was_cut = True
        self.over.set()
        self.task.cancel()

    async def _live(self, way: Way, listed: Callable[[Link, "_Life"], Awaitable[None]]) -> None:
        try:
            async with linked(way.open(self._end, lambda: not self.was_cut), self.changes) as link:
                self._link = link
                await listed(link, self)
                if not self.ready.done():
                    self.ready.set_result(None)
                await self.over.wait()
        except Exception as error:  # noqa: BLE001 - whatever a foreign server brings about ends here, as its failure
            self._fail(_translated(error))
        finally:
            self.dead = True
            self._fail(ServerFailed("it was ended"))

    def _end(self) -> None:
        self.dead = True
        self.over.set()

    def _fail(self, error: ElisError) -> None:
        if not self.ready.done():
            self.ready.set_exception(error)
            self.ready.exception()  # whoever waits is told; nobody may wait any more


def _translated(error: BaseException) -> ElisError:
    """Return the first error of the host in what went wrong, or any in words."""
    first: BaseException = error
    while isinstance(first, BaseExceptionGroup):
        first = cast("BaseExceptionGroup[BaseException]", first).exceptions[0]
    if isinstance(first, ElisError):
        return first
    return ServerFailed("it does not keep to the protocol", f"{type(first).__name__}: {first}")
