"""The egress proxy: the one way out of what runs on behalf of a model (BOX-2, WEB-5).

A forward proxy for HTTP/1.1: CONNECT for TLS, and requests for whole http addresses. Each caller has a door of its own,
so that it is known for whom a connection is made: a listening socket handed out of a network namespace, one made by
the owner, or plain pairs of sockets. Whether and how a connection is carried is `browser.exchange`'s to say. It knows
nothing of groups, turns or policy. Its thread and event loop belong to whoever starts it.
"""

import array
import asyncio
import contextlib
import logging
import secrets
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final

from browser.errors import ProxyStopped, Rule
from browser.exchange import Client, Connection, Exchange, Verdict
from browser.network import Limits, Network

_LOG: Final = logging.getLogger(__name__)
_STOP_SECONDS: Final = 5.0
_REPORT_SECONDS: Final = 5.0  # that a slow journal may hold a caller's next connections back
_CONTROL_BYTES: Final = 16
_GO: Final = b"g"
_LOOKS: Final = 2  # turns of the loop in which a caller that has ended is seen to have closed what it had
_TOLD: Final = 20  # refusals that are kept for whoever asks; a run that tries more is told about these

OnConnection = Callable[[Connection], "Future[Any] | None"]
"""Hears of each connection at its end, on the proxy's thread. While the future it returns is open the connection
counts as one of its caller's, so that nobody makes connections faster than they are written down."""


class Door:
    """The way out of one caller. Methods are safe from any thread; made by `Proxy.door`."""

    def __init__(self, proxy: "Proxy", client: Client) -> None:
        self.client = client
        self.mark: Final = secrets.token_hex(16)  # by which its holder knows answers of the proxy itself
        self._proxy = proxy
        self._lock = threading.RLock()  # re-entrant: what a lost coroutine cleans up may come in between
        self._closed = threading.Event()
        self._refusals: dict[str, None] = {}
        self._unlisted: dict[tuple[str, int], None] = {}
        # What follows belongs to the proxy's loop.
        self._tasks: set[asyncio.Task[None]] = set()
        self._free = asyncio.Semaphore(proxy.limits.at_once)
        self._made = 0
        self._closing = False

    def adopt(self, control: socket.socket) -> None:
        """Take the listening socket that comes over `control` by SCM_RIGHTS, and answer with a byte; own `control`."""
        self._proxy.begin(self, self._adopted(control), control)

    def listen(self, listener: socket.socket) -> None:
        """Take the connections of `listener`, a listening socket that the door owns from now on."""
        self._proxy.begin(self, self._accepted(listener), listener)

    def connection(self) -> socket.socket:
        """Return one end of a pair of sockets, at whose other end the proxy listens for one request."""
        own, other = socket.socketpair()
        try:
            self._proxy.begin(self, self._served(other), other)
        except BaseException:
            own.close()
            raise
        return own

    def close(self, seconds: float = _STOP_SECONDS) -> bool:
        """End all connections of this caller; say whether that, and the reports, were done within `seconds`."""
        self._proxy.end(self)
        return self._closed.wait(seconds)

    def refusals(self) -> tuple[str, ...]:
        """Return in sentences what was refused, each once."""
        with self._lock:
            return tuple(self._refusals)

    def unlisted(self) -> tuple[tuple[str, int], ...]:
        """Return the names and ports that were refused for no other reason than that they are not listed, each once."""
        with self._lock:
            return tuple(self._unlisted)

    def own(self, work: Coroutine[Any, Any, None], resource: socket.socket) -> None:
        """Run `work` on `resource`, which is closed at its end, as long as the door is open. On the proxy's loop."""
        if self._closing:
            work.close()
            resource.close()
            return
        task = asyncio.get_running_loop().create_task(work, name=f"door {self.client.caller}")
        self._tasks.add(task)
        task.add_done_callback(self._over)
        task.add_done_callback(lambda _: resource.close())  # it may be cancelled before its first step

    async def shut(self) -> None:
        """End everything. On the proxy's loop."""
        self._closing = True
        for _ in range(_LOOKS):
            await asyncio.sleep(0)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        await asyncio.sleep(0)  # what was aborted is closed in the loop's next turn
        self._closed.set()

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("a connection of %s broke the proxy", self.client.caller, exc_info=error)

    async def _adopted(self, control: socket.socket) -> None:
        with control:
            control.setblocking(False)
            await _readable(control)
            try:
                listener = _received(control)
            except OSError as error:
                _LOG.warning("the sandbox of %s handed out no door: %s", self.client.caller, error)
                return
            with contextlib.suppress(OSError):
                control.send(_GO)
        await self._accepted(listener)

    async def _accepted(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listener:
            listener.setblocking(False)
            while self._made < self._proxy.limits.in_all:
                await self._free.acquire()
                try:
                    connected, _ = await loop.sock_accept(listener)
                except OSError as error:
                    _LOG.warning("the door of %s takes no more connections: %s", self.client.caller, error)
                    return
                finally:
                    self._free.release()
                self.own(self._served(connected), connected)
        self._note(f"no more than {self._proxy.limits.in_all} connections can be made by one run ({Rule.TOO_MANY})")

    async def _served(self, connected: socket.socket) -> None:
        self._made += 1
        async with self._free:
            connected.setblocking(False)
            limits = self._proxy.limits
            try:
                streams = await asyncio.open_connection(sock=connected, limit=limits.head_bytes)
            except OSError:
                connected.close()
                return
            exchange = Exchange(streams, self.client, self._proxy.network, limits, self.mark)
            try:
                await exchange.run()
            finally:
                reported = self._report(exchange.account())
            if reported is not None:
                await asyncio.wait({asyncio.wrap_future(reported)}, timeout=_REPORT_SECONDS)

    def _report(self, connection: Connection | None) -> "Future[Any] | None":
        if connection is None:
            return None
        broken_off = connection.rule not in {None, Rule.CALLER_ENDED}
        if connection.verdict is not Verdict.CARRIED or broken_off:
            self._note(f"{connection.detail or 'the connection broke'} ({connection.rule or 'broken'})")
        if connection.rule in {Rule.HOST_NOT_LISTED, Rule.PORT}:
            with self._lock:
                if len(self._unlisted) < _TOLD:
                    self._unlisted[connection.host, connection.port] = None
        return self._proxy.on_connection(connection)

    def _note(self, sentence: str) -> None:
        with self._lock:
            if len(self._refusals) < _TOLD:
                self._refusals[sentence] = None


class Proxy:
    """The egress proxy of one owner."""

    def __init__(
        self, on_connection: OnConnection, *, network: Network | None = None, limits: Limits | None = None
    ) -> None:
        """Begin nothing; `start` does, or the first door."""
        self.on_connection = on_connection
        self.network = network or Network()
        self.limits = limits or Limits()
        self._lock = threading.RLock()  # re-entrant: what a lost coroutine cleans up may come in between
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._doors: set[Door] = set()
        self._stopped = False

    def start(self) -> None:
        """Start the thread; a proxy that runs already is left alone. Raise ProxyStopped."""
        with self._lock:
            if self._stopped:
                raise ProxyStopped
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="egress", daemon=True)
                self._thread.start()

    def door(self, client: Client) -> Door:
        """Return a way out for a caller; close it when the caller's run ends. Raise ProxyStopped."""
        self.start()
        door = Door(self, client)
        with self._lock:
            self._doors.add(door)
        return door

    def stop(self, seconds: float = _STOP_SECONDS) -> None:
        """Close every door and end the thread. A stopped proxy is not started again."""
        with self._lock:
            self._stopped = True
            loop, thread, doors = self._loop, self._thread, list(self._doors)
        if loop is None or thread is None:
            return
        for door in doors:
            self.end(door)
        for door in doors:
            door.close(seconds)
        with contextlib.suppress(RuntimeError):  # it was stopped before
            loop.call_soon_threadsafe(loop.stop)
        thread.join(seconds)

    def doors(self) -> tuple[Door, ...]:
        """Return the open doors."""
        with self._lock:
            return tuple(self._doors)

    def begin(self, door: Door, work: Coroutine[Any, Any, None], resource: socket.socket) -> None:
        """Run `work` for `door` on the loop; raise ProxyStopped."""
        assert self._loop is not None  # noqa: S101 - a door exists
        try:
            self._loop.call_soon_threadsafe(door.own, work, resource)
        except RuntimeError as error:
            work.close()
            resource.close()
            raise ProxyStopped from error

    def end(self, door: Door) -> None:
        """Close `door`, without waiting."""
        with self._lock:
            known = door in self._doors
            self._doors.discard(door)
        if known and self._loop is not None:
            with contextlib.suppress(RuntimeError):
                asyncio.run_coroutine_threadsafe(door.shut(), self._loop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()  # without waiting for names that are still being looked up


async def _readable(waited: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(waited, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_reader(waited)


def _settle(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


def _received(control: socket.socket) -> socket.socket:
    """Return the listening socket that came over `control`; raise OSError for anything else."""
    room = socket.CMSG_SPACE(array.array("i").itemsize)
    _, passed, _, _ = control.recvmsg(_CONTROL_BYTES, room, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, data in passed:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    if not descriptors:
        raise OSError("it ended before it had one")
    listener = socket.socket(fileno=descriptors[0])
    if listener.family != socket.AF_INET or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        listener.close()
        raise OSError("what it handed out is no listening socket")
    return listener
