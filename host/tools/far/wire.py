"""The form of what both ends of a connection say to each other: a message in JSON, and bytes that belong to it.

Eight bytes of lengths, the message, the bytes. Neither end believes the other about a length.
"""

import json
import struct
from collections.abc import Callable
from typing import Any, Final, cast

MAGIC: Final = b"\x00elis-far-1\n"
"""What the far end says first; whatever stands before is a login script's own."""

MESSAGE_BYTES: Final = 16 << 20  # a page of a listing with long names is a hundredth of it
DATA_BYTES: Final = 64 << 20  # the file tools take 16 MiB, a body from the web may have more
_LENGTHS: Final = struct.Struct(">II")

Message = dict[str, Any]


class Garbled(Exception):
    """The other end does not speak as agreed."""


def packed(message: Message, data: bytes = b"") -> bytes:
    """Return a message as it is sent. Lone surrogates in it, the bytes of names that are no UTF-8, survive."""
    text = json.dumps(message).encode("ascii")
    if len(text) > MESSAGE_BYTES or len(data) > DATA_BYTES:
        raise Garbled("the message is too long to be sent")
    return _LENGTHS.pack(len(text), len(data)) + text + data


def received(read: Callable[[int], bytes]) -> tuple[Message, bytes] | None:
    """Take the next message, None at the end; `read` returns less than it is asked for only there. Raise Garbled."""
    lengths = read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    text_bytes, data_bytes = _LENGTHS.unpack(lengths)
    if text_bytes > MESSAGE_BYTES or data_bytes > DATA_BYTES:
        raise Garbled("a message is longer than any may be")
    text, data = read(text_bytes), read(data_bytes) if data_bytes else b""
    if len(text) < text_bytes or len(data) < data_bytes:
        return None
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Garbled("a message is no JSON") from error
    if not isinstance(message, dict):
        raise Garbled("a message is no object")
    return cast("Message", message), data
