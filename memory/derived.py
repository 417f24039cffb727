"""Whether tables that follow from the events say what the events give: a replay beside the journal, and a comparison.

The replay goes into a private database that SQLite keeps in a nameless file and throws away, so memory stays bounded
and nothing is left behind. Below it the codec and the SQL; above it the reader. It knows neither tables nor events.
"""

import contextlib
import itertools
import sqlite3
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, Generic

from memory.entries import E, Stored, Transaction
from memory.statements import query

_PAGE: Final = query("journal", "oldest")
_PAGE_ROWS: Final = 1_000
_LARGEST: Final = 2**63 - 1

Row = tuple[Any, ...]


class Replayed(Generic[E]):
    """A private database with the tables as the events so far give them."""

    def __init__(
        self,
        scratch: sqlite3.Connection,
        decode: Callable[..., Stored[E]],
        project: Callable[[Transaction, Stored[E]], None],
    ) -> None:
        """Made by `private`; `decode` makes an event of a row, `project` writes what follows from it."""
        self._scratch = scratch
        self._decode = decode
        self._project = project
        self._after = 0

    def page(self, journal: sqlite3.Connection) -> bool:
        """Replay the next events; tell whether there may be more."""
        rows = journal.execute(_PAGE, (self._after, _LARGEST, None, _PAGE_ROWS)).fetchall()
        for row in rows:
            self._project(self._scratch, self._decode(*row))
            self._after = row[0]
        return len(rows) == _PAGE_ROWS

    def difference(self, journal: sqlite3.Connection, tables: Mapping[str, str]) -> str:
        """Return what differs in a sentence, empty for nothing; `tables` has for each a query of all rows in order."""
        for name, rows in tables.items():
            try:
                found = journal.execute(rows)
            except sqlite3.OperationalError as error:
                return f"the derived table {name} cannot be read ({error})"
            for given, kept in itertools.zip_longest(self._scratch.execute(rows), found):
                if given != kept:
                    return f"the derived table {name} differs from what the events give, first at {_named(given, kept)}"
        return ""


@contextlib.contextmanager
def private(prepare: Callable[[Transaction], None]) -> Generator[sqlite3.Connection]:
    """Lend an empty private database that `prepare` has made tables in."""
    with contextlib.closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as scratch:
        scratch.execute("PRAGMA journal_mode = OFF")  # nothing in it is ever taken back
        scratch.execute("BEGIN")
        prepare(scratch)
        yield scratch


def _named(given: Row | None, kept: Row | None) -> str:
    """Return the row by its key, and in what way it differs."""
    if kept is None or given is None:
        row = given if kept is None else kept
        return f"row {row[0] if row else ''!r}, which {'is missing' if kept is None else 'should not be there'}"
    return f"row {kept[0]!r}" if given[0] == kept[0] else f"row {min(given[0], kept[0])!r}"
