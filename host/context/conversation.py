"""What a lane's model has been told so far, as encoded parts: append-only, one list a turn.

Each message is encoded once and stored once by its content hash, so a long conversation costs a request only a list
of hashes (TURN-3). What no longer fits the model's window is left out turn by turn, oldest first, and that is said;
the journal keeps every word.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from host.models.conversation import Message, Result, Shown

_PICTURE_TOKEN_BYTES: Final = 4  # of text for one token of a picture, whatever a token of text turns out to have


class Part:
    """The bytes of one message; `content_hash` is None until they are stored."""

    __slots__ = ("content_hash", "data", "message", "weight")

    def __init__(self, message: Message | None, data: bytes, weight: int | None = None) -> None:
        self.message = message
        self.data = data
        self.weight = _weight(message, data) if weight is None else weight  # bytes of text that cost as much
        self.content_hash: str | None = None


def _weight(message: Message | None, data: bytes) -> int:
    """Return what a message counts for when its tokens are estimated: a picture costs by its size, not by its bytes."""
    match message:
        case Result(pictures=pictures) | Shown(pictures=pictures) if pictures:
            encoded = sum(4 * -(-picture.size_bytes // 3) for picture in pictures)
            if len(data) < encoded:  # told in words: to this model, or in another message
                return len(data)
            return len(data) - encoded + sum(picture.tokens * _PICTURE_TOKEN_BYTES for picture in pictures)
        case _:
            return len(data)


class Conversation:
    """The parts of the turns of one lane, oldest turn first."""

    def __init__(self, encode: Callable[[Message], bytes]) -> None:
        self._encode = encode
        self._turns: dict[str, list[Part]] = {}
        self._size = 0
        self.left_out = 0  # turns that no longer fit

    def begin(self, turn: str) -> None:
        """Make `turn` the newest one; a turn that is taken up again moves to the end."""
        self._turns[turn] = self._turns.pop(turn, [])

    def extend(self, turn: str, messages: Sequence[Message]) -> None:
        """Bring `turn` up to `messages`, of which it already holds the first ones."""
        parts = self._turns.setdefault(turn, [])
        new = [Part(message, self._encode(message)) for message in messages[len(parts) :]]
        self._size += sum(part.weight for part in new)
        parts += new

    def close(self, turn: str, messages: Sequence[Message]) -> None:
        """Bring an ended turn up to `messages` and keep it as one part from now on.

        Its bytes stay the same; requests of later turns name one hash for it instead of one a message.
        """
        self.extend(turn, messages)
        parts = self._turns[turn]
        if parts:
            joined = b",".join(part.data for part in parts)
            self._turns[turn] = [Part(parts[-1].message, joined, sum(part.weight + 1 for part in parts))]

    def parts(self) -> list[Part]:
        """Return all parts in order."""
        return [part for parts in self._turns.values() for part in parts]

    def size(self) -> int:
        """Return the weight of all parts: the bytes that they have, or would have as text."""
        return self._size

    def shorten(self, limit_bytes: int, keep: str) -> int:
        """Leave out whole turns, oldest first, until `limit_bytes` hold the rest; return how many. `keep` stays."""
        dropped = 0
        for turn in [turn for turn in self._turns if turn != keep]:
            if self.size() <= limit_bytes:
                break
            self._size -= sum(part.weight for part in self._turns.pop(turn))
            dropped += 1
        self.left_out += dropped
        return dropped

    def load(self, turns: Iterable[tuple[str, Sequence[Message]]]) -> None:
        """Take in ended turns, oldest first, after a restart."""
        for turn, messages in turns:
            self.close(turn, messages)
