"""The output of a program, kept within bounds while it comes.

The head and the tail are kept, what lies between is counted; a listener hears the text as it arrives. Bytes that are
no UTF-8 become replacement characters. Nothing here knows where the bytes come from.
"""

import codecs
from collections.abc import Callable
from typing import Final

KEPT_BYTES: Final = 1 << 20  # of one command: more than any model reads, little enough for many lanes


class Output:
    """What a program has written so far."""

    def __init__(self, listener: Callable[[str], None] | None = None, kept_bytes: int = KEPT_BYTES) -> None:
        """Keep at most `kept_bytes`, half from the start and half from the end."""
        self._listener = listener
        self._half = kept_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> None:
        """Take what came."""
        self._size += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > 2 * self._half:  # trimmed seldom, so that each byte is moved once
            del self._tail[: -self._half]
        if self._listener is not None:
            text = self._decoder.decode(data)
            if text:
                self._listener(text)

    @property
    def left_out(self) -> int:
        """How many bytes between head and tail are not kept."""
        return max(0, self._size - len(self._head) - self._half)

    def text(self) -> str:
        """Return what is kept; a line in the middle says what is not."""
        head = self._head.decode(errors="replace")
        tail = self._tail[-self._half :].decode(errors="replace")
        if not self.left_out:
            return (self._head + self._tail).decode(errors="replace")
        return f"{head}\n[… {self.left_out} bytes of output are left out here …]\n{tail}"
