"""Large bodies, stored once under the hash of their content, compressed.

Below it nothing but zstandard; the journal's unit and reader decide where the rows go.
"""

import hashlib
from typing import Final

import msgspec
import zstandard

from memory.errors import JournalDamaged

_HASH_BYTES: Final = 32
_LEVEL: Final = 3  # zstandard's default: about 300 MB/s, and text to a third; higher levels cost more than they save


class Packed(msgspec.Struct, frozen=True):
    """A body made ready on the caller's thread, so that a large one does not delay other units."""

    hash: bytes
    """BLAKE2b of the content, 32 bytes."""
    packed: bytes
    """The content, compressed."""


def address(data: bytes) -> bytes:
    """Return the hash under which `data` is stored."""
    return hashlib.blake2b(data, digest_size=_HASH_BYTES).digest()


def compress(data: bytes) -> bytes:
    """Return `data` compressed."""
    return zstandard.compress(data, _LEVEL)


def pack(data: bytes) -> Packed:
    """Return `data` ready to be stored."""
    return Packed(address(data), compress(data))


def unpack(digest: bytes, packed: bytes) -> bytes:
    """Return the content; raise JournalDamaged if it is not what was stored under `digest`."""
    try:
        data = zstandard.decompress(packed)
    except zstandard.ZstdError as error:
        message = f"the body {digest.hex()} cannot be decompressed ({error}); restore it from a backup"
        raise JournalDamaged(message) from error
    if address(data) != digest:
        message = f"the body {digest.hex()} is not what was stored under its hash; restore it from a backup"
        raise JournalDamaged(message)
    return data
