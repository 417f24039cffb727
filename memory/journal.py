"""A group's journal: an append-only, hash-chained log of events in one SQLite file (JRN-1, JRN-5).

It joins the lock, the writer thread, the readers and the search index. Below it the rest of `memory/`; above it the
host's record, which supplies the events. It refuses to know any event: a codec turns them into bytes and back, and
what is to be derived from them in the same transaction is handed in.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, Generic, Self, TypeVar

from memory import schema
from memory.audit import check_tail
from memory.entries import Codec, E, Encoded, Hit, Stored, Transaction, Verdict
from memory.errors import JournalDamaged
from memory.indexer import Indexer
from memory.lock import WriteLock
from memory.reader import Reader
from memory.statements import migrations, query, split
from memory.unit import Pen, Project, Unit
from memory.writer import Order, Writer

__all__ = ["Codec", "Encoded", "Hit", "Journal", "Stored", "Transaction", "Unit", "Verdict"]

_TIP: Final = query("journal", "tip")
_TAKE_OVER: Final = query("journal", "take_over")
_PAGE: Final = query("journal", "oldest")
_PAGE_ROWS: Final = 1_000
_LARGEST: Final = 2**63 - 1

T = TypeVar("T")


class Journal(Generic[E]):
    """A journal held for writing. Every method may be called from any thread."""

    def __init__(self, path: Path, lock: WriteLock, writer: Writer[E], reader: Reader[E], indexer: Indexer[E]) -> None:
        """Made by `open`."""
        self.path = path
        self.generation = writer.generation
        self._codec = reader.codec
        self._lock = lock
        self._writer = writer
        self._reader = reader
        self._indexer = indexer
        self._read_to = 0  # the last event that anybody read here
        self._closed = False

    @classmethod
    def open(  # noqa: PLR0913 - all but three have defaults, and a journal is opened in two places
        cls,
        path: Path,
        codec: Codec[E],
        now_us: Callable[[], int],
        *,
        schemas: Sequence[str] = (),
        project: Project[E] | None = None,
        fault: Callable[[str], None] = lambda _: None,
        wait_seconds: float = 10.0,
    ) -> "Journal[E]":
        """Open `path` for writing, making it if there is none.

        Args:
            path: The file; `.lock` and `.search` stand beside it.
            codec: The events' encoding; called from several threads.
            now_us: The time in microseconds since 1970, UTC.
            schemas: SQL scripts that make the projections' tables, run at every opening.
            project: Called for every appended event in its unit's savepoint with the event as it was stored.
            fault: Called with `journal.before_commit` and `journal.after_commit` at these instants.
            wait_seconds: How long to wait for another writer to end.

        Raises:
            JournalBusy: another process still holds it.
            JournalDamaged: the file does not read, or the end of its chain does not fit.
            JournalTooNew: a newer program wrote it.
            JournalUnwritable: it cannot be written.
        """
        lock = WriteLock.take(beside(path, "lock"), wait_seconds)
        try:
            pen = Pen(codec, now_us, project)
            generation = _prepare(path, schemas, pen)
            reader = Reader(path, codec, index=beside(path, "search"))
            writer = Writer(path, generation, pen, fault)
            indexer = Indexer(beside(path, "search"), reader)
        except BaseException:
            lock.release()
            raise
        writer.listen(indexer.wake)
        return cls(path, lock, writer, reader, indexer)

    @staticmethod
    def reader(path: Path, codec: Codec[E]) -> Reader[E]:
        """Open `path` for reading only, beside whoever writes it; raise JournalDamaged or JournalTooNew."""
        return Reader[E].open(path, codec, index=beside(path, "search"))

    def commit(self, unit: Callable[[Unit[E]], T], admit: Callable[[], None] | None = None) -> Future[T]:
        """Run `unit` on the writer thread, in a savepoint of its own, and resolve when it is durable.

        `admit` is called there first; if it or the unit raises, this unit alone is rolled back and its future raises
        the same. A failed write raises JournalUnwritable for every unit of the batch, and later units are tried anew.
        A future that is cancelled before its turn leaves nothing behind; after that it can no longer be cancelled.
        Never wait for another unit inside a unit: one thread runs them all.
        """
        future: Future[T] = Future()
        self._writer.put(Order(unit, admit, future))
        return future

    def append(self, *events: E, admit: Callable[[], None] | None = None) -> Future[tuple[int, ...]]:
        """Add events as one unit; the future gives their numbers. Encoding is done here, on the caller's thread."""
        try:
            ready = [self._codec.encode(event) for event in events]
        except Exception as error:  # noqa: BLE001 - reported where every other failure of a unit is
            failed: Future[tuple[int, ...]] = Future()
            failed.set_exception(error)
            return failed
        return self.commit(lambda unit: unit.append_ready(ready), admit)

    def last_seq(self) -> int:
        """Return the number of the last durable event, 0 for none; of no event that was read from here is it behind."""
        return max(self._writer.last_seq, self._read_to)

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
        """Return events, see `Reader.read`."""
        found = self._reader.read(after, limit=limit, turn=turn, kinds=kinds, newest_first=newest_first, before=before)
        if found:  # the file is ahead of the writer's thread for a moment after each commit
            self._read_to = max(self._read_to, found[0].seq, found[-1].seq)
        return found

    def body(self, digest: str) -> bytes:
        """Return a stored body; raise MissingBody."""
        return self._reader.body(digest)

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one read over events and projections, see `Reader.query`."""
        return self._reader.query(sql, parameters)

    def search(self, text: str, *, limit: int = 20, newest_first: bool = False, before: int | None = None) -> list[Hit]:
        """Search everything said and done, see `Reader.search`."""
        return self._reader.search(text, limit=limit, newest_first=newest_first, before=before)

    def await_index(self, timeout_seconds: float) -> bool:
        """Wait until the search index holds all that is durable now; searches are right before that, only slower."""
        return self._indexer.await_seq(self.last_seq(), timeout_seconds)

    def verify(self) -> Verdict:
        """Check the whole file and name the first row that does not fit."""
        return self._reader.verify()

    def difference(
        self, tables: Mapping[str, str], project: Project[E], *, prepare: Callable[[Transaction], None]
    ) -> str:
        """Return in what the projections differ from what the events give, see `Reader.difference`."""
        return self._reader.difference(tables, project, prepare)

    def listen(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` with the last sequence after each commit, on the writer thread; return how to end that."""
        return self._writer.listen(callback)

    def replay(self, project: Project[E], *, prepare: Callable[[Transaction], None] | None = None) -> int:
        """Run `prepare`, then `project` over all events from the first, as one unit; return how many there were.

        `prepare` drops and makes the tables that are rebuilt. Other units wait meanwhile. Blocks; not for units.
        """

        def unit(work: Unit[E]) -> int:
            if prepare is not None:
                prepare(work.transaction)
            return _replay(work, self._reader, project)

        return self.commit(unit).result()

    def close(self) -> None:
        """Commit what waits, fold the log into the file and let others write; closing twice is no harm."""
        if self._closed:
            return
        self._closed = True
        self._indexer.close()
        self._writer.close()
        self._reader.close()
        # The last connection to close writes the log back and removes it. What fails here fails no event: they are
        # durable in the log, and the next opening reads it.
        with contextlib.suppress(sqlite3.Error):
            schema.connect(self.path).close()
        self._lock.release()

    def __enter__(self) -> Self:
        """Return the journal itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def beside(path: Path, what: str) -> Path:
    """Return the path of a journal's side file, e.g. `journal.db.lock`."""
    return path.with_name(f"{path.name}.{what}")


def _prepare(path: Path, schemas: Sequence[str], pen: Pen[Any]) -> int:
    """Make the tables, check the chain's end, begin a new generation and return it; the lock is held."""
    try:
        schema.create(path)
        with contextlib.closing(schema.connect(path)) as connection:
            schema.migrate(connection, path, migrations())
            check_tail(connection)
            connection.execute("BEGIN IMMEDIATE")
            for statement in (each for script in schemas for each in split(script)):
                connection.execute(statement)
            connection.execute(_TAKE_OVER).fetchall()
            generation, pen.seq, pen.hash = connection.execute(_TIP).fetchone()
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        if schema.is_damage(error):
            message = f"{path} is damaged ({error}); restore a backup"
            raise JournalDamaged(message) from error
        raise schema.unwritable(path, error) from error
    except OSError as error:
        raise schema.unwritable(path, error) from error
    return int(generation)


def _replay(work: Unit[E], reader: Reader[E], project: Project[E]) -> int:
    after = count = 0
    while rows := work.transaction.execute(_PAGE, (after, _LARGEST, None, _PAGE_ROWS)).fetchall():
        for row in rows:
            project(work.transaction, reader.stored(*row))
        after = rows[-1][0]
        count += len(rows)
    return count
