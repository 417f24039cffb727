"""A small closed union of events for the tests of the journal, which knows no event of its own."""

import itertools
from collections.abc import Callable
from typing import Final

import msgspec

from memory.journal import Encoded

BOUND_SECONDS: Final = 30.0
"""How long a test waits for anything before it fails."""


class Said(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="said"):
    """Somebody said something."""

    text: str
    turn: str = ""


class Did(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="did"):
    """A tool did something, which nobody searches for."""

    tool: str
    count: int = 1
    turn: str = ""


Note = Said | Did


class NoteCodec:
    """JSON; `masked` is replaced, as the host's codec masks."""

    def __init__(self, masked: str = "\0") -> None:
        self._masked = masked
        self._decoder = msgspec.json.Decoder[Note](Note)

    def encode(self, event: Note, /) -> Encoded:
        """Return the event as JSON without what is masked."""
        match event:
            case Said():
                masked = Said(text=event.text.replace(self._masked, "[masked]"), turn=event.turn)
                return Encoded("said", event.turn, msgspec.json.encode(masked))
            case Did():
                return Encoded("did", event.turn, msgspec.json.encode(event))

    def decode(self, kind: str, body: bytes, /) -> Note:
        """Return the event; raise where the kind is not that of the body."""
        event = self._decoder.decode(body)
        if kind != ("said" if isinstance(event, Said) else "did"):
            raise ValueError(kind)
        return event

    def text(self, event: Note, /) -> str:
        """Return the words that were said."""
        return event.text if isinstance(event, Said) else ""


def ticking(start_us: int = 1_000_000) -> Callable[[], int]:
    """Return a clock that goes on by a millisecond each time it is read."""
    return itertools.count(start_us, 1_000).__next__
