"""Verification: does what stands in a journal's file fit together, and which row is the first that does not.

Below it the chain and the bodies; above it the reader and the opening of a journal. It reads and repairs nothing.
"""

import sqlite3
from collections.abc import Iterator
from typing import Final

from memory import bodies, chain
from memory.entries import Verdict
from memory.errors import JournalDamaged
from memory.statements import query

_TIP: Final = query("journal", "tip")
_CHAIN: Final = query("journal", "chain")
_HASH_AT: Final = query("journal", "hash_at")
_LAST_SEQ: Final = query("journal", "last_seq")
_BODIES: Final = query("journal", "bodies")
_WHOLE: Final = query("journal", "whole")
_PAGE: Final = 1_000  # rows a snapshot; a long one would keep the log from being folded into the file
_TAIL: Final = 1_000  # rows looked at when a journal is opened: some 3 ms

_Row = tuple[int, int, str, str, bytes, bytes]


def verify(connection: sqlite3.Connection) -> Verdict:
    """Check every event, every body and SQLite's own structures; the journal may be written meanwhile."""
    try:
        _, tip, tip_hash = connection.execute(_TIP).fetchone()
    except (sqlite3.DatabaseError, TypeError) as error:
        return Verdict(ok=False, events=0, first_bad_seq=1, detail=f"the chain's end cannot be read: {error}")
    verdict = _walk(connection, 0, chain.GENESIS)
    if not verdict.ok:
        return verdict
    if verdict.events < tip or (tip and connection.execute(_HASH_AT, (tip,)).fetchone() != (tip_hash,)):
        bad = min(verdict.events + 1, tip)
        detail = f"the chain ends after event {verdict.events}; the journal had reached event {tip}"
        return Verdict(ok=False, events=bad - 1, first_bad_seq=bad, detail=detail)
    detail = _bad_body(connection) or _bad_structure(connection)
    return Verdict(ok=not detail, events=verdict.events, detail=detail)


def check_tail(connection: sqlite3.Connection) -> None:
    """Check the end of the chain, fast enough for every start; raise JournalDamaged naming the first bad row."""
    _, tip, tip_hash = connection.execute(_TIP).fetchone()
    last = connection.execute(_LAST_SEQ).fetchone()[0]
    start = max(tip - _TAIL, 0)
    previous = connection.execute(_HASH_AT, (start,)).fetchone() if start else (chain.GENESIS,)
    if last != tip or previous is None:
        message = f"the journal ends at event {last}, but had reached event {tip}; restore a backup"
        raise JournalDamaged(message, first_bad_seq=min(last, tip) + 1 if previous else start)
    verdict = _walk(connection, start, previous[0])
    if not verdict.ok:
        message = f"{verdict.detail}; verify the journal and restore a backup"
        raise JournalDamaged(message, first_bad_seq=verdict.first_bad_seq)
    if tip and connection.execute(_HASH_AT, (tip,)).fetchone() != (tip_hash,):
        message = f"event {tip} is not the one the journal had reached; restore a backup"
        raise JournalDamaged(message, first_bad_seq=tip)


def _walk(connection: sqlite3.Connection, after: int, previous: bytes) -> Verdict:
    """Follow the chain from the event after `after`, whose hash is `previous`, to its end."""
    good = after
    try:
        for seq, at_us, turn, kind, body, digest in _rows(connection, after):
            if seq != good + 1:
                detail = f"event {good + 1} is missing, {seq} follows {good}"
                return Verdict(ok=False, events=good, first_bad_seq=good + 1, detail=detail)
            if chain.link(previous, seq, at_us, turn, kind, body) != digest:
                detail = f"event {seq} does not fit the hash chain: it or its neighbour was altered"
                return Verdict(ok=False, events=good, first_bad_seq=seq, detail=detail)
            good, previous = seq, digest
    except (sqlite3.DatabaseError, TypeError, AttributeError, UnicodeError) as error:
        # The file is damaged below the rows, or a column holds what it never held.
        detail = f"event {good + 1} cannot be read: {error}"
        return Verdict(ok=False, events=good, first_bad_seq=good + 1, detail=detail)
    return Verdict(ok=True, events=good)


def _rows(connection: sqlite3.Connection, after: int) -> Iterator[_Row]:
    while True:
        count = 0
        for row in connection.execute(_CHAIN, (after, _PAGE)):
            yield row
            after = row[0]
            count += 1
        if count < _PAGE:
            return


def _bad_body(connection: sqlite3.Connection) -> str:
    after = b""
    try:
        while page := connection.execute(_BODIES, (after, 50)).fetchall():
            for digest, packed in page:
                bodies.unpack(digest, packed)
            after = page[-1][0]
    except (JournalDamaged, sqlite3.DatabaseError) as error:
        return f"a body is damaged: {error}"
    return ""


def _bad_structure(connection: sqlite3.Connection) -> str:
    try:
        found = connection.execute(_WHOLE).fetchone()[0]
    except sqlite3.DatabaseError as error:
        found = str(error)
    return "" if found == "ok" else f"the database's structure is damaged: {found}"
