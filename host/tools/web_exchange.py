"""HTTP through a door of the egress proxy, an exchange or a client's transport: the only place that knows httpcore2.

The request goes the same way as one of a sandboxed command: over a real proxied connection, with nothing but a pair of
sockets in place of the sandbox's loopback, so that there is one wall and not two. Redirects are not followed here.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Iterable
from http import HTTPStatus
from typing import Any, Final, cast

import httpcore2
import httpx2
import msgspec

from browser.exchange import DOOR_FIELD
from browser.proxy import Door
from host.errors import ToolFailed
from host.tools.quoting import Quoting
from host.tools.web_address import WebAddress

_CLOSE_SECONDS: Final = 0.5
_CHUNK: Final = 64 << 10
_PROXY: Final = "http://egress"  # never looked up: every connection is the door's
_BROKEN: Final = (OSError, httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a server answered."""

    status: int
    phrase: str
    headers: tuple[tuple[str, str], ...]  # names in lower case
    body: bytes

    def header(self, name: str) -> str:
        """Return a field's value, empty where it is missing."""
        return next((value for field, value in self.headers if field == name), "")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent."""

    method: str
    address: WebAddress
    headers: dict[str, str]  # names in lower case; without Host
    body: bytes = b""


def phrase_of(status: int) -> str:
    """Return the usual words for a status; a server's own would be words from outside."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


async def exchange(door: Door, trust: ssl.SSLContext, request: Request, limit_bytes: int) -> Answer:
    """Send one request and return its answer; raise ToolFailed for what came of it instead, Quoting with words of it.

    An answer with a body beyond the limit is a failure: what is not kept whole would be cut silently.
    """
    sent = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()]
    proxy = _through(door, trust)
    try:
        async with (
            proxy,
            proxy.stream(request.method, request.address.text, headers=sent, content=request.body or None) as response,
        ):
            extensions = cast("dict[str, Any]", response.extensions)
            answer = Answer(
                status=response.status,
                phrase=cast("bytes", extensions.get("reason_phrase", b"")).decode("latin-1"),
                headers=tuple(
                    (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers
                ),
                body=await _body(response, limit_bytes),
            )
    except httpcore2.ProxyError as error:
        raise _not_carried(str(error)) from error
    except (OSError, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        message = f"the exchange with {request.address.destination.host} broke ({type(error).__name__})"
        raise Quoting(message, str(error)) from error  # the library quotes what the server sent
    if answer.header(DOOR_FIELD) == door.mark:  # over plain http the proxy's word stands in the place of the server's
        raise _not_carried(answer.phrase)
    return answer


class DoorTransport(httpx2.AsyncBaseTransport):
    """Lets a client of httpx2 go through a door; answers beyond a bound are broken off."""

    def __init__(self, door: Door, trust: ssl.SSLContext, limit_bytes: int) -> None:
        """Take the door, whom to believe, and the most bytes that the body of one answer may have."""
        self._proxy = _through(door, trust)
        self._limit = limit_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; raise httpx2's TransportError."""
        url = request.url
        sent = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            answer = await self._proxy.handle_async_request(sent)
        except _BROKEN as error:
            raise httpx2.ConnectError(str(error) or type(error).__name__, request=request) from error
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Bounded(answer, self._limit),
            extensions=cast("dict[str, Any]", answer.extensions),
        )

    async def aclose(self) -> None:
        """Close what is open."""
        await self._proxy.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """A body up to a number of bytes."""

    def __init__(self, answer: httpcore2.Response, limit_bytes: int) -> None:
        self._answer = answer
        self._left = limit_bytes

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        try:
            async for part in self._answer.aiter_stream():
                self._left -= len(part)
                if self._left < 0:
                    raise httpx2.ReadError("the answer is larger than is taken")
                yield part
        except _BROKEN as error:
            raise httpx2.ReadError(str(error) or type(error).__name__) from error

    async def aclose(self) -> None:
        await self._answer.aclose()


def _through(door: Door, trust: ssl.SSLContext) -> httpcore2.AsyncHTTPProxy:
    return httpcore2.AsyncHTTPProxy(
        proxy_url=_PROXY, ssl_context=trust, network_backend=_Doorway(door), max_keepalive_connections=0
    )


async def _body(response: httpcore2.Response, limit_bytes: int) -> bytes:
    body = bytearray()
    async for part in response.aiter_stream():
        body += part
        if len(body) > limit_bytes:
            message = (
                f"the answer is larger than {limit_bytes >> 20} MiB and was broken off; ask for a part of it (a Range "
                "header), or get it with a program in shell"
            )
            raise ToolFailed(message)
    return bytes(body)


def _not_carried(said: str) -> ToolFailed:
    """Return what the proxy's first line says, behind its status."""
    return ToolFailed(f"the connection was not carried: {said.partition(': ')[2] or said}")


class _Doorway(httpcore2.AsyncNetworkBackend):
    """Gives out connections to the proxy."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - it is always the proxy
        port: int,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - the caller bounds the whole exchange
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        """Return a connection to the proxy."""
        reader, writer = await asyncio.open_connection(sock=self._door.connection())
        return _Stream(reader, writer)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection, in TLS or not."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002, ASYNC109 - as above
        """Return what came, nothing at the end."""
        return await self._reader.read(min(max_bytes, _CHUNK))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002, ASYNC109 - as above
        """Send."""
        self._writer.write(buffer)
        await self._writer.drain()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - as above
    ) -> httpcore2.AsyncNetworkStream:
        """Go on in TLS."""
        await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        return self

    async def aclose(self) -> None:
        """Close, for a moment in good order."""
        self._writer.close()
        try:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self._writer.wait_closed()
        finally:
            self._writer.transport.abort()

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - the library's interface
        """Tell nothing but that the connection is not readable before it is used: none is used twice."""
        return False if info == "is_readable" else None
