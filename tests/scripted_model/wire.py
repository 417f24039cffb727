"""Replies as bytes, in the words of chat completions and of messages. Pure.

A stream is rendered as pieces: one for each delta, with whatever must precede it, and a last one that ends the reply.
"""

from typing import Any, cast

import msgspec

from tests.scripted_model.steps import Call, Reply, argument_text, split

_encode = msgspec.json.Encoder().encode


def _data(value: object) -> bytes:
    return b"data: " + _encode(value) + b"\n\n"


def _named(event: str, **fields: object) -> bytes:
    return b"event: " + event.encode() + b"\ndata: " + _encode({"type": event, **fields}) + b"\n\n"


# ---- chat completions


def _chat_finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _chat_usage(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is None:
        return None
    tokens_in, tokens_out, cached = reply.usage
    return {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _chat_call(call: Call, made: str, arguments: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "function", "function": {"name": call.tool, "arguments": arguments}}
    name = made if call.id is None else call.id
    return {"id": name, **entry} if name else entry


def _chat_call_deltas(reply: Reply, serial: int) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    for index, call in enumerate(reply.calls):
        text = argument_text(call)
        place = {} if reply.call_style == "no_index" else {"index": index}
        whole = reply.call_style != "split"
        deltas.append({"tool_calls": [place | _chat_call(call, f"call_{serial}_{index}", text if whole else "")]})
        if not whole:
            pieces = split(text, reply.chunks)
            deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
    return deltas


def chat_stream(reply: Reply, serial: int, model: str, *, include_usage: bool) -> list[bytes]:
    """Return the pieces of a chat-completions stream."""
    envelope: dict[str, Any] = {
        "id": f"chatcmpl-{serial}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": model,
    }

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _data(envelope | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    deltas: list[dict[str, Any]] = [{"reasoning_content": piece} for piece in split(reply.reasoning, reply.chunks)]
    deltas += [{"content": piece} for piece in split(reply.text, reply.chunks)]
    deltas += _chat_call_deltas(reply, serial)
    if deltas:
        deltas[0] = {"role": "assistant", **deltas[0]}
    end = chunk({}, _chat_finish(reply))
    usage = _chat_usage(reply)
    if include_usage and usage is not None:
        empty: dict[str, Any] = {"choices": [], "usage": usage}
        end += _data(envelope | empty)
    return [*(chunk(delta) for delta in deltas), end + b"data: [DONE]\n\n"]


def chat_whole(reply: Reply, serial: int, model: str) -> bytes:
    """Return a chat completion that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            _chat_call(call, f"call_{serial}_{index}", argument_text(call)) for index, call in enumerate(reply.calls)
        ]
    body: dict[str, Any] = {
        "id": f"chatcmpl-{serial}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": _chat_finish(reply)}],
    }
    usage = _chat_usage(reply)
    return _encode(body if usage is None else body | {"usage": usage})


# ---- messages


def _messages_finish(reply: Reply) -> str:
    return reply.finish or ("tool_use" if reply.calls else "end_turn")


def _messages_usage(reply: Reply) -> dict[str, Any]:
    if reply.usage is None:
        return {}
    tokens_in, tokens_out, cached = reply.usage
    return {
        "usage": {
            "input_tokens": tokens_in - cached,
            "output_tokens": tokens_out,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
        }
    }


def _blocks(reply: Reply, serial: int) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return each content block as it starts, and its deltas."""
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.reasoning:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in split(reply.reasoning, reply.chunks)]
        blocks.append(({"type": "thinking", "thinking": ""}, deltas))
    if reply.text:
        deltas = [{"type": "text_delta", "text": piece} for piece in split(reply.text, reply.chunks)]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for index, call in enumerate(reply.calls):
        pieces = split(argument_text(call), reply.chunks)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
        name = f"toolu_{serial}_{index}" if call.id is None else call.id
        blocks.append(({"type": "tool_use", "id": name, "name": call.tool, "input": {}}, deltas))
    return blocks


def messages_stream(reply: Reply, serial: int, model: str) -> list[bytes]:
    """Return the pieces of a messages stream."""
    usage = _messages_usage(reply)
    message: dict[str, Any] = {
        "id": f"msg_{serial}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
    }
    first = usage and {"usage": usage["usage"] | {"output_tokens": 1}}
    before = _named("message_start", message=message | {"stop_reason": None} | first) + _named("ping")
    pieces: list[bytes] = []
    for index, (start, deltas) in enumerate(_blocks(reply, serial)):
        before += _named("content_block_start", index=index, content_block=start)
        for delta in deltas:
            pieces.append(before + _named("content_block_delta", index=index, delta=delta))
            before = b""
        before = _named("content_block_stop", index=index)
    out = usage and {"usage": {"output_tokens": usage["usage"]["output_tokens"]}}
    stopped = {"stop_reason": _messages_finish(reply), "stop_sequence": None}
    return [*pieces, before + _named("message_delta", delta=stopped, **out) + _named("message_stop")]


def messages_whole(reply: Reply, serial: int, model: str) -> bytes:
    """Return a message that is not streamed; arguments that are no JSON go as an empty object."""
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    for index, call in enumerate(reply.calls):
        name = f"toolu_{serial}_{index}" if call.id is None else call.id
        given = call.arguments if isinstance(call.arguments, dict) else {}
        content.append({"type": "tool_use", "id": name, "name": call.tool, "input": given})
    message: dict[str, Any] = {
        "id": f"msg_{serial}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
    }
    return _encode(message | {"stop_reason": _messages_finish(reply), "stop_sequence": None} | _messages_usage(reply))


# ---- both


def error(path: str, status: int, message: str) -> bytes:
    """Return an error object in the words of the format that `path` belongs to."""
    kind = "rate_limit_error" if status == 429 else "scripted_error"
    if path.endswith("/messages"):
        return _encode({"type": "error", "error": {"type": kind, "message": message}})
    return _encode({"error": {"message": message, "type": kind, "code": status}})


def models(names: tuple[str, ...]) -> bytes:
    """Return the list of models."""
    entries = [{"id": name, "object": "model", "created": 0, "owned_by": "scripted"} for name in names]
    return _encode({"object": "list", "data": entries})


def last_text(request: dict[str, Any]) -> str:
    """Return the text of a request's last message, whatever its shape."""
    messages: list[dict[str, Any]] = request.get("messages") or [{}]
    return _flat(messages[-1].get("content"))


def _flat(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(_flat(part) for part in cast("list[Any]", content))  # type: ignore[redundant-cast,unused-ignore] # basedpyright needs it
    match content:
        case str():
            return content
        case {"text": str(text)}:
            return text
        case {"content": inner}:
            return _flat(inner)
        case _:
            return ""
