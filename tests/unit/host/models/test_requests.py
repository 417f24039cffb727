"""The bytes of requests in both formats, and which provider is made from which settings."""

from typing import Any, Literal

import msgspec
import pytest

from host.config.settings import EMBEDDED, ModelSettings
from host.errors import SettingsError
from host.models.anthropic import AnthropicProvider
from host.models.conversation import AskedCall, Message, Provider, Replied, Request, Result, Said, ToolSpec
from host.models.openai import OpenAIProvider
from host.models.provider import provider_for

TOOL = ToolSpec(name="shell", description="Runs.", schema={"type": "object", "properties": {"b": {}, "a": {}}})
ASKED = AskedCall(provider_id="x.1", tool="shell", arguments='{"command": "ls"}')
BROKEN = AskedCall(provider_id="x2", tool="shell", arguments='{"command')
HISTORY: tuple[Message, ...] = (
    Said("go"),
    Replied("Looking.", (ASKED, BROKEN)),
    Result("x.1", "a.txt", ok=True),
    Result("x2", "arguments are no JSON", ok=False),
)


def sent(provider: Provider, *messages: Message, tools: tuple[ToolSpec, ...] = (TOOL,)) -> dict[str, Any]:
    """Return a request as the server decodes it."""
    head = provider.head("System.", tools)
    parts = tuple(provider.message(message) for message in messages)
    body = Request(head=head, messages=parts, tail=provider.tail(max_tokens=50)).body()
    decoded: dict[str, Any] = msgspec.json.decode(body)
    return decoded


def chat(base_url: str = "http://127.0.0.1:1/v1") -> OpenAIProvider:
    """Return a provider that is asked nothing."""
    return OpenAIProvider(ModelSettings(provider="openai", base_url=base_url, model="m"), None)


def messages() -> AnthropicProvider:
    """Return a provider that is asked nothing."""
    return AnthropicProvider(ModelSettings(provider="anthropic", model="m"), None)


@pytest.mark.clause("TURN-3", "CTX-1")
def test_a_chat_request_has_system_text_tools_and_history_in_the_formats_words() -> None:
    """Arguments that were no JSON go back as an object, for servers refuse a history that cannot be read."""
    assert sent(chat(), *HISTORY) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {"type": "function", "function": {"name": "shell", "description": "Runs.", "parameters": TOOL.schema}}
        ],
        "messages": [
            {"role": "system", "content": "System."},
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [
                    {
                        "id": "x.1",
                        "type": "function",
                        "function": {"name": "shell", "arguments": '{"command":"ls"}'},
                    },
                    {
                        "id": "x2",
                        "type": "function",
                        "function": {"name": "shell", "arguments": '{"unreadable_arguments":"{\\"command"}'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "x.1", "content": "a.txt"},
            {"role": "tool", "tool_call_id": "x2", "content": "arguments are no JSON"},
        ],
        "max_tokens": 50,
    }


@pytest.mark.clause("TURN-3", "CTX-1")
def test_a_messages_request_marks_failures_and_caches_its_prefix() -> None:
    """Ids are written so that this server takes them, the same for call and result."""
    request = sent(messages(), *HISTORY)
    assert request["system"] == [{"type": "text", "text": "System.", "cache_control": {"type": "ephemeral"}}]
    assert request["tools"] == [{"name": "shell", "description": "Runs.", "input_schema": TOOL.schema}]
    assert (request["stream"], request["max_tokens"]) == (True, 50)
    assert [message["content"] for message in request["messages"]] == [
        [{"type": "text", "text": "go"}],
        [
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "x_1", "name": "shell", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "x2", "name": "shell", "input": {"unreadable_arguments": '{"command'}},
        ],
        [{"type": "tool_result", "tool_use_id": "x_1", "content": "a.txt"}],
        [{"type": "tool_result", "tool_use_id": "x2", "content": "arguments are no JSON", "is_error": True}],
    ]


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize("message", HISTORY, ids=["said", "replied", "result", "failure"])
def test_a_breakpoint_sits_on_the_last_block_of_its_message(message: Message) -> None:
    """The server caches up to it; the message is the same otherwise."""
    plain = msgspec.json.decode(messages().message(message))
    marked = msgspec.json.decode(messages().message(message, breakpoint_here=True))
    assert marked["content"][-1].pop("cache_control") == {"type": "ephemeral"}
    assert marked == plain


def test_chat_completions_have_no_breakpoints() -> None:
    """These servers cache by themselves; a marker would only change bytes."""
    assert chat().message(Said("go")) == chat().message(Said("go"), breakpoint_here=True)


@pytest.mark.parametrize(
    "message", [Said(""), Replied(" "), Result("x", "", ok=True)], ids=["said", "replied", "result"]
)
def test_a_message_without_words_is_never_sent_empty(message: Message) -> None:
    """The server refuses a whole history for one empty text."""
    block = msgspec.json.decode(messages().message(message))["content"][0]
    assert (block.get("text") or block.get("content")).strip()


@pytest.mark.clause("CTX-1")
@pytest.mark.parametrize("provider", [chat(), messages()], ids=["openai", "anthropic"])
def test_no_message_changes_a_byte_before_it(provider: Provider) -> None:
    """Over fifty turns every request begins with the one before it, but for its tail."""
    head = provider.head("System.", (TOOL,))
    parts: list[bytes] = []
    before = head
    for turn in range(50):
        parts.append(provider.message(Said(f"turn {turn}")))
        body = Request(head=head, messages=tuple(parts), tail=provider.tail(max_tokens=turn + 1)).body()
        assert body.startswith(before)
        before = head + b",".join(parts)


@pytest.mark.clause("TURN-6")
def test_the_limit_has_the_name_that_the_server_knows() -> None:
    """OpenAI refuses the older name, the others know only that."""
    assert "max_tokens" in sent(chat(), Said("go"))
    assert "max_completion_tokens" in sent(chat(""), Said("go"))
    assert "max_tokens" not in sent(chat(""), Said("go"))


@pytest.mark.clause("TURN-6")
def test_each_kind_of_settings_has_its_provider() -> None:
    """The embedded model is spoken to like any chat-completions server."""
    embedded = msgspec.structs.replace(EMBEDDED, base_url="http://127.0.0.1:5/v1")
    cloud = ModelSettings(provider="anthropic", model="m")
    assert provider_for(embedded, "k").url == "http://127.0.0.1:5/v1/chat/completions"
    assert provider_for(cloud, "k").url == "https://api.anthropic.com/v1/messages"
    assert provider_for(ModelSettings(provider="openai", model="m"), "k").url.startswith("https://api.openai.com/")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (ModelSettings(provider="openai", base_url="localhost:11434"), "no http or https address"),
        (ModelSettings(provider="openai", base_url="http://me:pw@host/v1"), "put it into api_key"),
        (EMBEDDED, "not running"),
    ],
    ids=["no scheme", "password", "embedded without process"],
)
def test_an_address_that_cannot_be_used_is_refused_with_its_remedy(settings: ModelSettings, says: str) -> None:
    """Before anything is sent."""
    with pytest.raises(SettingsError, match=says):
        provider_for(settings, None)


@pytest.mark.parametrize("key", ["sk-planted\n", "ключ"])
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(
    kind: Literal["openai", "anthropic"], key: str
) -> None:
    """A file with a line break too many is the usual cause."""
    with pytest.raises(SettingsError, match="line break") as caught:
        provider_for(ModelSettings(provider=kind, model="m"), key)
    assert key.strip() not in caught.value.message
