"""The embedded model, really loaded: it answers, keeps its door shut, and comes back when it is killed."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from host.config.settings import EMBEDDED
from host.models.conversation import AskedCall, AttemptError, Provider, Replied, Request, Result, Said, ToolSpec
from host.models.provider import provider_for
from host.services.child import EmbeddedModel

BOUND_SECONDS = 60.0
TOOL = ToolSpec(name="shell", description="Runs.", schema={"type": "object"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[EmbeddedModel]:
    """The embedded model, running."""
    running = EmbeddedModel()
    await running.start()
    yield running
    await running.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def provider(model: EmbeddedModel) -> AsyncIterator[Provider]:
    """The provider towards it."""
    provider = provider_for(msgspec.structs.replace(EMBEDDED, base_url=model.base_url), model.key)
    yield provider
    await provider.aclose()


def body(provider: Provider, *messages: Said | Replied | Result, max_tokens: int = 16) -> bytes:
    """Return a request's body; it declares a tool, which this model must not be troubled with."""
    return Request(
        head=provider.head("You are a helpful assistant.", (TOOL,)),
        messages=tuple(provider.message(message) for message in messages),
        tail=provider.tail(max_tokens=max_tokens, tools_allowed=False),
    ).body()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a process to get somewhere."""
    async with asyncio.timeout(BOUND_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.clause("TURN-1", "TURN-6")
async def test_it_answers_in_pieces_and_counts_its_tokens(provider: Provider) -> None:
    """The same provider as for any server, over a real model."""
    pieces: list[str] = []
    inference = await provider.infer(body(provider, Said("Say hello.")), pieces.append)
    assert inference.text == "".join(pieces) != ""
    assert len(pieces) > 1
    assert inference.tokens_in
    assert inference.tokens_out
    assert inference.calls == ()


async def test_a_history_with_calls_does_not_trouble_it(provider: Provider) -> None:
    """Its template knows no tools: they are left out and calls are told in words."""
    asked = AskedCall(provider_id="c", tool="shell", arguments='{"command":"ls"}')
    history = (Said("List."), Replied("", (asked,)), Result("c", "a.txt", ok=True), Said("Thanks."))
    request = body(provider, *history)
    assert b'"tools"' not in request
    assert b"tool_choice" not in request
    pieces: list[str] = []
    assert (await provider.infer(request, pieces.append)).tokens_out


async def test_a_request_beyond_its_window_is_refused_and_not_repeated(provider: Provider) -> None:
    """The sentence names both sizes."""
    with pytest.raises(AttemptError, match="8192") as caught:
        await provider.infer(body(provider, Said("word " * 9000)), lambda _text: None)
    assert not caught.value.retryable


async def test_another_user_of_the_machine_cannot_use_it(model: EmbeddedModel) -> None:
    """Without the key there is no answer."""
    stranger = provider_for(msgspec.structs.replace(EMBEDDED, base_url=model.base_url), "guessed")
    with pytest.raises(AttemptError) as caught:
        await stranger.infer(body(stranger, Said("hi")), lambda _text: None)
    await stranger.aclose()
    assert caught.value.status == 401


@pytest.mark.clause("SEC-3")
async def test_it_sees_nothing_of_the_hosts_environment(model: EmbeddedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment is built; keys of other services are not in it."""
    monkeypatch.setenv("PLANTED_TOKEN", "sk-planted")
    other = EmbeddedModel()
    await other.start()
    seen = await asyncio.to_thread(Path(f"/proc/{other.pid}/environ").read_bytes)
    await other.stop()
    assert b"PLANTED_TOKEN" not in seen
    assert b"ELIS_EMBEDDED_KEY=" + other.key.encode() in seen
    assert model.key != other.key


@pytest.mark.clause("TURN-6", "OPS-1")
async def test_it_comes_back_under_its_old_address_when_it_is_killed() -> None:
    """Whoever holds address and key goes on without being told."""
    running = EmbeddedModel()
    await running.start()
    address, first = running.base_url, running.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until(lambda: running.starts == 2)
    assert running.base_url == address
    provider = provider_for(msgspec.structs.replace(EMBEDDED, base_url=address), running.key)
    assert (await provider.infer(body(provider, Said("hi")), lambda _text: None)).tokens_out
    await provider.aclose()
    second = running.pid
    await running.stop()
    assert running.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(second or 0, 0)
