"""Connections for httpcore2 on asyncio alone: what a model server is reached over, and nothing of HTTP.

httpcore2's own back end goes through anyio, whose cancel scopes and checkpoints cost 0.3 ms a reply; a protocol of
asyncio's with its own buffer does the same work. Every wait is bounded by the caller's time-out; asyncio's and the
system's errors leave here as httpcore2's.
"""

import asyncio
import socket
import ssl
from collections.abc import Iterable
from typing import Any, Final, cast

import aiohappyeyeballs
import httpcore2

_NEXT_ADDRESS_SECONDS: Final = 0.25  # until a host's next address is tried as well (RFC 8305, section 5)
_HELD_BYTES: Final = 256 * 1024  # that wait unread before the server has to wait


class Network(httpcore2.AsyncNetworkBackend):
    """Opens connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's interface
        local_address: str | None = None,  # noqa: ARG002 - none is given
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore2.AsyncNetworkStream:
        """Return a connection; raise ConnectError or ConnectTimeout.

        asyncio's own race of addresses loses a connected socket when it is cancelled as it ends, so it is not used.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                connected = await aiohappyeyeballs.start_connection(  # pyright: ignore[reportUnknownMemberType] - an address is any tuple
                    addresses, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS
                )
                _, stream = await loop.create_connection(_Stream, sock=connected)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        return stream


class _Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """One connection, in TLS or not, with what has come and was not read yet."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._buffer = bytearray()
        self._ended = False  # nothing more comes
        self._lost = asyncio.get_running_loop().create_future()  # done when the socket is closed
        self._broken: Exception | None = None
        self._paused = False  # the server has to wait
        self._full = False  # we have to wait
        self._waiter: asyncio.Future[None] | None = None  # of the one task that reads or writes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _HELD_BYTES and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._ended = True
        self._wake()
        return False  # HTTP has no use for a half-closed connection

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._lost.set_result(None)
        self._broken = self._broken or exc
        self._full = False
        self._wake()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._wake()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as above
        """Return what came, nothing at the end; raise ReadError or ReadTimeout."""
        if not self._buffer and not self._ended:
            try:
                async with asyncio.timeout(timeout):
                    await self._woken()
            except TimeoutError as error:
                raise httpcore2.ReadTimeout(str(error)) from error
        if not self._buffer and self._broken is not None:
            raise httpcore2.ReadError(str(self._broken)) from self._broken
        data = bytes(self._buffer[:max_bytes])
        del self._buffer[:max_bytes]
        if self._paused and len(self._buffer) <= _HELD_BYTES:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as above
        """Send; raise WriteError or WriteTimeout."""
        if self._transport.is_closing():
            raise httpcore2.WriteError(str(self._broken or "the connection is closed"))
        self._transport.write(buffer)
        while self._full:
            try:
                async with asyncio.timeout(timeout):
                    await self._woken()
            except TimeoutError as error:
                raise httpcore2.WriteTimeout(str(error)) from error

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
    ) -> httpcore2.AsyncNetworkStream:
        """Go on in TLS; raise ConnectError or ConnectTimeout."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                transport = await loop.start_tls(self._transport, self, ssl_context, server_hostname=server_hostname)
        except TimeoutError as error:
            self._transport.abort()
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:  # an SSLError is one
            self._transport.abort()
            raise httpcore2.ConnectError(str(error)) from error
        if transport is None:
            raise httpcore2.ConnectError("the server closed the connection during the TLS handshake")
        self._transport = transport
        return self

    async def aclose(self) -> None:
        """Close at once: nothing is on its way that anybody waits for, and a cancelled reply is to stop."""
        self._transport.abort()
        await asyncio.wait([self._lost])  # the loop closes the socket with its next turn, if it has one

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as above
        """Tell of TLS, and whether an idle connection has something to read: its end, or what nobody asked for."""
        if info == "is_readable":
            return bool(self._buffer) or self._ended
        return self._transport.get_extra_info(info)

    async def _woken(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
