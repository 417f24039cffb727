"""Chat completions as servers really send them: the ways in which they differ from the original."""

from typing import Any

import msgspec
import pytest

from host.models.conversation import AttemptError
from host.models.openai import ChatReader
from host.models.reply import ReplyDraft
from host.stops import Reason

END: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def ignore(_text: str) -> None:
    """Take text and do nothing with it."""


def call(index: int | None, name: str | None, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    """Return a chunk with one piece of a call; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    part: dict[str, Any] = {"index": index, "id": call_id}
    part = {key: value for key, value in part.items() if value is not None}
    part["function"] = {key: value for key, value in function.items() if value is not None}
    return {"choices": [{"delta": {"tool_calls": [part]}}]}


def reader_of(*chunks: dict[str, Any], pieces: list[str] | None = None) -> ChatReader:
    """Return a reader that took the chunks."""
    reader = ChatReader(ReplyDraft(ignore if pieces is None else pieces.append))
    for chunk in chunks:
        reader.event(msgspec.json.encode(chunk))
    return reader


def asked(*chunks: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the calls of a reply."""
    return [(one.tool, one.arguments) for one in reader_of(*chunks, END).reply.result().calls]


@pytest.mark.clause("TURN-6")
def test_pieces_of_two_calls_may_be_interleaved() -> None:
    """The index says which call a piece belongs to."""
    chunks = [call(0, "a", "", "x"), call(1, "b", "", "y"), call(1, None, "[1]"), call(0, None, "[0]")]
    assert asked(*chunks) == [("a", "[0]"), ("b", "[1]")]


@pytest.mark.clause("TURN-6")
def test_whole_calls_without_index_are_calls_of_their_own() -> None:
    """Servers that do not stream calls number nothing."""
    assert asked(call(None, "a", "{}"), call(None, "a", '{"x":1}')) == [("a", "{}"), ("a", '{"x":1}')]


@pytest.mark.clause("TURN-6")
def test_pieces_without_index_continue_the_last_call() -> None:
    """Only the first piece of a call names its tool."""
    assert asked(call(None, "a", '{"x"'), call(None, None, ":1}"), call(None, "b", "{}")) == [
        ("a", '{"x":1}'),
        ("b", "{}"),
    ]


@pytest.mark.clause("TURN-6")
def test_calls_that_all_have_index_nought_are_told_apart_by_their_ids() -> None:
    """Some gateways number every call 0."""
    assert asked(call(0, "a", "{}", "x"), call(0, "b", "{}", "y")) == [("a", "{}"), ("b", "{}")]


@pytest.mark.clause("TURN-6")
def test_a_name_that_is_repeated_with_every_piece_is_taken_once() -> None:
    """Id and name in each piece make one call."""
    assert asked(call(0, "a", "[", "x"), call(0, "a", "]", "x")) == [("a", "[]")]


@pytest.mark.clause("TURN-6")
def test_arguments_that_come_as_an_object_become_text() -> None:
    """Some servers send JSON in place of its text."""
    assert asked(call(0, "a", {"x": 1})) == [("a", '{"x":1}')]


@pytest.mark.clause("TURN-6")
def test_missing_and_repeated_ids_are_replaced_by_fresh_ones() -> None:
    """A result must name its call without doubt."""
    reply = reader_of(call(0, "a", "{}"), call(1, "b", "{}", "x"), call(2, "c", "{}", "x"), END).reply.result()
    ids = [one.provider_id for one in reply.calls]
    assert ids[1] == "x"
    assert len(set(ids)) == 3
    assert all(ids)


def test_content_may_be_a_list_of_parts_and_thinking_is_left_out() -> None:
    """Only text parts are text."""
    pieces: list[str] = []
    parts = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "yes"}]
    reader_of({"choices": [{"delta": {"content": parts}}]}, pieces=pieces)
    assert pieces == ["yes"]


def test_a_refusal_is_the_text_of_the_reply() -> None:
    """The person sees why there is no answer."""
    assert reader_of({"choices": [{"delta": {"refusal": "No."}}]}, END).reply.result().text == "No."


def test_a_reply_that_was_not_streamed_is_taken_whole() -> None:
    """Some gateways ignore the wish for a stream."""
    pieces: list[str] = []
    reader = ChatReader(ReplyDraft(pieces.append))
    message = {"content": "hello", "tool_calls": [{"id": "x", "function": {"name": "a", "arguments": "{}"}}]}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    reader.whole(msgspec.json.encode({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}))
    reply = reader.reply.result()
    assert (pieces, reply.text, reply.calls[0].tool, reply.tokens_in) == (["hello"], "hello", "a", 3)


def test_usage_in_a_chunk_without_choices_is_taken() -> None:
    """It comes after the reply's end."""
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}}
    reply = reader_of(END, {"choices": [], "usage": usage}).reply.result()
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (9, 4, 8)


def test_a_stream_that_says_it_is_done_is_whole_without_a_stop_word() -> None:
    """The server has said that nothing more comes."""
    reader = reader_of({"choices": [{"delta": {"content": "hi"}}]})
    assert reader.event(b"[DONE]")
    assert (reader.reply.result().text, reader.reply.result().finish) == ("hi", "")


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        ({"message": "overloaded", "code": 503}, True),
        ({"message": "too long", "code": 400}, False),
        ({"message": "no", "type": "invalid_request_error"}, False),
        ({"message": "oops", "type": "server_error"}, True),
        ("gone", True),
    ],
)
def test_an_error_within_the_stream_keeps_what_had_come(error: Any, *, retryable: bool) -> None:
    """Whether it may be repeated follows from what the server says of it."""
    reader = reader_of({"choices": [{"delta": {"content": "half"}}]})
    with pytest.raises(AttemptError) as caught:
        reader.event(msgspec.json.encode({"error": error}))
    assert caught.value.received == "half"
    assert caught.value.retryable is retryable
    assert (error if isinstance(error, str) else error["message"]) in caught.value.detail


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize("data", [b"{", b"[]", b'{"object":"list"}', b'{"choices":[{"delta":{"content":5}}]}', b"\xff"])
def test_what_is_no_chat_completion_is_a_protocol_violation(data: bytes) -> None:
    """In the middle of a reply it may be a stumble; at the beginning it is a wrong address."""
    with pytest.raises(AttemptError) as caught:
        ChatReader(ReplyDraft(ignore)).event(data)
    assert (caught.value.reason, caught.value.retryable) == (Reason.PROTOCOL_VIOLATION, False)
    reader = reader_of({"choices": [{"delta": {"content": "half"}}]})
    with pytest.raises(AttemptError) as caught:
        reader.event(data)
    assert (caught.value.reason, caught.value.retryable) == (Reason.PROTOCOL_VIOLATION, True)
    assert caught.value.received == "half"
