"""Server-sent events from bytes, piece by piece. Pure.

Only the `data` of an event is of use here: both wire formats repeat the event's name inside it. Tolerant where servers
are sloppy: CRLF, comments, fields nobody knows, a last event without its empty line.
"""

from typing import Final

LONGEST_EVENT_BYTES: Final = 16 * 1024 * 1024  # a whole reply in one event is far smaller; more is an attack or a fault


class EventTooLong(Exception):
    """The server sends an event without end."""


class EventStream:
    """Splits what arrives into the data of events."""

    def __init__(self) -> None:
        self._rest = b""  # the beginning of a line that is not complete
        self._data: list[bytes] = []  # lines of the event that is not complete

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of each event that `chunk` completes; raise EventTooLong."""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST_EVENT_BYTES:
            raise EventTooLong
        return [event for line in lines if (event := self._line(line)) is not None]

    def close(self) -> list[bytes]:
        """Return the data of an event that the end of the stream completes."""
        last = self._rest
        self._rest = b""
        return [event for line in (last, b"") if (event := self._line(line)) is not None]

    def _line(self, line: bytes) -> bytes | None:
        if line.endswith(b"\r"):
            line = line[:-1]
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif not line and self._data:
            event = b"\n".join(self._data)
            self._data.clear()
            return event
        return None
