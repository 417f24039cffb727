"""The hash chain: each event's hash covers all its columns and the hash before it, so an altered past shows.

Pure; below it nothing. It says whether rows fit, not where they are kept.
"""

import hashlib
import struct
from typing import Final

HASH_BYTES: Final = 32
GENESIS: Final = bytes(HASH_BYTES)
"""The hash before the first event."""

# Lengths stand before the texts, so that no byte can move from one column to its neighbour unnoticed.
_HEAD: Final = struct.Struct("<qqII")


def link(previous: bytes, seq: int, at_us: int, turn: str, kind: str, body: bytes) -> bytes:
    """Return the BLAKE2b hash of an event that follows the one with the hash `previous` (JRN-1)."""
    turn_bytes, kind_bytes = turn.encode(), kind.encode()
    head = _HEAD.pack(seq, at_us, len(turn_bytes), len(kind_bytes))
    covered = b"".join((previous, head, turn_bytes, kind_bytes, body))
    return hashlib.blake2b(covered, digest_size=HASH_BYTES).digest()
