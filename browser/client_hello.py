"""Reading the host's name out of the greeting of a TLS client (RFC 8446, 4.1.2; RFC 6066, 3).

A tunnel to a listed host must not be used to greet another one that lives at the same address. Only the first
greeting is read; nothing is decrypted. Pure, and fed with whatever has arrived so far.
"""

import enum
from typing import Final

import msgspec

LONGEST: Final = 64 << 10  # bytes; greetings with many post-quantum shares stay below 8 KiB
_RECORD_HEAD: Final = 5
_LARGEST_RECORD: Final = 16384
_HANDSHAKE_RECORD: Final = 22
_MAJOR_VERSION: Final = 3
_CLIENT_HELLO: Final = 1
_MESSAGE_HEAD: Final = 4
_BEFORE_SESSION: Final = 34  # version and random
_SERVER_NAME: Final = 0
_HOST_NAME: Final = 0

UNRECOGNIZED_NAME: Final = bytes((21, 3, 3, 0, 2, 2, 112))
"""The alert by which a client is told that its name is not served here (RFC 6066, 3)."""


class State(enum.Enum):
    """What has been understood."""

    MORE = "more"  # the greeting is not complete
    NAMED = "named"
    UNNAMED = "unnamed"  # a greeting without a name
    BROKEN = "broken"  # it began as TLS and is none
    NOT_TLS = "not_tls"


class Greeting(msgspec.Struct, frozen=True):
    """What a client's first bytes say."""

    state: State
    name: str = ""


class _Short(Exception):
    """A field reaches beyond its container."""


class _Fields:
    """Length-prefixed fields, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bool__(self) -> bool:
        return bool(self._data)

    def take(self, size: int) -> bytes:
        if len(self._data) < size:
            raise _Short
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def prefixed(self, size: int) -> bytes:
        return self.take(self.number(size))


def greeting(data: bytes) -> Greeting:
    """Return what the first bytes of a client say."""
    message = b""
    while True:
        if not data:
            return Greeting(State.MORE)
        if data[0] != _HANDSHAKE_RECORD or (len(data) > 1 and data[1] != _MAJOR_VERSION):
            return Greeting(State.BROKEN if message else State.NOT_TLS)
        if len(data) < _RECORD_HEAD:
            return Greeting(State.MORE)
        size = int.from_bytes(data[3:_RECORD_HEAD], "big")
        if not 0 < size <= _LARGEST_RECORD:
            return Greeting(State.BROKEN)
        record = data[_RECORD_HEAD : _RECORD_HEAD + size]
        message += record
        data = data[_RECORD_HEAD + size :]
        if message and message[0] != _CLIENT_HELLO:
            return Greeting(State.BROKEN)
        if len(message) >= _MESSAGE_HEAD:
            end = _MESSAGE_HEAD + int.from_bytes(message[1:_MESSAGE_HEAD], "big")
            if end > LONGEST:
                return Greeting(State.BROKEN)
            if len(message) >= end:
                return _named(message[_MESSAGE_HEAD:end])
        if len(record) < size:
            return Greeting(State.MORE)


def _named(hello: bytes) -> Greeting:
    try:
        names = _names(hello)
    except _Short:
        return Greeting(State.BROKEN)
    if not names:
        return Greeting(State.UNNAMED)
    if len(names) > 1 or not names[0].isascii():
        return Greeting(State.BROKEN)
    return Greeting(State.NAMED, names[0].decode("ascii").lower().removesuffix("."))


def _names(hello: bytes) -> list[bytes]:
    fields = _Fields(hello)
    fields.take(_BEFORE_SESSION)
    fields.prefixed(1)  # session
    fields.prefixed(2)  # cipher suites
    fields.prefixed(1)  # compression
    names: list[bytes] = []
    extensions = _Fields(fields.prefixed(2) if fields else b"")
    while extensions:
        kind = extensions.number(2)
        content = extensions.prefixed(2)
        if kind == _SERVER_NAME:
            listed = _Fields(_Fields(content).prefixed(2))
            while listed:
                of_host = listed.number(1) == _HOST_NAME
                name = listed.prefixed(2)
                if of_host:
                    names.append(name)
    return names
