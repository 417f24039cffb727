"""The messages format of Anthropic, with its cache breakpoints.

Parts of a request fit together as `head + b",".join(messages) + tail`: the head ends with the opening bracket of the
list of messages, the tail begins with the closing one. There is always at least one message, and the first is Said.
Results of several calls go as messages of their own; the server joins neighbours of one role.
"""

import re
from collections.abc import Callable
from typing import Any, Final, assert_never

import msgspec

from host.config.settings import ModelSettings
from host.models.calls import CallDraft, argument_object, as_words
from host.models.connection import Connection, checked_url, decoded, error_text
from host.models.conversation import (
    Arrived,
    AskedCall,
    Inference,
    Message,
    Picture,
    Replied,
    Result,
    Said,
    Shown,
    ToolSpec,
    picture_words,
)
from host.models.reply import ReplyDraft
from host.models.retry import SILENCE_SECONDS

ANTHROPIC_URL: Final = "https://api.anthropic.com/v1"

_VERSION: Final = "2023-06-01"  # of the wire format
_CACHED: Final[dict[str, Any]] = {"cache_control": {"type": "ephemeral"}}
_FOREIGN_IN_IDS: Final = re.compile(r"[^a-zA-Z0-9_-]")  # ids of other servers may hold what this one refuses
_WITHOUT_WORDS: Final = "(nothing)"  # the server refuses empty texts
_PASSING_KINDS: Final = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})

_encode: Final = msgspec.json.Encoder().encode


class _Usage(msgspec.Struct):
    input_tokens: Any = None  # what servers count is judged later: a reply is no worse for a wrong count
    output_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _Block(msgspec.Struct):
    type: str
    id: str = ""
    name: str = ""
    text: str = ""
    input: dict[str, Any] = {}


class _Delta(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: dict[str, Any] | str | None = None


_decode: Final = msgspec.json.Decoder(_Event).decode


class MessagesReader:
    """Assembles one reply."""

    def __init__(self, reply: ReplyDraft) -> None:
        self.reply = reply
        self._usage = _Usage()

    def whole(self, body: bytes) -> None:
        """Refuse: no server of this format answers a streaming request so."""
        raise self.reply.violation(f"the server did not stream its reply: {error_text(body)}")

    def event(self, data: bytes) -> bool:
        """Take one event; True when nothing more is to come; raise AttemptError."""
        try:
            event = decoded(data, _decode, _Event)
        except (ValueError, RecursionError) as error:
            raise self.reply.violation(f"the server sent what is no event of a message: {error}") from error
        match event:
            case _Event(type="content_block_delta", delta=_Delta() as delta):
                self._delta(event.index, delta)
            case _Event(type="content_block_start", content_block=_Block() as block):
                self._start(event.index, block)
            case _Event(type="message_start", message=_Message() as message):
                self.reply.begun = True
                self._count(message.usage)
            case _Event(type="message_delta", delta=_Delta() as delta):
                self.reply.finish = delta.stop_reason or self.reply.finish
                self._count(event.usage)
            case _Event(type="error"):
                raise self.reply.failure(error_text(data), retryable=_is_passing(event.error))
            case _:
                pass  # ping, content_block_stop, and what later versions may add
        return event.type == "message_stop"

    def _start(self, index: int, block: _Block) -> None:
        if block.type == "tool_use":
            draft = self.reply.calls[index] = CallDraft(block.id, block.name)
            self.reply.weigh(block.name)
            if block.input:
                self._arguments(draft, _encode(block.input).decode())
        elif block.type == "text":
            self.reply.say(block.text)

    def _delta(self, index: int, delta: _Delta) -> None:
        if delta.type == "text_delta":
            self.reply.say(delta.text)
        elif delta.type == "input_json_delta":
            draft = self.reply.calls.get(index)
            if draft is None:
                raise self.reply.violation("the server sent arguments of a call that it had not begun")
            self._arguments(draft, delta.partial_json)
        elif delta.type == "thinking_delta":
            self.reply.weigh(delta.thinking)

    def _arguments(self, draft: CallDraft, given: str) -> None:
        draft.arguments.append(given)
        self.reply.weigh(given)

    def _count(self, usage: _Usage | None) -> None:
        """Take the counts that are given; later ones are totals and replace earlier ones."""
        if usage is None:
            return
        known, given = msgspec.structs.asdict(self._usage), msgspec.structs.asdict(usage)
        self._usage = total = _Usage(**known | {name: count for name, count in given.items() if count is not None})
        cached = total.cache_read_input_tokens
        self.reply.arrived.count(
            tokens_in=_sum(total.input_tokens, cached, total.cache_creation_input_tokens),
            tokens_out=total.output_tokens,
            cached=cached,
        )


def _sum(fresh: object, cached: object, created: object) -> int | None:
    """Return all input together, None where a part is no count: the server counts what it has in its cache apart."""
    parts = (fresh, cached or 0, created or 0)
    counts = [part for part in parts if isinstance(part, int) and part >= 0]
    return sum(counts) if len(counts) == len(parts) else None


def _is_passing(error: dict[str, Any] | str | None) -> bool:
    """Say whether an error within a stream may be gone at the next attempt."""
    return isinstance(error, dict) and error.get("type") in _PASSING_KINDS


class AnthropicProvider:
    """A model behind the messages format. May be used from several event loops; `aclose` in each."""

    def __init__(
        self, settings: ModelSettings, api_key: str | None, *, silence_seconds: float = SILENCE_SECONDS
    ) -> None:
        headers = {"anthropic-version": _VERSION} | ({"x-api-key": api_key} if api_key else {})
        self._connection = Connection(
            checked_url(settings.base_url or ANTHROPIC_URL, "/messages"),
            headers,
            key=api_key,
            silence_seconds=silence_seconds,
        )
        self._model = settings.model
        self._tools = "tools" in settings.capabilities
        self._sees = "vision" in settings.capabilities

    @property
    def url(self) -> str:
        """Where requests go."""
        return self._connection.url

    def head(self, system: str, tools: tuple[ToolSpec, ...]) -> bytes:
        """Return the stable prefix, which ends in a cache breakpoint; no tools for a model that cannot call them."""
        parts = [b'{"model":', _encode(self._model), b',"stream":true']
        if tools and self._tools:
            ordered = sorted(tools, key=lambda tool: tool.name)
            parts += [b',"tools":', _encode([_declared(tool) for tool in ordered])]
        if system:
            parts += [b',"system":', _encode([{"type": "text", "text": system, **_CACHED}])]
        parts.append(b',"messages":[')
        return b"".join(parts)

    def message(self, message: Message, *, breakpoint_here: bool = False) -> bytes:
        """Return one message; a breakpoint sits on its last block."""
        if not self._tools:
            message = as_words(message)
        match message:
            case Said():
                role, blocks = "user", [_words(message.text)]
            case Replied():
                role, blocks = "assistant", [_words(message.text)] if message.text or not message.calls else []
                blocks += [_called(call) for call in message.calls]
            case Result():
                role, blocks = "user", [_answered(message, message.pictures if self._sees else ())]
            case Shown(pictures=pictures):
                # With calls the pictures stand in the results; a model without calls was told those as words.
                role, blocks = "user", [_words(picture_words(pictures, seen=self._sees))]
                if self._sees and not self._tools:
                    blocks += [_pictured(picture) for picture in pictures]
            case _:
                assert_never(message)
        if breakpoint_here:
            blocks[-1] |= _CACHED
        return _encode({"role": role, "content": blocks})

    def tail(self, *, max_tokens: int, tools_allowed: bool = True) -> bytes:
        """Return the end of the body. Forbid tools only where the head declares some."""
        switch = b',"tool_choice":{"type":"none"}' if self._tools and not tools_allowed else b""
        return b'],"max_tokens":%d%b}' % (max_tokens, switch)

    async def infer(self, body: bytes, on_text: Callable[[str], None], arrived: Arrived | None = None) -> Inference:
        """Send `body` once and return the whole reply; raise AttemptError."""
        reply = ReplyDraft(on_text, arrived)
        await self._connection.exchange(body, MessagesReader(reply))
        return reply.result()

    async def aclose(self) -> None:
        """Close this loop's connections."""
        await self._connection.aclose()


def _declared(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text if text.strip() else _WITHOUT_WORDS}


def _called(call: AskedCall) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": _accepted_id(call.provider_id),
        "name": call.tool,
        "input": argument_object(call.arguments),
    }


def _pictured(picture: Picture) -> dict[str, Any]:
    source = {"type": "base64", "media_type": picture.media_type, "data": picture.data()}
    return {"type": "image", "source": source}


def _answered(result: Result, pictures: tuple[Picture, ...]) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _accepted_id(result.provider_id)}
    text = result.text if result.text.strip() else _WITHOUT_WORDS
    block["content"] = [_words(text), *(_pictured(picture) for picture in pictures)] if pictures else text
    if not result.ok:
        block["is_error"] = True
    return block


def _accepted_id(provider_id: str) -> str:
    return _FOREIGN_IN_IDS.sub("_", provider_id)
