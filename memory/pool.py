"""Read connections to one file, kept open between uses and lent to one thread at a time.

Below it the schema; above it the journal's reader. SQLite's errors are translated here, at the edge of every read.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Final

from memory.errors import JournalClosed, JournalDamaged, QueryRefused
from memory.schema import code_of, connect_reader, is_damage

_IDLE: Final = 8  # connections kept open; more readers at once open their own for a while


class Pool:
    """Read connections to one file, lent to one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._guard = threading.Lock()

    @contextlib.contextmanager
    def borrow(self) -> Generator[sqlite3.Connection]:
        """Lend a connection; SQLite's errors leave as JournalDamaged or QueryRefused, and the connection is dropped."""
        with self._guard:
            if self._closed:
                raise JournalClosed
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None:
                connection = connect_reader(self.path)
            yield connection
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise self._translated(error) from error
        except BaseException:
            if connection is not None:
                self._give_back(connection)
            raise
        self._give_back(connection)

    def close(self) -> None:
        """Close the idle connections; those that are lent close when they come back."""
        self._closed = True
        self.drop_idle()

    def drop_idle(self) -> None:
        """Close the connections nobody uses; the next use opens the file anew."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            keep = not self._closed and len(self._idle) < _IDLE and not connection.in_transaction
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def _translated(self, error: sqlite3.Error) -> JournalDamaged | QueryRefused:
        if is_damage(error):
            return JournalDamaged(f"{self.path} is damaged ({error}); verify it and restore a backup")
        if code_of(error) == sqlite3.SQLITE_CANTOPEN:
            return JournalDamaged(f"{self.path} cannot be opened ({error}); check that it exists and may be read")
        return QueryRefused(f"{self.path.name}: {error}")
