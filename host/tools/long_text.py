"""A stretch of a text file that is too long to be held: found by scanning, so that any part of it can be read (CTX-3).

It goes over the file's bytes once, in steps with room for a breath between them, and knows nothing of tools.
"""

import codecs
import hashlib
import os
from dataclasses import dataclass
from typing import Final

from host.tools.steps import Steps

_CHUNK: Final = 1 << 20  # read in less than a millisecond


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """Some lines of a file."""

    lines: tuple[str, ...]  # the last is whole unless it is the only one
    goes_on: bool  # the one line is longer than what is here
    total: int  # lines of the file
    size: int  # bytes of the file
    content_hash: str  # as `content_hash` of the whole


def stretching(descriptor: int, *, first: int, column: int, lines: int, limit_bytes: int) -> Steps[Stretch]:
    """Return up to `lines` lines from number `first` (0 is the first), column `column` of it (from 0).

    About `limit_bytes` are looked at beyond the column. Raises UnicodeDecodeError where that part is no UTF-8.
    """
    digest = hashlib.blake2b(digest_size=16)
    offset = newlines = 0
    start = 0 if first == 0 else -1
    last = b"\n"
    while chunk := os.pread(descriptor, _CHUNK, offset):
        digest.update(chunk)
        count = chunk.count(b"\n")
        if start < 0 and newlines + count >= first:
            start = offset + _after(chunk, first - newlines)
        newlines += count
        offset += len(chunk)
        last = chunk[-1:]
        yield
    total = newlines + (last != b"\n")
    told: tuple[str, ...] = ()
    goes_on = False
    if start >= 0 and first < total:
        told, goes_on = yield from _read(descriptor, start, column, limit_bytes)
    return Stretch(lines=told[:lines], goes_on=goes_on, total=total, size=offset, content_hash=digest.hexdigest())


def _after(chunk: bytes, count: int) -> int:
    """Return the place after the `count`-th newline."""
    at = 0
    for _ in range(count):
        at = chunk.index(b"\n", at) + 1
    return at


def _read(descriptor: int, start: int, column: int, limit_bytes: int) -> Steps[tuple[tuple[str, ...], bool]]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    text, left = "", column
    while len(text) < limit_bytes:
        chunk = os.pread(descriptor, _CHUNK if left else limit_bytes + 1, start)
        start += len(chunk)
        part = decoder.decode(chunk, final=not chunk)
        if left:
            newline = part.find("\n")
            if 0 <= newline < left:  # the line ends before the column
                part, left = part[newline:], 0
        text += part[left:]
        left = max(0, left - len(part))
        if not chunk:
            return tuple(text.removesuffix("\n").split("\n")), False
        yield
    lines = text.split("\n")
    return (tuple(lines[:-1]), False) if len(lines) > 1 else ((text,), True)
