"""The connection to a model server, over real sockets and real TLS: reuse, bounds and what breaks it."""

import asyncio
import gc
import gzip
import json
import socket
import ssl
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpcore2
import pytest

from host.config.settings import ModelSettings
from host.models.network import Network
from tests.acceptance.certificates import made as certificate
from tests.integration.models.talk import Talk, made

BOUND_SECONDS = 20
MEGABYTE = 1 << 20
TURNS_OF_THE_LOOP = 2000  # in which one that does not wait would have received all: 256 KiB come with each
TURNS_TO_CONNECT = 40  # of the loop: more than the slowest way takes
REPLY = {
    "id": "1",
    "object": "chat.completion",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
}

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def response(body: bytes, *fields: str) -> bytes:
    """Return an answer that keeps the connection."""
    head = ["HTTP/1.1 200 OK", f"content-length: {len(body)}", *fields, "", ""]
    return "\r\n".join(head).encode() + body


@asynccontextmanager
async def serving(serve: Serve, context: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """Serve each connection; yield the port."""
    writers: list[asyncio.StreamWriter] = []

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await serve(reader, writer)

    server = await asyncio.start_server(one, "127.0.0.1", 0, ssl=context)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests without a body until the client leaves."""
    while await head_of(reader):
        writer.write(response(b"fine"))
        await writer.drain()


async def head_of(reader: asyncio.StreamReader) -> bytes:
    """Return a request's head, nothing at the end."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def pool(context: ssl.SSLContext | None = None) -> httpcore2.AsyncConnectionPool:
    """Return a pool over the network under test."""
    return httpcore2.AsyncConnectionPool(ssl_context=context, network_backend=Network())


@pytest.mark.clause("TURN-1")
async def test_requests_over_tls_share_a_connection(tmp_path: Path) -> None:
    """A handshake a step would cost more than the step."""
    pair = certificate(tmp_path, "server", alternative="IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    trusting = ssl.create_default_context(cafile=str(pair.certificate))
    async with serving(answering, context) as port, pool(trusting) as connections:
        for _ in range(3):
            answer = await connections.request("GET", f"https://127.0.0.1:{port}/")
            assert answer.content == b"fine"
        assert len(connections.connections) == 1


@pytest.mark.clause("TURN-1")
async def test_a_certificate_of_somebody_else_ends_the_connection(tmp_path: Path) -> None:
    """The key goes to the server of the settings, or nowhere."""
    pair = certificate(tmp_path, "server", alternative="DNS:elsewhere.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    trusting = ssl.create_default_context(cafile=str(pair.certificate))
    async with serving(answering, context) as port, pool(trusting) as connections:
        with pytest.raises(httpcore2.ConnectError, match="certificate"):
            await connections.request("GET", f"https://127.0.0.1:{port}/")


@pytest.mark.parametrize("unasked", [b"", b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"])
async def test_a_connection_that_ended_while_idle_is_not_used_again(unasked: bytes) -> None:
    """What a server says unasked is never taken for the answer to the next request."""
    said = asyncio.Event()

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(response(b"fine"))
        await writer.drain()
        await asyncio.wait_for(said.wait(), BOUND_SECONDS)
        writer.write(unasked)
        writer.close()

    async with serving(once) as port, pool() as connections:
        assert (await connections.request("GET", f"http://127.0.0.1:{port}/")).content == b"fine"
        used = connections.connections[0]
        said.set()
        async with asyncio.timeout(BOUND_SECONDS):
            while not used.has_expired():
                await asyncio.sleep(0)
        answer = await connections.request("GET", f"http://127.0.0.1:{port}/")
        assert (answer.status, answer.content) == (200, b"fine")


@pytest.mark.clause("STOP-2")
@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.1"]])
async def test_stop_while_a_connection_is_made_leaves_no_socket(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    """At whichever turn of the loop it comes; the first of two addresses may refuse, or both accept."""
    loop = asyncio.get_running_loop()

    async def resolved(_host: str, port: int, **_: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (one, port)) for one in addresses]

    monkeypatch.setattr(loop, "getaddrinfo", resolved)
    async with serving(answering) as port:
        made_all = False
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for turns in range(TURNS_TO_CONNECT):
                made_all = await cancelled_after(turns, asyncio.create_task(Network().connect_tcp("it", port, 5)))
            gc.collect()
    assert made_all, "the last of them was not let come to its end"
    assert [str(one.message) for one in seen if one.category is ResourceWarning] == []


async def cancelled_after(turns: int, opening: "asyncio.Task[httpcore2.AsyncNetworkStream]") -> bool:
    """Cancel it after some turns of the loop; return whether it was connected by then."""
    for _ in range(turns):
        await asyncio.sleep(0)
    opening.cancel()
    try:
        stream = await opening
    except asyncio.CancelledError:
        return False
    await stream.aclose()
    return True


async def test_a_server_that_takes_nothing_is_given_up() -> None:
    """A request that cannot be sent ends within its bound."""

    async def deaf(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()  # the reader stops the transport when it holds twice its limit

    async with serving(deaf) as port, pool() as connections:
        with pytest.raises((httpcore2.WriteTimeout, httpcore2.ReadTimeout)):
            await connections.request(
                "POST",
                f"http://127.0.0.1:{port}/",
                content=bytes(32 * MEGABYTE),
                extensions={"timeout": {"write": 0.2, "read": 0.2}},
            )


async def test_a_server_that_sends_faster_than_is_read_has_to_wait() -> None:
    """What waits unread is bounded, and comes whole."""
    sent = 0

    async def flooding(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await head_of(reader)
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {64 * MEGABYTE}\r\n\r\n".encode())
        for _ in range(64):
            writer.write(bytes(MEGABYTE))
            await writer.drain()
            sent += 1

    async with serving(flooding) as port, pool() as connections:
        async with connections.stream("GET", f"http://127.0.0.1:{port}/") as answer:
            for _ in range(TURNS_OF_THE_LOOP):
                await asyncio.sleep(0)
            assert sent < 32
            received = 0
            async for part in answer.aiter_stream():
                received += len(part)
        assert received == 64 * MEGABYTE


async def test_a_connection_that_breaks_is_told_as_broken() -> None:
    """A reset is no end."""

    async def breaking(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
        await writer.drain()
        writer.transport.abort()

    async with serving(breaking) as port, pool() as connections:
        with pytest.raises((httpcore2.ReadError, httpcore2.RemoteProtocolError)):
            await connections.request("GET", f"http://127.0.0.1:{port}/")


async def test_a_reply_that_was_compressed_unasked_is_read() -> None:
    """Some gateways compress whatever was asked."""

    async def compressing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        body = gzip.compress(json.dumps(REPLY).encode())
        writer.write(response(body, "content-type: application/json", "content-encoding: gzip"))
        await writer.drain()

    async with serving(compressing) as port:
        settings = ModelSettings(provider="openai", base_url=f"http://127.0.0.1:{port}/v1", model="m")
        provider = made("openai", settings)
        reply = await provider.infer(Talk(kind="openai", settings=settings, provider=provider).body(), lambda _: None)
        await provider.aclose()
    assert reply.text == "hello"


async def test_a_proxy_of_the_environment_carries_requests_to_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the name and password that its address holds."""
    heads: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await head_of(reader))
        writer.write(response(json.dumps(REPLY).encode(), "content-type: application/json"))
        await writer.drain()

    async with serving(proxy) as port:
        monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{port}")
        settings = ModelSettings(provider="openai", base_url="http://model.example/v1", model="m")
        provider = made("openai", settings)
        reply = await provider.infer(Talk(kind="openai", settings=settings, provider=provider).body(), lambda _: None)
        await provider.aclose()
    assert reply.text == "hello"
    assert heads[0].startswith(b"POST http://model.example/v1/chat/completions HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in heads[0]
