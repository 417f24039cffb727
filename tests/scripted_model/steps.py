"""What the scripted model can do with one request."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

Usage = tuple[int, int, int]  # tokens in (cached ones included), out, cached


class Gate(Protocol):
    """Something that opens, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """Say whether the reply may go on."""
        ...


class Call(msgspec.Struct, frozen=True):
    """A tool call in a reply."""

    tool: str
    arguments: dict[str, Any] | str = {}  # a string is sent as it is, so that broken JSON can be sent
    id: str | None = None  # None: one is made; "": none is sent (chat completions only)


class Reply(msgspec.Struct, frozen=True):
    """A reply with text, calls or both."""

    text: str = ""
    calls: Sequence[Call] = ()
    usage: Usage | None = (12, 7, 0)  # None: the server reports none
    chunks: int = 3  # pieces into which the text, and each call's arguments, are split
    chunk_delay: float = 0.0  # seconds between pieces
    pause: Any = None  # a Gate: waits, after `pause_after` pieces, until it is set
    pause_after: int = 1
    finish: str | None = None  # the stop word; None: the one that fits
    reasoning: str = ""  # thinking before the text
    call_style: Literal["split", "whole", "no_index"] = "split"  # chat completions: how calls are streamed


class Fail(msgspec.Struct, frozen=True):
    """A refusal by status."""

    status: int = 500
    headers: dict[str, str] = {}
    body: str = ""  # "": an error object in the style of the wire format asked for


class Drop(msgspec.Struct, frozen=True):
    """A connection that breaks after some pieces of a reply (0: before the status line)."""

    after_chunks: int = 1
    reply: Reply = Reply("a reply that never comes to its end")
    clean: bool = False  # True: the body ends as HTTP wants it, but the reply is not finished


class Hang(msgspec.Struct, frozen=True):
    """Silence until the client goes, after some pieces of a reply (0: not even a status line)."""

    after_chunks: int = 0
    reply: Reply = Reply("a reply that stops and says no more")


class Rubbish(msgspec.Struct, frozen=True):
    """Any body whatever."""

    body: str
    status: int = 200
    content_type: str = "text/event-stream"


Step = Reply | Fail | Drop | Hang | Rubbish


def split(text: str, pieces: int) -> list[str]:
    """Return `text` in at most `pieces` pieces of about the same length; nothing for an empty text."""
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[at : at + size] for at in range(0, len(text), size)]


def argument_text(call: Call) -> str:
    """Return the arguments as the text that is sent."""
    return call.arguments if isinstance(call.arguments, str) else msgspec.json.encode(call.arguments).decode()
