"""Who has the chat lane: the turn that runs, what was steered into it, and what waits, under one lock.

`lanes.chat` decides who waits for whom; this keeps its answers together with the messages themselves, and hands each
answer to the journal in the order in which they fell. Nothing here waits: who asked awaits the journal's word. It
refuses to know doors and threads; how a turn runs and ends is `host.groups.runs`.
"""

import concurrent.futures
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from host.groups.current import SUPERSEDED, Current
from host.groups.placing import kept_of, placing
from host.groups.port import Queued
from host.groups.views import instant
from host.record.events import GroupEvent, MessageReceived, StopRequested
from host.record.record import Record
from host.record.rows import MessageRow
from host.turn.beginning import new_turn_id
from host.turn.ending import Verdict
from lanes.chat import ChatQueue, Disposition, Placed
from lanes.errors import IllegalMove
from lanes.events import MessageDropped, MessagePlaced, MessageReleased
from lanes.mailbox import Priority

_LOG: Final = logging.getLogger(__name__)

Posted = concurrent.futures.Future[tuple[int, ...]]
"""What the journal will say of the events that were handed to it."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message, and the journal's word on it."""

    placed: Placed
    turn: str  # the turn that it begins, enters or goes on with; empty while it has none
    current: Current | None  # the turn that runs, or is about to, now that this is decided
    posted: Posted


class Floor:
    """The order of one group's chat lane."""

    def __init__(self, record: Record, queue_limit: int, launch: Callable[[Current], None]) -> None:
        """`launch` starts the run of a turn that has none; it is called under the lock and must not wait."""
        self._record = record
        self._limit = queue_limit
        self._start_run = launch
        self._lock = threading.RLock()
        self._queue = ChatQueue(queue_limit)
        self._waiting: dict[str, MessageRow] = {}
        self._current: Current | None = None

    @property
    def current(self) -> Current | None:
        """The turn that runs, or is about to."""
        return self._current

    def restore(self, running: MessageRow | None, waiting: Sequence[MessageRow]) -> None:
        """Take back what ran and what waited when the last process ended, and go on with it."""
        now_us = self._record.now_us()
        with self._lock:
            self._waiting = {row.id: row for row in waiting}
            kept = [kept_of(row) for row in waiting]
            self._queue = ChatQueue.restore(running.id if running else None, kept, now_us, self._limit)
            if running is None:
                self._begin(self._queue.start_next(now_us))
            else:
                self._current = Current(running, running.turn or new_turn_id(now_us))
                self._launch(self._current)

    def place(self, row: MessageRow, priority: Priority, received: MessageReceived | None = None) -> Decided:
        """Say what becomes of a message; raise QueueFull or AlreadyKnown. It runs once `launch` is called for it."""
        with self._lock:
            placed = self._queue.offer(row.id, priority, self._record.now_us())
            return self._decided(row, placed, received)

    def release(self, message: str) -> Decided:
        """Let a held message go on; raise IllegalMove."""
        with self._lock:
            placed = self._queue.release(message, self._record.now_us())
            return self._decided(self._waiting[message], placed, MessageReleased(message=message))

    def drop(self, message: str, why: str) -> Posted:
        """Forget a message that waits; raise IllegalMove."""
        with self._lock:
            self._queue.drop(message)
            self._waiting.pop(message, None)
            return self._record.post(MessageDropped(message=message, why=why))

    def stop(self, asked: StopRequested, verdict: Verdict) -> tuple[Current | None, int, Posted]:
        """Hold all that waits; return the turn that is to end by `verdict`, and how many messages are held."""
        with self._lock:
            held = self._queue.stopped(self._record.now_us())
            if self._current is not None:
                self._current.stopped = verdict
            placed = [MessagePlaced(turn=self._waiting[id_].turn, message=id_, disposition="held") for id_ in held]
            return self._current, len(held), self._record.post(asked, *placed)

    def withhold(self, message: str) -> MessageRow | None:
        """Take a waiting message out, without a word in the journal; return it, or None when it has moved on."""
        with self._lock:
            try:
                self._queue.drop(message)
            except IllegalMove:
                return None
            return self._waiting.pop(message, None)

    def take_back(self, message: str) -> bool:
        """Undo a placement that the journal did not take; tell whether the lane became free for another turn by it."""
        with self._lock:
            self._waiting.pop(message, None)
            current = self._current
            if current is not None and current.message.id == message and current.run is None:
                self.ended(current)
                return True
            try:
                self._queue.drop(message)
            except IllegalMove:
                _LOG.warning("message %s was refused by the journal after it had moved on", message)
            return False

    def launch(self, current: Current) -> None:
        """Start the run of a turn whose message is durable, unless it has one."""
        with self._lock:
            self._launch(current)

    def go_on(self) -> None:
        """Start the run of the current turn, if it could not start before."""
        with self._lock:
            if self._current is not None:
                self._launch(self._current)

    def ended(self, current: Current) -> None:
        """The turn is over: start what comes next."""
        with self._lock:
            if self._current is current:
                self._current = None
                self._begin(self._queue.ended(self._record.now_us()))
        current.leave()

    def take_steered(self, current: Current) -> list[MessageRow]:
        """Hand the running turn what was steered into it."""
        with self._lock:
            if self._current is not current:
                return []
            return [self._waiting.pop(message) for message in self._queue.take_steered()]

    def close_inbox(self, current: Current) -> bool:
        """Tell whether the turn may end; if so nothing is promised to it any more."""
        with self._lock:
            return self._current is not current or self._queue.close_inbox()

    def seal(self, turn: str) -> None:
        """The turn is about to get its final event: a message that comes now is not promised to it any more."""
        with self._lock:
            if self._current is not None and self._current.turn == turn:
                self._queue.seal_inbox()

    def waiting(self) -> tuple[Queued, ...]:
        """Return the messages that wait or are held."""
        with self._lock:
            snapshot = self._queue.snapshot(self._record.now_us())
            return tuple(
                Queued(
                    id=entry.message,
                    text=self._waiting[entry.message].text,
                    priority=entry.priority.value,
                    state=entry.disposition.value,
                    position=entry.position,
                    at=instant(entry.at_us),
                )
                for entry in (*snapshot.steered, *snapshot.queued, *snapshot.held)
            )

    def _decided(self, row: MessageRow, placed: Placed, before: GroupEvent | None) -> Decided:
        """Hand the placement to the journal, in the order of the decisions; `_lock` is held."""
        turn = row.turn
        if placed.disposition is Disposition.STARTED:
            turn = turn or new_turn_id(self._record.now_us())
            self._waiting.pop(row.id, None)
            self._current = Current(row, turn)
        else:
            self._waiting[row.id] = row
            if placed.disposition is Disposition.STEERED and self._current is not None:
                turn = self._current.turn
        event = MessagePlaced(turn=turn, message=row.id, disposition=placed.disposition.value, position=placed.position)
        posted = self._record.journal.commit(placing(event) if before is None else placing(before, event))
        return Decided(placed=placed, turn=turn, current=self._current, posted=posted)

    def _begin(self, message: str | None) -> None:
        """Start a message that waited; `_lock` is held."""
        if message is None:
            return
        row = self._waiting.pop(message)
        self._current = Current(row, row.turn or new_turn_id(self._record.now_us()))
        self._launch(self._current)

    def _launch(self, current: Current) -> None:
        """Have the turn's run started; `_lock` is held."""
        if current.run is not None:
            return
        if self._queue.interrupted:  # a `now` waits for its end already
            current.stopped = SUPERSEDED
        self._start_run(current)
