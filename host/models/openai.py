"""Chat completions, the wire format that most servers speak: OpenAI, Ollama, llama.cpp, vLLM and many more.

Parts of a request fit together as `head + b",".join(messages) + tail` because the head ends inside the list of
messages: after the system message and its comma, or after the opening bracket when there is no system text. There is
always at least one message. The tail begins with the bracket that closes the list.
"""

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
from host.models.retry import SILENCE_SECONDS, is_retryable

OPENAI_URL: Final = "https://api.openai.com/v1"

_encode: Final = msgspec.json.Encoder().encode
_DONE: Final = b"[DONE]"
_LASTING_KINDS: Final = frozenset(  # kinds of errors within a stream that would come again
    {
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "exceed_context_size_error",
    }
)


class _Part(msgspec.Struct, gc=False):
    type: str = "text"
    text: str = ""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPart(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Words(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: Any = None  # thinking, in the two names that it goes by; it is charged, not shown
    reasoning: Any = None
    tool_calls: list[_CallPart] | None = None


class _Choice(msgspec.Struct):
    delta: _Words | None = None
    message: _Words | None = None  # of a reply that was not streamed
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: Any = None  # what servers count is judged later: a reply is no worse for a wrong count
    completion_tokens: Any = None
    prompt_tokens_details: Any = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: dict[str, Any] | str | None = None


_decode: Final = msgspec.json.Decoder(_Chunk).decode


class ChatReader:
    """Assembles one reply."""

    def __init__(self, reply: ReplyDraft) -> None:
        self.reply = reply
        self._last: CallDraft | None = None

    def event(self, data: bytes) -> bool:
        """Take one event; True when nothing more is to come; raise AttemptError."""
        if data != _DONE:
            self._take(data)
            return False
        self._end()
        return True

    def whole(self, body: bytes) -> None:
        """Take a reply from a server that does not stream."""
        self._take(body)
        self._end()

    def _end(self) -> None:
        """Nothing more comes: a reply that had begun is whole, also without a word for how it ended."""
        if self.reply.begun and self.reply.finish is None:
            self.reply.finish = ""

    def _take(self, data: bytes) -> None:
        try:
            chunk = decoded(data, _decode, _Chunk)
        except (ValueError, RecursionError) as error:
            raise self.reply.violation(f"the server sent what is no chat completion: {error}") from error
        if chunk.error is not None:
            raise self.reply.failure(error_text(data), retryable=_is_passing(chunk.error))
        if chunk.usage is not None:
            self._count(chunk.usage)
        if chunk.choices:
            self.reply.begun = True
            self._choice(chunk.choices[0])
        elif chunk.choices is None and chunk.usage is None:
            raise self.reply.violation("the server's answer has no choices")

    def _count(self, usage: _Usage) -> None:
        match usage.prompt_tokens_details:
            case {"cached_tokens": cached}:
                pass
            case _:
                cached = None
        self.reply.arrived.count(tokens_in=usage.prompt_tokens, tokens_out=usage.completion_tokens, cached=cached)

    def _choice(self, choice: _Choice) -> None:
        words = choice.delta or choice.message
        if words is not None:
            thought = words.reasoning_content or words.reasoning
            if isinstance(thought, str):
                self.reply.weigh(thought)
            self._text(words)
            for part in words.tool_calls or ():
                self._call(part)
        if choice.finish_reason is not None:
            self.reply.finish = choice.finish_reason

    def _text(self, words: _Words) -> None:
        content = words.content or words.refusal
        if isinstance(content, list):
            content = "".join(part.text for part in content if part.type == "text")
        self.reply.say(content or "")

    def _call(self, part: _CallPart) -> None:
        function = part.function or _Function()
        draft = self._draft_for(part, function)
        draft.id = draft.id or part.id or ""
        draft.tool = draft.tool or function.name or ""
        given = function.arguments
        if isinstance(given, dict):
            given = _encode(given).decode()
        if given:
            draft.arguments.append(given)
        self.reply.weigh((function.name or "") + (given or ""))
        self._last = draft

    def _draft_for(self, part: _CallPart, function: _Function) -> CallDraft:
        """Find the call that a part continues: by its index; servers without indices name each new call."""
        calls = self.reply.calls
        draft = self._last if part.index is None else calls.get(part.index)
        begins = bool(function.name) and (draft is None or part.index is None or _differs(part.id, draft.id))
        if draft is not None and not begins:
            return draft
        draft = CallDraft()
        place = part.index if part.index is not None and part.index not in calls else len(calls)
        while place in calls:
            place += 1
        calls[place] = draft
        return draft


def _is_passing(error: dict[str, Any] | str) -> bool:
    """Say whether an error within a stream may be gone at the next attempt."""
    code, kind = (error.get("code"), error.get("type")) if isinstance(error, dict) else (None, None)
    return is_retryable(code) if isinstance(code, int) else kind not in _LASTING_KINDS


def _differs(new: str | None, old: str) -> bool:
    return bool(new) and bool(old) and new != old


class OpenAIProvider:
    """A model behind chat completions. May be used from several event loops; `aclose` in each."""

    def __init__(
        self, settings: ModelSettings, api_key: str | None, *, silence_seconds: float = SILENCE_SECONDS
    ) -> None:
        base_url = settings.base_url or OPENAI_URL
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._connection = Connection(
            checked_url(base_url, "/chat/completions"), headers, key=api_key, silence_seconds=silence_seconds
        )
        self._model = settings.model
        self._tools = "tools" in settings.capabilities
        self._sees = "vision" in settings.capabilities
        # OpenAI's own reasoning models refuse the older name, most other servers know only that one.
        self._limit = "max_completion_tokens" if self.url.startswith(OPENAI_URL) else "max_tokens"

    @property
    def url(self) -> str:
        """Where requests go."""
        return self._connection.url

    def head(self, system: str, tools: tuple[ToolSpec, ...]) -> bytes:
        """Return the stable prefix; the tools are left out for a model that cannot call them."""
        parts = [b'{"model":', _encode(self._model), b',"stream":true,"stream_options":{"include_usage":true}']
        if tools and self._tools:
            ordered = sorted(tools, key=lambda tool: tool.name)
            parts += [b',"tools":', _encode([_declared(tool) for tool in ordered])]
        parts.append(b',"messages":[')
        if system:
            parts += [_encode({"role": "system", "content": system}), b","]
        return b"".join(parts)

    def message(self, message: Message, *, breakpoint_here: bool = False) -> bytes:  # noqa: ARG002 - see below
        """Return one message. These servers cache prefixes by themselves, so that a breakpoint changes nothing."""
        if not self._tools:
            message = as_words(message)
        match message:
            case Said():
                return _encode({"role": "user", "content": message.text})
            case Replied(calls=()):
                return _encode({"role": "assistant", "content": message.text})
            case Replied():
                calls = [_called(call) for call in message.calls]
                return _encode({"role": "assistant", "content": message.text or None, "tool_calls": calls})
            case Result():  # holds text only: its pictures follow as words of the user, after all results of the step
                return _encode({"role": "tool", "tool_call_id": message.provider_id, "content": message.text})
            case Shown(pictures=pictures):
                words = picture_words(pictures, seen=self._sees)
                blocks = [_pictured(picture) for picture in pictures] if self._sees else []
                content = [{"type": "text", "text": words}, *blocks] if blocks else words
                return _encode({"role": "user", "content": content})
            case _:
                assert_never(message)

    def tail(self, *, max_tokens: int, tools_allowed: bool = True) -> bytes:
        """Return the end of the body. Forbid tools only where the head declares some: servers refuse it otherwise."""
        switch = b',"tool_choice":"none"' if self._tools and not tools_allowed else b""
        return b'],"%b":%d%b}' % (self._limit.encode(), max_tokens, switch)

    async def infer(self, body: bytes, on_text: Callable[[str], None], arrived: Arrived | None = None) -> Inference:
        """Send `body` once and return the whole reply; raise AttemptError."""
        reply = ReplyDraft(on_text, arrived)
        await self._connection.exchange(body, ChatReader(reply))
        return reply.result()

    async def aclose(self) -> None:
        """Close this loop's connections."""
        await self._connection.aclose()


def _declared(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _pictured(picture: Picture) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{picture.media_type};base64,{picture.data()}"}}


def _called(call: AskedCall) -> dict[str, Any]:
    arguments = _encode(argument_object(call.arguments)).decode()
    return {"id": call.provider_id, "type": "function", "function": {"name": call.tool, "arguments": arguments}}
