"""Reading a journal from any thread and any process, without a lock.

Below it schema, bodies, audit and search; the journal above has one for its own reads, another process opens one
alone. Nothing is ever written here.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Generic

import msgspec

from memory import audit, bodies
from memory.derived import Replayed, private
from memory.entries import Codec, E, Hit, Stored, Transaction, Verdict
from memory.errors import JournalDamaged, MissingBody, QueryRefused, SearchError
from memory.pool import Pool
from memory.schema import version_of
from memory.search import Query, search
from memory.statements import migrations, query

_BODY: Final = query("journal", "body")
_LAST_SEQ: Final = query("journal", "last_seq")
_PAGES: Final = {  # by whether the newest come first, and whether they are of one turn
    (False, False): query("journal", "oldest"),
    (False, True): query("journal", "oldest_of_turn"),
    (True, False): query("journal", "newest"),
    (True, True): query("journal", "newest_of_turn"),
}
_LARGEST: Final = 2**63 - 1


class Reader(Generic[E]):
    """The read side of a journal; all methods may be called from any thread and see everything committed."""

    def __init__(self, path: Path, codec: Codec[E], *, index: Path) -> None:
        """Read `path`; searches use the index at `index` as far as it reaches."""
        self.path = path
        self.codec = codec
        self._pool = Pool(path)
        self._index = Pool(index)

    @classmethod
    def open(cls, path: Path, codec: Codec[E], *, index: Path) -> "Reader[E]":
        """Open an existing journal; raise JournalDamaged or JournalTooNew, also where there is none."""
        reader = cls(path, codec, index=index)
        try:
            with reader._pool.borrow() as connection:
                found = version_of(connection, path, len(migrations()))
        except BaseException:
            reader.close()
            raise
        if found == 0:
            reader.close()
            message = f"{path} is not a journal yet; it becomes one when it is opened for writing"
            raise JournalDamaged(message)
        return reader

    def last_seq(self) -> int:
        """Return the number of the last event, 0 for none."""
        with self._pool.borrow() as connection:
            return int(connection.execute(_LAST_SEQ).fetchone()[0])

    def read(
        self,
        after: int = 0,
        *,
        limit: int = 1000,
        turn: str | None = None,
        kinds: Collection[str] | None = None,
        newest_first: bool = False,
        before: int | None = None,
    ) -> list[Stored[E]]:
        """Return up to `limit` events with numbers greater than `after` and less than `before`.

        `turn` and `kinds` narrow them; the oldest come first unless `newest_first`. Raises JournalDamaged.
        """
        wanted = None if kinds is None else msgspec.json.encode(sorted(kinds)).decode()
        bounds = (after, _LARGEST if before is None else before, wanted, limit)
        parameters = bounds if turn is None else (*bounds, turn)
        sql = _PAGES[newest_first, turn is not None]
        with self._pool.borrow() as connection:
            rows = connection.execute(sql, parameters).fetchall()
        return [self.stored(*row) for row in rows]

    def body(self, digest: str) -> bytes:
        """Return the body stored under a hash; raise MissingBody, or JournalDamaged if it is not what was stored."""
        try:
            key = bytes.fromhex(digest)
        except ValueError:
            key = b""
        with self._pool.borrow() as connection:
            row = connection.execute(_BODY, (key,)).fetchone()
        if row is None:
            message = f"{self.path.name} holds no body {digest!r}"
            raise MissingBody(message)
        return bodies.unpack(key, row[0])

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one read and return its rows; raise QueryRefused for what does not run or would write."""
        with self._pool.borrow() as connection:
            return connection.execute(sql, parameters).fetchall()

    def search(
        self,
        text: str,
        *,
        limit: int = 20,
        newest_first: bool = False,
        before: int | None = None,
    ) -> list[Hit]:
        """Return up to `limit` events that hold all words of `text`, the best first.

        `text` is plain: nothing in it is syntax. Words are found in their inflections, parts of words from three
        characters on. Ranked are the newest few thousand matches; `newest_first` goes by time instead, and `before`
        continues below a number. Raises SearchError.
        """
        try:
            asked = Query.read(text, limit=limit, newest_first=newest_first, before=before)
            with self._pool.borrow() as connection, self._index_as_it_is() as index:
                return search(connection, index, self.codec, asked)
        except (JournalDamaged, QueryRefused) as error:
            message = f"the search failed: {error}"
            raise SearchError(message) from error

    def verify(self) -> Verdict:
        """Check the whole file; takes about 5 s for a million events."""
        with self._pool.borrow() as connection:
            return audit.verify(connection)

    def difference(
        self,
        tables: Mapping[str, str],
        project: Callable[[Transaction, Stored[E]], None],
        prepare: Callable[[Transaction], None],
    ) -> str:
        """Return in what the projections differ from what the events give, in a sentence; empty for nothing.

        `prepare` makes the tables, `project` fills them from each event, `tables` names them, each with a query of all
        its rows in an order. All but the last events are replayed before the state is taken in which tables and events
        are compared, so that no long snapshot keeps the log from being folded. Raises JournalError.
        """
        with private(prepare) as scratch:
            replayed = Replayed(scratch, self.stored, project)
            more = True
            while more:
                with self._pool.borrow() as connection:
                    more = replayed.page(connection)
            with self._pool.borrow() as connection:
                connection.execute("BEGIN")
                try:
                    while replayed.page(connection):
                        pass
                    return replayed.difference(connection, tables)
                finally:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close every connection; later reads raise JournalClosed."""
        self._pool.close()
        self._index.close()

    def forget_index(self) -> None:
        """Let go of the search index, which was made anew."""
        self._index.drop_idle()

    @contextlib.contextmanager
    def _index_as_it_is(self) -> Generator[sqlite3.Connection | None]:
        if not self._index.path.exists():
            yield None
            return
        with self._index.borrow() as connection:
            yield connection

    def stored(self, seq: int, at_us: int, turn: str, kind: str, body: bytes) -> Stored[E]:
        """Return a row of `events` decoded; raise JournalDamaged naming it."""
        try:
            event = self.codec.decode(kind, body)
        except Exception as error:
            message = f"event {seq} of kind {kind!r} in {self.path} cannot be decoded ({error}); verify the journal"
            raise JournalDamaged(message, first_bad_seq=seq) from error
        return Stored(seq, at_us, turn, kind, event)
