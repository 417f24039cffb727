"""The history that a model is sent: append-only, encoded once, shortened by whole turns."""

import pytest

from host.context.conversation import Conversation
from host.models.conversation import Message, Said

WORDS = [Said("one"), Said("two"), Said("three")]


def encode(message: Message) -> bytes:
    """Return bytes that show which message they are."""
    assert isinstance(message, Said)
    return f'"{message.text}"'.encode()


def body(conversation: Conversation) -> bytes:
    """Return the messages as a request holds them."""
    return b",".join(part.data for part in conversation.parts())


@pytest.mark.clause("CTX-1")
def test_a_turn_only_grows_and_earlier_bytes_stay() -> None:
    """Each message is encoded when it comes, and never again."""
    conversation = Conversation(encode)
    conversation.begin("t1")
    conversation.extend("t1", WORDS[:1])
    first = conversation.parts()[0]
    conversation.extend("t1", WORDS[:2])
    assert conversation.parts()[0] is first
    assert body(conversation) == b'"one","two"'


@pytest.mark.clause("CTX-1", "TURN-3")
def test_an_ended_turn_becomes_one_part_with_the_same_bytes() -> None:
    """What later turns send of it does not change by a byte."""
    conversation = Conversation(encode)
    conversation.extend("t1", WORDS[:2])
    before = body(conversation)
    conversation.close("t1", WORDS)
    assert body(conversation) == before + b',"three"'
    assert len(conversation.parts()) == 1


def test_what_does_not_fit_is_left_out_by_whole_turns_oldest_first() -> None:
    """The running turn stays, and the number of those left out is known."""
    conversation = Conversation(encode)
    for turn in ("t1", "t2", "t3"):
        conversation.extend(turn, WORDS)
    assert conversation.shorten(conversation.size() // 2, keep="t3") == 2
    assert (body(conversation), conversation.left_out) == (b'"one","two","three"', 2)
    assert conversation.shorten(0, keep="t3") == 0


def test_a_turn_that_is_taken_up_again_moves_to_the_end() -> None:
    """It continues after what was said meanwhile."""
    conversation = Conversation(encode)
    conversation.extend("parked", WORDS[:1])
    conversation.extend("between", WORDS[1:2])
    conversation.begin("parked")
    assert body(conversation) == b'"two","one"'
