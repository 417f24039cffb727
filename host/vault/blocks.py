"""Blocks of private keys (PEM, OpenSSH, PGP), whole or torn off, also inside JSON. Positions are of bytes."""

import re
from collections.abc import Iterator
from typing import Final

WORD: Final = b"-----BEGIN"

_HEAD: Final = rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# A body ends at the next five dashes, so that many heads without an end cost no more than one reading.
_BODY: Final = rb"[^-]*+(?:-{1,4}(?!-)[^-]++)*+"
_BLOCK: Final = re.compile(
    _HEAD + rb"(?:" + _BODY + rb"-----END [A-Z0-9 ]{0,60}-----"
    # torn: the lines that read as base64, and headers before them
    rb"|(?:(?:\\{1,4}[nr]|[\s\"'+,])*+"
    rb"(?:[A-Z][A-Za-z-]{2,20}:[ ][^\r\n\\-][^\r\n\\]{0,80}+|[A-Za-z0-9+/=]{16,512}+))++)"
)
_OPEN: Final = re.compile(
    rb"-----BEGIN(?: [A-Z0-9 ]{0,60}-{0,4})?\Z"
    rb"|" + _HEAD + _BODY + rb"(?:-{1,5}|-----E[A-Z0-9 ]{0,66}-{0,4})?\Z"
)
_NO_MORE: Final = 64 * 1024  # a block longer than this is no key


def values(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of every block in `raw`."""
    if WORD in raw:
        for match in _BLOCK.finditer(raw):
            yield match.span()


def opens_at(raw: bytes) -> int:
    """Return where the end of `raw` may be the beginning of a block; its length if nowhere."""
    at = raw.rfind(WORD, max(0, len(raw) - _NO_MORE))
    if at >= 0 and _OPEN.match(raw, at):
        return at
    for length in range(min(len(WORD), len(raw)), 0, -1):
        if raw.endswith(WORD[:length]):
            return len(raw) - length
    return len(raw)
