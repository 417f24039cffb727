"""Server-sent events, however they are cut and written."""

import pytest

from host.models.sse import LONGEST_EVENT_BYTES, EventStream, EventTooLong

STREAM = b": hello\r\nevent: ping\ndata: one\r\n\r\nid: 7\ndata:two\ndata: lines\n\nretry: 5\n\ndata: \xe8\xaa\x9e\n\n"
EVENTS = [b"one", b"two\nlines", "語".encode()]


@pytest.mark.parametrize("at", range(len(STREAM) + 1))
def test_events_are_the_same_wherever_the_stream_is_cut(at: int) -> None:
    """Not even a character or a line end that is cut in two changes them."""
    stream = EventStream()
    assert [*stream.feed(STREAM[:at]), *stream.feed(STREAM[at:]), *stream.close()] == EVENTS


def test_a_last_event_without_its_empty_line_is_not_lost() -> None:
    """Some servers end the stream right after their last line."""
    stream = EventStream()
    assert stream.feed(b"data: first\n\ndata: [DONE]") == [b"first"]
    assert stream.close() == [b"[DONE]"]


def test_an_event_without_data_is_no_event() -> None:
    """Comments that keep a connection open reach nobody."""
    stream = EventStream()
    assert stream.feed(b": waiting\n\n: waiting\n\nevent: ping\n\n") == []
    assert stream.close() == []


def test_an_event_without_end_is_refused() -> None:
    """A server cannot fill the memory with one line."""
    stream = EventStream()
    with pytest.raises(EventTooLong):
        stream.feed(b"data: " + b"x" * LONGEST_EVENT_BYTES)
