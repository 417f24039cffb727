"""The one thread that writes a journal: it gathers waiting units into a batch and commits them together.

Below it units, chain and schema; above it the journal, which hands units in from any thread. It knows nothing of
locks between processes, only the generation it writes under.
"""

import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, Generic

import msgspec

from memory.entries import E
from memory.errors import JournalClosed, JournalError, JournalSuperseded, JournalUnwritable
from memory.schema import connect, is_disk_failure, unwritable
from memory.statements import query
from memory.unit import Pen, Unit

_TIP: Final = query("journal", "tip")
_MOVE_TIP: Final = query("journal", "move_tip")
_BATCH_UNITS: Final = 256  # a batch's first unit waits for its last: some 5 ms at most
_PATIENCE: Final = 0.5
_LONGEST_PATIENCE_SECONDS: Final = 0.001
_log: Final = logging.getLogger(__name__)


class Order(msgspec.Struct, Generic[E], frozen=True):
    """A unit that waits for the writer."""

    unit: Callable[[Unit[E]], Any]
    admit: Callable[[], None] | None
    future: Future[Any]


class Writer(Generic[E]):
    """Commits units in the order they come, many to one fsync, each in a savepoint of its own."""

    def __init__(self, path: Path, generation: int, pen: Pen[E], fault: Callable[[str], None]) -> None:
        """Write `path` under `generation`; `pen` stands at the end of the chain."""
        self.generation = generation
        self.last_seq = pen.seq
        self._path = path
        self._pen = pen
        self._fault = fault
        self._connection: sqlite3.Connection | None = None
        self._orders: queue.SimpleQueue[Order[E] | None] = queue.SimpleQueue()
        self._batch: list[Order[E]] = []
        self._crowd = 1  # units that were under way at once when the last batch ended
        self._patience = 0.0  # seconds to wait for that many
        self._ended: JournalError | None = None
        self._listeners: tuple[Callable[[int], None], ...] = ()
        self._listening = threading.Lock()
        # A daemon: a program that ends without closing its journal must not hang, and loses nothing confirmed.
        self._thread = threading.Thread(target=self._run, name=f"journal {path.name}", daemon=True)
        self._thread.start()

    def put(self, order: Order[E]) -> None:
        """Queue a unit; its future resolves when it is durable, or fails at once when nobody writes any more."""
        self._orders.put(order)
        if self._ended is not None:  # looked at after the put, so that no order slips between the thread's end and this
            self._refuse_rest(self._ended)

    def listen(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call `callback` on the writer thread after each commit, with the last sequence; return how to end that."""
        with self._listening:
            self._listeners = (*self._listeners, callback)
        return lambda: self._unlisten(callback)

    def close(self) -> None:
        """Commit what waits, then end the thread."""
        self._orders.put(None)
        self._thread.join()

    def _unlisten(self, callback: Callable[[int], None]) -> None:
        with self._listening:
            self._listeners = tuple(each for each in self._listeners if each is not callback)

    def _run(self) -> None:
        ended: JournalError = JournalClosed()
        try:
            while self._gather():
                if self._batch:
                    self._write(self._batch)
        except BaseException as error:  # noqa: BLE001 - whatever ends this thread, nobody may wait for it in vain
            _log.critical("the writer of %s ended", self._path, exc_info=error)
            ended = JournalUnwritable(f"the writer of {self._path} ended ({error!r}); open the journal again")
        self._ended = ended
        for order in self._batch:
            if not order.future.done():
                order.future.set_exception(ended)
        self._refuse_rest(ended)
        self._disconnect()

    def _refuse_rest(self, ended: JournalError) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                order = self._orders.get_nowait()
                if order is not None and order.future.set_running_or_notify_cancel():
                    order.future.set_exception(ended)

    def _gather(self) -> bool:
        """Wait for units and take those that wait; False at the end. One whose future was cancelled is left out."""
        batch: list[Order[E]] = []
        self._batch = batch
        order = self._orders.get()
        deadline = time.monotonic() + self._patience
        while order is not None:
            if order.future.set_running_or_notify_cancel():
                batch.append(order)
            if len(batch) >= _BATCH_UNITS:
                return True
            try:
                order = self._next(len(batch), deadline)
            except queue.Empty:
                return True
        if batch:
            self._orders.put(None)  # the end was seen too early; after this batch it is seen again
        return bool(batch)

    def _next(self, gathered: int, deadline: float) -> Order[E] | None:
        """Return another unit that waits, or comes in a moment: as many as a moment ago share one fsync, not two."""
        if gathered < self._crowd and (remaining := deadline - time.monotonic()) > 0:
            return self._orders.get(timeout=remaining)
        return self._orders.get_nowait()

    def _write(self, batch: list[Order[E]]) -> None:
        results: list[tuple[Order[E], Any]] = []
        try:
            connection = self._begin()
            for order in batch:
                self._run_unit(connection, order, results)
            if self._pen.seq != self.last_seq:
                connection.execute(_MOVE_TIP, (self._pen.seq, self._pen.hash))
            self._fault("journal.before_commit")
            began = time.monotonic()
            connection.execute("COMMIT")
            # Waiting for company pays while it is shorter than the commit that it saves.
            self._patience = min((time.monotonic() - began) * _PATIENCE, _LONGEST_PATIENCE_SECONDS)
        except Exception as error:  # noqa: BLE001 - handed to everybody who waits for this batch
            self._abandon(batch, error)
            return
        self._fault("journal.after_commit")
        self.last_seq = self._pen.seq
        self._crowd = len(batch) + self._orders.qsize()
        for order, result in results:
            order.future.set_result(result)
        self._tell()

    def _begin(self) -> sqlite3.Connection:
        """Begin a transaction and look who may write: the tip in the file decides, not what this thread remembers."""
        if self._connection is None:
            self._connection = connect(self._path)
        self._connection.execute("BEGIN IMMEDIATE")
        generation, seq, digest = self._connection.execute(_TIP).fetchone()
        if generation != self.generation:
            message = f"{self._path} was taken over by generation {generation}; this is {self.generation}, end it"
            raise JournalSuperseded(message)
        self._pen.seq, self._pen.hash = seq, digest
        self.last_seq = seq
        return self._connection

    def _run_unit(self, connection: sqlite3.Connection, order: Order[E], results: list[tuple[Order[E], Any]]) -> None:
        pen = self._pen
        mark = pen.seq, pen.hash
        unit = Unit(connection, pen)
        connection.execute("SAVEPOINT unit")
        try:
            if order.admit is not None:
                order.admit()
            result = order.unit(unit)
        except BaseException as error:
            if is_disk_failure(error) or not connection.in_transaction:
                raise _BatchLost from error
            connection.execute("ROLLBACK TO unit")
            pen.seq, pen.hash = mark
            order.future.set_exception(error)
        else:
            results.append((order, result))
        finally:
            unit.end()
        connection.execute("RELEASE unit")

    def _abandon(self, batch: list[Order[E]], error: Exception) -> None:
        """Roll the batch back and tell everybody in it; the next one begins with a fresh connection."""
        cause = (error.__cause__ or error) if isinstance(error, _BatchLost) else error
        self._disconnect()
        for order in batch:
            if not order.future.done():  # a unit that failed by itself was told so
                # One exception each: they are raised in several threads at once.
                superseded = isinstance(cause, JournalSuperseded)
                failure = JournalSuperseded(str(cause)) if superseded else unwritable(self._path, cause)
                failure.__cause__ = cause
                order.future.set_exception(failure)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):  # a disk that fails may fail this too; closing rolls back
                connection.close()

    def _tell(self) -> None:
        for callback in self._listeners:
            try:
                callback(self.last_seq)
            except Exception:  # noqa: BLE001 - logged; the writer serves others too
                _log.exception("a listener of %s failed and is not called again", self._path)
                self._unlisten(callback)


class _BatchLost(Exception):
    """The transaction is gone, and with it every unit of the batch; the cause is attached."""
