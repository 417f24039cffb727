"""The thread that fills a journal's search index, behind a watermark and outside every commit.

The index is a file of its own, so that filling it takes no lock a commit needs, and its loss or damage costs only
time: it is made again from the journal. Below it the analyser and the journal's reader; above it the journal.
"""

import contextlib
import logging
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any, Final, Generic

from memory import analyser, schema
from memory.entries import E
from memory.reader import Reader
from memory.statements import query, script, split

_HAS_MARK: Final = query("search", "has_mark")
_MARK: Final = query("search", "mark")
_MOVE_MARK: Final = query("search", "move_mark")
_ADD_WORDS: Final = query("search", "add_words")
_ADD_PARTS: Final = query("search", "add_parts")
_UNINDEXED: Final = query("search", "unindexed")
_HASH_AT: Final = query("journal", "hash_at")

_PAGE: Final = 100  # events a transaction: closing waits for one, some 20 ms
_SETTLE_SECONDS: Final = 0.05  # after a commit: a burst is indexed once it is over, not beside it
_RETRY_SECONDS: Final = 5.0  # after a failure, e.g. a full disk; searches read the journal directly meanwhile
_LONGEST_PAUSE_SECONDS: Final = 1.0
# Whoever writes shares the interpreter with this thread, so it rests as long as it worked; nine times as long while
# there are commits, unless so much waits that searches would have to read it for a second.
_REST: Final = 1
_REST_BESIDE_COMMITS: Final = 9
_MUCH: Final = 20_000
_LARGEST: Final = 2**63 - 1
_log: Final = logging.getLogger(__name__)


class Indexer(Generic[E]):
    """Keeps the index at `path` close behind the journal. One for a journal that is open for writing."""

    def __init__(self, path: Path, reader: Reader[E]) -> None:
        self._path = path
        self._reader = reader
        self._work = threading.Event()
        self._work.set()  # whatever the last process left undone
        self._closing = threading.Event()
        self._connection: sqlite3.Connection | None = None
        self._told = ""
        self._last_seq = 0
        self._reached = 0
        self._moved = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"index {path.name}", daemon=True)
        self._thread.start()

    def wake(self, last_seq: int) -> None:
        """Say that the journal reaches up to `last_seq`; never waits."""
        self._last_seq = last_seq
        if not self._work.is_set():
            self._work.set()

    def await_seq(self, seq: int, timeout_seconds: float) -> bool:
        """Wait until the index reaches event `seq`; False when the time is over first."""
        with self._moved:
            return self._moved.wait_for(lambda: self._reached >= seq, timeout_seconds)

    def close(self) -> None:
        """End the thread after the page it is at."""
        self._closing.set()
        self._work.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._work.wait()
            self._closing.wait(_SETTLE_SECONDS)
            self._work.clear()
            try:
                self._fill()
            except Exception as error:  # noqa: BLE001 - told, tried again; searches read the journal meanwhile
                self._tell(error)
                self._disconnect()
                if schema.is_damage(error):
                    self._delete()
                else:
                    self._closing.wait(_RETRY_SECONDS)
                self._work.set()
        self._disconnect()

    def _fill(self) -> None:
        if self._connection is None:
            self._connection = self._open()
        connection = self._connection
        after = self._reach(connection.execute(_MARK).fetchone()[1])
        while not self._closing.is_set():
            began, seen = time.monotonic(), self._last_seq
            rows = self._reader.query(_UNINDEXED, (after, _LARGEST, _PAGE))
            if not rows:
                return
            self._add(connection, rows)
            after = self._reach(rows[-1][0])
            busy = self._last_seq != seen and seen - after < _MUCH
            rest = (time.monotonic() - began) * (_REST_BESIDE_COMMITS if busy else _REST)
            self._closing.wait(min(rest, _LONGEST_PAUSE_SECONDS))

    def _reach(self, seq: int) -> int:
        with self._moved:
            self._reached = seq
            self._moved.notify_all()
        return seq

    def _add(self, connection: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for *row, _ in rows:
                stored = self._reader.stored(*row)
                folded = analyser.fold(self._reader.codec.text(stored.event))
                if folded:
                    connection.execute(_ADD_WORDS, (stored.seq, " ".join(analyser.tokens(folded))))
                    connection.execute(_ADD_PARTS, (stored.seq, folded))
            connection.execute(_MOVE_MARK, (analyser.VERSION, rows[-1][0], rows[-1][5]))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _open(self) -> sqlite3.Connection:
        """Open the index; make it anew where it is missing or of another analyser or journal."""
        schema.create(self._path)
        connection = schema.connect(self._path)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes is indexed again
            if not self._fits(connection):
                connection.execute("BEGIN IMMEDIATE")
                for statement in split(script("search_index")):
                    connection.execute(statement)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _fits(self, connection: sqlite3.Connection) -> bool:
        if not connection.execute(_HAS_MARK).fetchone()[0]:
            return False
        version, seq, digest = connection.execute(_MARK).fetchone()
        if seq == 0:
            return True
        return version == analyser.VERSION and self._reader.query(_HASH_AT, (seq,)) == [(digest,)]

    def _tell(self, error: Exception) -> None:
        if (message := str(error)) != self._told:
            self._told = message
            _log.warning("the search index %s is behind and searches are slower: %s", self._path, message)

    def _delete(self) -> None:
        """Delete a damaged index, to be made anew; the journal has everything."""
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._reader.forget_index()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):  # nothing here is worth more than the journal it came from
                connection.close()
