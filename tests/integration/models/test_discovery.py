"""Model servers on this machine are found side by side, in order, and whatever else answers is passed over."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from host.models.discovery import find_model
from host.models.provider import provider_for
from tests.integration.models.talk import Talk
from tests.scripted_model import Reply, ScriptedModel


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def free_port() -> int:
    """Return a port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def test_the_first_port_with_a_chat_model_is_used_and_it_answers(silent_port: int) -> None:
    """Nothing, silence, a server that only embeds; then one that chats, before another that does too."""
    with ExitStack() as stack:
        embeds = stack.enter_context(ScriptedModel(models=("nomic-embed-text",)))
        chats = stack.enter_context(ScriptedModel(models=("bge-m3", "qwen3:8b", "llama")))
        also = stack.enter_context(ScriptedModel(models=("other",)))
        began = time.monotonic()
        found = await find_model({}, ports=(free_port(), silent_port, embeds.port, chats.port, also.port))
        assert time.monotonic() - began < 10  # a bound, not a measure: the silent one is waited for but once
        assert (found.settings.provider, found.settings.model) == ("openai", "qwen3:8b")
        assert found.settings.base_url == chats.base_url
        assert str(chats.port) in found.how
        chats.script(Reply("hello"))
        provider = provider_for(found.settings, None)
        talk = Talk(kind="openai", settings=found.settings, provider=provider)
        pieces: list[str] = []
        assert (await provider.infer(talk.body(), pieces.append)).text == "hello"
        await provider.aclose()


async def test_a_server_that_wants_a_key_or_is_no_model_server_is_passed_over() -> None:
    """A page on port 8080 is common; a model behind a key is not ours to use."""

    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>")
        await writer.drain()
        writer.close()

    pages = await asyncio.start_server(page, "127.0.0.1", 0)
    async with pages:
        with ScriptedModel(api_key="secret") as locked:
            found = await find_model({}, ports=(pages.sockets[0].getsockname()[1], locked.port))
    assert found.settings.provider == "embedded"


async def test_the_window_that_a_server_names_is_taken() -> None:
    """A context that does not fit would be refused or cut by the server."""
    listing = b'{"data":[{"id":"m","meta":{"n_ctx":4096}}]}'

    async def models(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(listing), listing))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(models, "127.0.0.1", 0)
    async with server:
        found = await find_model({}, ports=(server.sockets[0].getsockname()[1],))
    assert (found.settings.context_tokens, found.settings.output_tokens) == (4096, 1024)
