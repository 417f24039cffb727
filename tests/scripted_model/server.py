"""The server itself: a hand-written HTTP/1.1 reader on an event loop of its own thread.

Written by hand because a bench measures Elis against it: a request without pauses costs about 0.1 ms here and its
answer leaves in one write. Everything public may be used from any thread.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from tests.scripted_model.script import Entry, Predicate, Responder, Script
from tests.scripted_model.steps import Drop, Fail, Gate, Hang, Reply, Rubbish, Step
from tests.scripted_model.wire import (
    chat_stream,
    chat_whole,
    error,
    messages_stream,
    messages_whole,
    models,
)

_GATE_LOOK_SECONDS: Final = 0.001  # gates belong to other threads or are files, so they are looked at
_DEADLINE_SECONDS: Final = 10.0
_STREAM_HEAD: Final = b"\r\n".join(
    (
        b"HTTP/1.1 200 OK",
        b"content-type: text/event-stream",
        b"cache-control: no-store",
        b"transfer-encoding: chunked\r\n\r\n",
    )
)
_STREAM_END: Final = b"0\r\n\r\n"


class Received:
    """A request as it came, and what became of it."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers  # names in lower case
        self.body = body
        self.answered = threading.Event()  # the whole answer was written
        self.gone = threading.Event()  # the client left before that

    @cached_property
    def json(self) -> dict[str, Any]:
        """The body, decoded; an empty dict when it is no JSON object."""
        try:
            return msgspec.json.decode(self.body, type=dict[str, Any])
        except msgspec.DecodeError:
            return {}


class _Play(msgspec.Struct):
    """Bytes to send, and how."""

    pieces: list[bytes]
    delay: float = 0.0
    pause: Gate | None = None
    pause_after: int = 0
    ending: str = "keep"  # keep | close | hang


def _framed(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _whole(
    status: int, body: bytes, content_type: str = "application/json", extra: dict[str, str] | None = None
) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in (extra or {}).items())
    head = f"HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n{lines}\r\n"
    return head.encode("latin-1") + body


def _rendered(reply: Reply, request: Received, serial: int) -> list[bytes]:
    """Return the pieces of a reply as they go over the wire, framed; the last one ends the reply but not the body."""
    asked = request.json
    model = str(asked.get("model", ""))
    is_messages = request.path.endswith("/messages")
    if not asked.get("stream"):
        whole = messages_whole(reply, serial, model) if is_messages else chat_whole(reply, serial, model)
        return [_whole(200, whole)]
    if is_messages:
        pieces = messages_stream(reply, serial, model)
    else:
        options: dict[str, Any] = asked.get("stream_options") or {}
        pieces = chat_stream(reply, serial, model, include_usage=bool(options.get("include_usage")))
    return [_STREAM_HEAD + _framed(pieces[0]), *map(_framed, pieces[1:])]


def _cut(reply: Reply, count: int, request: Received, serial: int) -> list[bytes]:
    """Return the first pieces of a reply; half of the only one where it is not streamed."""
    pieces = _rendered(reply, request, serial)
    if len(pieces) == 1 and count:
        return [pieces[0][: len(pieces[0]) // 2]]
    return pieces[:count]


def _play(step: Step, request: Received, serial: int) -> _Play:
    streamed = bool(request.json.get("stream"))
    match step:
        case Reply():
            pieces = _rendered(step, request, serial)
            if streamed:
                pieces[-1] += _STREAM_END
            return _Play(pieces, step.chunk_delay, step.pause, min(step.pause_after, len(pieces) - 1))
        case Drop():
            pieces = _cut(step.reply, step.after_chunks, request, serial)
            if step.clean and pieces and streamed:
                pieces[-1] += _STREAM_END
                return _Play(pieces, step.reply.chunk_delay)
            return _Play(pieces, step.reply.chunk_delay, ending="close")
        case Hang():
            pieces = _cut(step.reply, step.after_chunks, request, serial)
            return _Play(pieces, step.reply.chunk_delay, ending="hang")
        case Fail():
            body = step.body.encode() or error(request.path, step.status, f"scripted failure {step.status}")
            return _Play([_whole(step.status, body, extra=step.headers)])
        case Rubbish():
            return _Play([_whole(step.status, step.body.encode(), step.content_type)])


class _Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, owner: "ScriptedModel") -> None:
        self._owner = owner
        self._buffer = b""
        self._current: Received | None = None
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # asyncio has set TCP_NODELAY on it
        self._transport = transport
        self._owner.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if self._task is not None:
            self._task.cancel()
        if self._current is not None:
            self._current.gone.set()
        self._owner.lost(self)

    def abort(self) -> None:
        """Break the connection."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._current is None:
            self._take()

    def _take(self) -> None:
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        method, path, _ = first.split(" ", 2)
        self._current = Received(method, path, headers, rest[:length])
        self._begin(self._owner.answer(self._current))

    def _begin(self, play: _Play) -> None:
        assert self._transport is not None
        if not play.delay and play.pause is None:
            self._transport.write(b"".join(play.pieces))
            self._end(play)
        else:
            self._task = asyncio.get_running_loop().create_task(self._perform(play), name="scripted reply")

    async def _perform(self, play: _Play) -> None:
        assert self._transport is not None
        for index, piece in enumerate(play.pieces):
            if index and play.delay:
                await asyncio.sleep(play.delay)
            if index == play.pause_after:
                while play.pause is not None and not play.pause.is_set():
                    await asyncio.sleep(_GATE_LOOK_SECONDS)
            self._transport.write(piece)
        self._task = None
        self._end(play)

    def _end(self, play: _Play) -> None:
        assert self._transport is not None
        if play.ending == "hang":
            return  # `gone` tells when the client has had enough
        assert self._current is not None
        self._current.answered.set()
        self._current = None
        if play.ending == "close":
            self._transport.close()
        elif self._buffer:
            self._take()


class ScriptedModel:
    """A model server under a test's control; a context manager.

    Without a step for a request it answers 400, which no client repeats. `api_key`: the one that it insists on.
    """

    def __init__(self, *, port: int = 0, models: tuple[str, ...] = ("scripted",), api_key: str | None = None) -> None:
        self.plan: Final = Script()
        self.models = models
        self.api_key = api_key
        self.log: Callable[[Received], None] | None = None  # told of every request, on the server's thread
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: set[_Connection] = set()
        self._news = threading.Condition()
        self._requests: list[Received] = []
        self._serial = 0
        self.connections_opened = 0

    # ---- life

    def start(self) -> Self:
        """Listen on loopback; return when connections are accepted."""
        ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(self._loop, ready), name="scripted model", daemon=True)
        self._thread.start()
        if not ready.wait(_DEADLINE_SECONDS) or not self._thread.is_alive():
            message = f"the scripted model could not listen on port {self._port}"
            raise RuntimeError(message)
        return self

    def stop(self) -> None:
        """Break every connection and stop listening."""
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None and thread.is_alive():
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_DEADLINE_SECONDS)
        self._loop = self._thread = None

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    def _run(self, loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
        server: asyncio.Server | None = None
        try:
            server = loop.run_until_complete(loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port))
            self._port = server.sockets[0].getsockname()[1]
            loop.call_soon(ready.set)
            loop.run_forever()
        finally:
            if server is not None:
                server.close()
            for connection in list(self._connections):
                connection.abort()
            loop.run_until_complete(_let_go())
            loop.close()
            ready.set()

    # ---- what a test says and sees

    @property
    def root_url(self) -> str:
        """The server without `/v1`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """What precedes /chat/completions and /messages."""
        return f"{self.root_url}/v1"

    @property
    def port(self) -> int:
        """The port, known after `start`."""
        return self._port

    def script(self, *steps: Entry, loop: bool = False) -> None:
        """Append steps to the queue; those of a loop are repeated without end."""
        self.plan.add(*steps, loop=loop)

    def when(self, matches: Predicate, *steps: Entry, loop: bool = True) -> None:
        """Answer requests (decoded) that match with these steps, before the queue is asked."""
        self.plan.when(matches, *steps, loop=loop)

    def respond(self, responder: Responder | None) -> None:
        """Let a function of the decoded request and its index choose every step."""
        self.plan.respond(responder)

    @property
    def requests(self) -> list[Received]:
        """The inferences asked for so far (a copy)."""
        with self._news:
            return list(self._requests)

    def wait_requests(self, count: int, timeout: float = _DEADLINE_SECONDS) -> list[Received]:
        """Wait until at least `count` inferences were asked for; raise TimeoutError."""
        deadline = time.monotonic() + timeout
        with self._news:
            while len(self._requests) < count:
                if not self._news.wait(deadline - time.monotonic()):
                    message = f"{len(self._requests)} of {count} requests came within {timeout} s"
                    raise TimeoutError(message)
            return list(self._requests)

    # ---- what connections say

    def opened(self, connection: _Connection) -> None:
        """Count a connection in."""
        self._connections.add(connection)
        self.connections_opened += 1

    def lost(self, connection: _Connection) -> None:
        """Count a connection out."""
        self._connections.discard(connection)

    def answer(self, request: Received) -> _Play:
        """Record a request and choose its answer."""
        if self.api_key is not None and self.api_key not in _keys(request):
            return _play(Fail(401), request, 0)
        if request.method == "GET" and request.path.endswith("/models"):
            return _Play([_whole(200, models(self.models))])
        if request.method != "POST" or not request.path.endswith(("/chat/completions", "/messages")):
            return _play(Fail(404), request, 0)
        self._serial += 1
        with self._news:
            self._requests.append(request)
            self._news.notify_all()
        if self.log is not None:
            self.log(request)
        try:
            return _play(self.plan.next(request.json), request, self._serial)
        except Exception as failure:  # noqa: BLE001 - the test's own function may raise anything; its client is told
            return _Play([_whole(400, error(request.path, 400, f"the script failed: {failure!r}"))])


def _keys(request: Received) -> tuple[str, str]:
    return request.headers.get("authorization", "").removeprefix("Bearer "), request.headers.get("x-api-key", "")


async def _let_go() -> None:
    """Let aborted transports and cancelled replies come to their end."""
    await asyncio.sleep(0)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0)
