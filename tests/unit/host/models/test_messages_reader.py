"""The messages format: its events, counts and failures."""

from typing import Any

import msgspec
import pytest

from host.models.anthropic import MessagesReader
from host.models.conversation import AttemptError
from host.models.reply import ReplyDraft
from host.stops import Reason

START: dict[str, Any] = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}
END: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}


def text(piece: str) -> dict[str, Any]:
    """Return an event with a piece of text."""
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}


def reader_of(*events: dict[str, Any]) -> MessagesReader:
    """Return a reader that took the events."""
    pieces: list[str] = []
    reader = MessagesReader(ReplyDraft(pieces.append))
    for event in events:
        reader.event(msgspec.json.encode(event))
    return reader


@pytest.mark.clause("TURN-6")
def test_tokens_written_to_the_cache_are_part_of_the_input() -> None:
    """The server counts three kinds apart; the host pays for all."""
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 1}
    reply = reader_of({"type": "message_start", "message": {"usage": usage}}, END).reply.result()
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (325, 9, 300)


@pytest.mark.clause("TURN-6")
def test_later_counts_are_totals_and_replace_earlier_ones() -> None:
    """They are not added up, and what is not repeated stays."""
    more = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 4, "input_tokens": 6}}
    reply = reader_of(START, more, END).reply.result()
    assert (reply.tokens_in, reply.tokens_out) == (6, 9)


def test_events_that_later_versions_add_are_passed_over() -> None:
    """Pings, thinking, signatures and what is not known yet."""
    reply = reader_of(
        START,
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "a_new_thing", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "y"}},
        text("es"),
        END,
    ).reply.result()
    assert reply.text == "yes"


def test_a_call_that_begins_with_its_input_has_it() -> None:
    """Compatible servers send it in one event."""
    block = {"type": "tool_use", "id": "t1", "name": "a", "input": {"x": 1}}
    reply = reader_of(START, {"type": "content_block_start", "index": 0, "content_block": block}, END).reply.result()
    assert [(call.provider_id, call.tool, call.arguments) for call in reply.calls] == [("t1", "a", '{"x":1}')]


@pytest.mark.clause("TURN-6")
@pytest.mark.parametrize(
    ("kind", "retryable"), [("overloaded_error", True), ("api_error", True), ("invalid_request_error", False)]
)
def test_an_error_within_the_stream_keeps_what_had_come(kind: str, *, retryable: bool) -> None:
    """An overloaded server is asked again, a wrong request is not."""
    reader = reader_of(START, text("half"))
    with pytest.raises(AttemptError) as caught:
        reader.event(msgspec.json.encode({"type": "error", "error": {"type": kind, "message": "Overloaded"}}))
    assert (caught.value.received, caught.value.retryable) == ("half", retryable)
    assert "Overloaded" in caught.value.detail


@pytest.mark.clause("TURN-6")
def test_arguments_of_no_call_are_a_protocol_violation() -> None:
    """A piece without a beginning belongs to nothing."""
    piece = {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{"}}
    with pytest.raises(AttemptError) as caught:
        reader_of(START, piece)
    assert (caught.value.reason, caught.value.retryable) == (Reason.PROTOCOL_VIOLATION, True)
