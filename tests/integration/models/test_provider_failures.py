"""How every provider fails, shown over real HTTP: what is kept, what may be repeated, what is told."""

import asyncio
import socket

import msgspec
import pytest

from host.models.conversation import Arrived, AttemptError, Provider
from host.stops import Reason
from tests.integration.models.talk import KEY, Talk, made
from tests.scripted_model import Call, Drop, Fail, Hang, Reply, Rubbish, ScriptedModel, Step

BOUND_SECONDS = 20


def ignore(_text: str) -> None:
    """Take text and do nothing with it."""


async def failure(provider: Provider, body: bytes, arrived: Arrived | None = None) -> AttemptError:
    """Return the failure of an inference that must fail."""
    with pytest.raises(AttemptError) as caught:
        await provider.infer(body, ignore, arrived)
    return caught.value


@pytest.mark.clause("TURN-6")
async def test_cancelling_an_inference_closes_the_connection(talk: Talk, server: ScriptedModel) -> None:
    """The server learns at once that nobody listens, and stops costing money."""
    server.script(Hang(after_chunks=1), Reply("still here"))
    begun = asyncio.Event()
    task = asyncio.create_task(talk.provider.infer(talk.body(), lambda _text: begun.set()))
    await asyncio.wait_for(begun.wait(), BOUND_SECONDS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.requests[0].gone.wait, BOUND_SECONDS)
    assert (await talk.provider.infer(talk.body(), ignore)).text == "still here"


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize("clean", [False, True], ids=["cut", "ended too early"])
async def test_a_broken_stream_keeps_the_part_received(talk: Talk, server: ScriptedModel, clean: bool) -> None:
    """It is the model that was unavailable, and asking again may help."""
    server.script(Drop(2, Reply("onetwosix", chunks=3), clean=clean))
    failed = await failure(talk.provider, talk.body())
    assert failed.received == "onetwo"
    assert failed.retryable
    assert failed.reason is Reason.MODEL_UNAVAILABLE


@pytest.mark.clause("TURN-6")
async def test_a_call_that_was_cut_off_is_not_made(talk: Talk, server: ScriptedModel) -> None:
    """Half a call's arguments never reach the gate."""
    server.script(Drop(2, Reply(calls=[Call("shell", {"command": "rm -r build"})])))
    assert (await failure(talk.provider, talk.body())).retryable


@pytest.mark.clause("BUD-3")
@pytest.mark.parametrize("reasoning", ["", "hm, " * 100], ids=["call", "thinking"])
async def test_what_came_of_a_broken_reply_is_known(talk: Talk, server: ScriptedModel, reasoning: str) -> None:
    """The size of arguments and of thinking, and what the server has counted by then."""
    call = Call("shell", {"command": "é" * 500})
    server.script(Drop(3, Reply(calls=() if reasoning else [call], reasoning=reasoning, text="x", usage=(41, 9, 3))))
    arrived = Arrived()
    assert (await failure(talk.provider, talk.body(), arrived)).received == ("" if reasoning else "x")
    assert arrived.accepted
    assert 250 < arrived.output_bytes < 1000
    told = (arrived.tokens_in, arrived.tokens_out, arrived.tokens_cached)
    assert told == ((41, 1, 3) if talk.kind == "anthropic" else (None, None, 0))


@pytest.mark.clause("BUD-3", "TURN-6")
async def test_a_cancelled_inference_leaves_what_had_come(talk: Talk, server: ScriptedModel) -> None:
    """Cancelling raises nothing that could carry it."""
    server.script(Hang(after_chunks=1))
    begun = asyncio.Event()
    arrived = Arrived()
    task = asyncio.create_task(talk.provider.infer(talk.body(), lambda _text: begun.set(), arrived))
    await asyncio.wait_for(begun.wait(), BOUND_SECONDS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert arrived.accepted
    assert arrived.output_bytes > 0


@pytest.mark.clause("BUD-3")
@pytest.mark.parametrize("after_chunks", [0, 1])
async def test_silence_over_a_whole_request_is_no_refusal(talk: Talk, server: ScriptedModel, after_chunks: int) -> None:
    """The server has it and may have been at work on it all the time."""
    server.script(Hang(after_chunks))
    provider = made(talk.kind, talk.settings, silence_seconds=0.1)
    arrived = Arrived()
    await failure(provider, talk.body(), arrived)
    await provider.aclose()
    assert arrived.accepted


@pytest.mark.clause("BUD-3")
@pytest.mark.parametrize("step", [Fail(429), Fail(500), Fail(400), Drop(0)], ids=["429", "500", "400", "no status"])
async def test_a_refusal_is_not_taken_for_an_answer(talk: Talk, server: ScriptedModel, step: Step) -> None:
    """What the server did not take costs nothing."""
    server.script(step)
    arrived = Arrived()
    await failure(talk.provider, talk.body(), arrived)
    assert not arrived.accepted
    assert arrived.output_bytes == 0


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize("after_chunks", [0, 1])
async def test_silence_is_a_failure(talk: Talk, server: ScriptedModel, after_chunks: int) -> None:
    """A server that sends nothing for the bound is given up; what it had sent is kept."""
    server.script(Hang(after_chunks, Reply("onetwo", chunks=2)))
    provider = made(talk.kind, talk.settings, silence_seconds=0.1)
    failed = await failure(provider, talk.body())
    await provider.aclose()
    assert failed.retryable
    assert failed.received == ("one" if after_chunks else "")
    assert "sent nothing for 0.1 s" in failed.detail


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_a_passing_refusal_may_be_repeated_and_keeps_the_servers_wish(
    talk: Talk, server: ScriptedModel, status: int
) -> None:
    """Retry-After reaches the loop, which waits."""
    server.script(Fail(status, {"retry-after": "7"}))
    failed = await failure(talk.provider, talk.body())
    assert (failed.retryable, failed.retry_after_seconds, failed.status) == (True, 7.0, status)
    assert failed.reason is Reason.MODEL_UNAVAILABLE


@pytest.mark.clause("TURN-6", "MASK-1")
@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_lasting_refusal_is_told_in_the_servers_words_without_the_key(
    talk: Talk, server: ScriptedModel, status: int
) -> None:
    """A server that echoes the key does not bring it into the journal."""
    server.script(Fail(status, body=f'{{"error": {{"message": "no good: {KEY}"}}}}'))
    failed = await failure(talk.provider, talk.body())
    assert not failed.retryable
    assert "no good" in failed.detail
    assert KEY not in failed.detail


async def test_a_redirect_is_not_followed_but_told(talk: Talk, server: ScriptedModel) -> None:
    """A key is sent nowhere but to the address in the settings."""
    server.script(Fail(308, {"location": "https://elsewhere.example/v1"}))
    failed = await failure(talk.provider, talk.body())
    assert not failed.retryable
    assert "https://elsewhere.example/v1" in failed.detail


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize(
    "rubbish",
    [
        Rubbish("<html>It works!</html>", content_type="text/html"),
        Rubbish('{"hello": "world"}', content_type="application/json"),
        Rubbish("data: {not json}\n\n"),
    ],
    ids=["page", "other json", "bad event"],
)
async def test_a_server_that_is_no_model_server_is_not_asked_again(
    talk: Talk, server: ScriptedModel, rubbish: Rubbish
) -> None:
    """The address is wrong; trying it four times helps nobody."""
    server.script(rubbish)
    failed = await failure(talk.provider, talk.body())
    assert failed.reason is Reason.PROTOCOL_VIOLATION
    assert not failed.retryable


async def test_a_server_that_is_not_there_is_told_and_may_be_tried_again(talk: Talk) -> None:
    """The sentence says what to look at."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings = msgspec.structs.replace(talk.settings, base_url=f"http://127.0.0.1:{port}/v1")
    failed = await failure(made(talk.kind, settings), talk.body())
    assert failed.retryable
    assert "is the server running?" in failed.detail


async def test_a_proxy_of_the_environment_does_not_come_between_this_machine_and_itself(
    talk: Talk, server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proxies are for the world outside."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server.script(Reply("direct"))
    assert (await talk.provider.infer(talk.body(), ignore)).text == "direct"


@pytest.mark.parametrize("key", [KEY, None], ids=["with a key", "without"])
async def test_the_key_goes_where_the_format_wants_it(talk: Talk, server: ScriptedModel, key: str | None) -> None:
    """And nothing is sent where there is none."""
    server.script(Reply("fine"))
    provider = made(talk.kind, talk.settings, key=key)
    await provider.infer(talk.body(), ignore)
    await provider.aclose()
    sent = server.requests[0].headers
    if talk.kind == "openai":
        assert sent.get("authorization") == (f"Bearer {KEY}" if key else None)
    else:
        assert sent.get("x-api-key") == key
        assert sent["anthropic-version"] == "2023-06-01"
