"""What every provider keeps, shown over real HTTP: one inference per call, streaming, calls, usage, the whole body."""

import asyncio
import threading

import msgspec
import pytest

from host.models.conversation import AskedCall, AttemptError, Replied, Result, Said, ToolSpec
from tests.integration.models.talk import Talk, made
from tests.scripted_model import Call, Drop, Fail, Reply, Rubbish, ScriptedModel, Step

LIST = Call("shell", {"command": "ls -la"})
READ = Call("read_file", {"path": "Привет.txt"})
SHELL_TOOL = ToolSpec(name="shell", description="Runs a command.", schema={"type": "object"})
READ_TOOL = ToolSpec(name="read_file", description="Reads a file.", schema={"type": "object"})


def ignore(_text: str) -> None:
    """Take text and do nothing with it."""


@pytest.mark.clause("TURN-1")
@pytest.mark.parametrize(
    "step",
    [
        Reply("fine"),
        Reply(calls=[LIST]),
        Fail(429, {"retry-after": "0"}),
        Fail(503),
        Fail(307, {"location": "/v1/elsewhere"}),
        Drop(0),
        Drop(1),
        Rubbish("<html>"),
    ],
    ids=["reply", "calls", "busy", "broken", "redirect", "no answer", "cut", "rubbish"],
)
async def test_an_inference_is_one_request_whatever_comes_of_it(talk: Talk, server: ScriptedModel, step: Step) -> None:
    """Nothing is repeated, followed or run: the server sees one request."""
    server.script(step, Reply("a second answer"), loop=False)
    try:
        await talk.provider.infer(talk.body(), ignore)
    except AttemptError:
        assert not isinstance(step, Reply)
    else:
        assert isinstance(step, Reply)
    assert len(server.requests) == 1


@pytest.mark.clause("TURN-3")
async def test_the_server_gets_exactly_the_bytes_of_the_request(talk: Talk, server: ScriptedModel) -> None:
    """Head, messages and tail make one JSON document, and it arrives unchanged."""
    server.script(Reply("fine"))
    body = talk.body(Said('a "quoted" — 語'), Replied("yes"), Said("go on"), tools=(SHELL_TOOL,))
    await talk.provider.infer(body, ignore)
    assert server.requests[0].body == body
    assert server.requests[0].json["model"] == "scripted"


@pytest.mark.clause("TURN-5", "TURN-6")
async def test_text_is_passed_on_before_the_reply_ends(talk: Talk, server: ScriptedModel) -> None:
    """The server sends the rest only after the first piece was passed on."""
    gate = threading.Event()
    pieces: list[str] = []

    def take(text: str) -> None:
        pieces.append(text)
        gate.set()

    server.script(Reply("one two three", chunks=3, pause=gate))
    inference = await talk.provider.infer(talk.body(), take)
    assert len(pieces) == 3
    assert "".join(pieces) == inference.text == "one two three"


@pytest.mark.clause("TURN-6")
async def test_calls_are_put_together_from_their_pieces(talk: Talk, server: ScriptedModel) -> None:
    """Text and several calls of one reply arrive whole, in order, with ids that differ."""
    server.script(Reply("Looking.", [LIST, READ]))
    inference = await talk.provider.infer(talk.body(tools=(SHELL_TOOL, READ_TOOL)), ignore)
    assert inference.text == "Looking."
    assert [(call.tool, msgspec.json.decode(call.arguments)) for call in inference.calls] == [
        ("shell", {"command": "ls -la"}),
        ("read_file", {"path": "Привет.txt"}),
    ]
    assert len({call.provider_id for call in inference.calls}) == 2


@pytest.mark.clause("TURN-4")
async def test_arguments_that_are_no_json_are_kept_as_they_came(talk: Talk, server: ScriptedModel) -> None:
    """It is for the gate to tell the model what is wrong with them."""
    server.script(Reply(calls=[Call("shell", '{"command": "ls')]))
    inference = await talk.provider.infer(talk.body(), ignore)
    assert inference.calls[0].arguments == '{"command": "ls'


@pytest.mark.clause("TURN-6")
async def test_a_call_without_arguments_has_an_empty_object(talk: Talk, server: ScriptedModel) -> None:
    """Servers send nothing at all for a tool that takes no arguments."""
    server.script(Reply(calls=[Call("clock", "")]))
    inference = await talk.provider.infer(talk.body(), ignore)
    assert inference.calls[0].arguments == "{}"


@pytest.mark.clause("TURN-6", "BUD-3")
async def test_usage_is_reported_alike_with_cached_tokens_in_the_input(talk: Talk, server: ScriptedModel) -> None:
    """The formats count differently; the host sees one meaning."""
    server.script(Reply("fine", usage=(1200, 34, 1000)))
    inference = await talk.provider.infer(talk.body(), ignore)
    assert (inference.tokens_in, inference.tokens_out, inference.tokens_cached) == (1200, 34, 1000)


@pytest.mark.clause("BUD-3")
async def test_usage_that_is_missing_is_told_as_unknown_and_not_as_zero(talk: Talk, server: ScriptedModel) -> None:
    """Only then can the host charge an estimate."""
    server.script(Reply("fine", usage=None))
    inference = await talk.provider.infer(talk.body(), ignore)
    assert (inference.tokens_in, inference.tokens_out, inference.tokens_cached) == (None, None, 0)


@pytest.mark.clause("TURN-6")
async def test_the_servers_own_stop_word_is_kept(talk: Talk, server: ScriptedModel) -> None:
    """A reply that was cut at its length is told from one that ended."""
    server.script(Reply("half a", finish="max_tokens"))
    assert (await talk.provider.infer(talk.body(), ignore)).finish == "max_tokens"


async def test_thinking_is_no_text(talk: Talk, server: ScriptedModel) -> None:
    """Neither the draft nor the reply holds what the model thought."""
    server.script(Reply("42", reasoning="let me see"))
    pieces: list[str] = []
    inference = await talk.provider.infer(talk.body(), pieces.append)
    assert inference.text == "".join(pieces) == "42"


async def test_a_connection_is_used_again(talk: Talk, server: ScriptedModel) -> None:
    """The end of a stream is read, so that the next step needs no new connection."""
    server.script(Reply("fine"), loop=True)
    for _ in range(3):
        await talk.provider.infer(talk.body(), ignore)
    assert server.connections_opened == 1


async def test_a_provider_serves_several_event_loops_at_once(talk: Talk, server: ScriptedModel) -> None:
    """Each lane has a loop of its own; connections are not shared between them."""
    gate = threading.Event()
    server.script(Reply("first", pause=gate, pause_after=0), Reply("second"))

    async def elsewhere() -> str:
        try:
            return (await talk.provider.infer(talk.body(), ignore)).text
        finally:
            await talk.provider.aclose()

    here = asyncio.create_task(talk.provider.infer(talk.body(), ignore))
    await asyncio.to_thread(server.wait_requests, 1)
    assert await asyncio.to_thread(asyncio.run, elsewhere()) == "second"
    gate.set()
    assert (await here).text == "first"


@pytest.mark.clause("CTX-1")
async def test_the_stable_prefix_does_not_depend_on_the_order_of_tools(talk: Talk) -> None:
    """Tools are sorted by name, so a session's prefix is the same bytes."""
    one = talk.provider.head("System.", (SHELL_TOOL, READ_TOOL))
    other = talk.provider.head("System.", (READ_TOOL, SHELL_TOOL))
    assert one == other
    assert one.index(b"read_file") < one.index(b"shell")


@pytest.mark.clause("BUD-4")
async def test_tools_are_forbidden_at_the_end_of_the_body_and_the_prefix_stays(talk: Talk) -> None:
    """The wrap-up is served from the cache like every other step."""
    free = talk.body(tools=(SHELL_TOOL,))
    bound = talk.body(tools=(SHELL_TOOL,), tools_allowed=False)
    assert bound.startswith(talk.provider.head("You are a test.", (SHELL_TOOL,)))
    none = "none" if talk.kind == "openai" else {"type": "none"}
    assert msgspec.json.decode(bound) == {**msgspec.json.decode(free), "tool_choice": none}


async def test_a_model_without_tools_is_offered_none_and_told_of_calls_in_words(talk: Talk) -> None:
    """Its history may come from a model that had them; servers refuse calls of undeclared tools."""
    settings = msgspec.structs.replace(talk.settings, capabilities=())
    plain = Talk(kind=talk.kind, settings=settings, provider=made(talk.kind, settings))
    asked = AskedCall(provider_id="c1", tool="shell", arguments='{"command":"ls"}')
    body = plain.body(Said("go"), Replied("", (asked,)), Result("c1", "a.txt", ok=True), tools=(SHELL_TOOL,))
    sent = msgspec.json.decode(body)
    assert "tools" not in sent
    assert [message["role"] for message in sent["messages"][-3:]] == ["user", "assistant", "user"]
    assert b"tool_use" not in body
    assert b"tool_calls" not in body
    assert "a.txt" in msgspec.json.encode(sent["messages"][-1]).decode()


@pytest.mark.clause("TURN-6")
async def test_without_system_text_the_body_is_still_json(talk: Talk, server: ScriptedModel) -> None:
    """An auxiliary question may have no system text at all."""
    server.script(Reply("fine"))
    body = talk.body(system="")
    assert msgspec.json.decode(body)["messages"][0]["role"] == "user"
    assert (await talk.provider.infer(body, ignore)).text == "fine"
