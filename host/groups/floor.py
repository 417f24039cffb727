"""Who has the chat lane: the turn that runs, what was steered into it, and what waits, under one lock.

`lanes.chat` decides who waits for whom; this keeps its answers together with the messages themselves, and hands each
answer to the journal in the order in which they fell. A message in it has a turn only if that turn has begun. Nothing
here waits: who asked awaits the journal's word. It refuses to know doors and threads; how a turn runs and ends is
`host.groups.runs`.
"""

import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from host.errors import AuditFailure
from host.groups.current import STOPPED, SUPERSEDED, Current
from host.groups.placing import dropping, kept_of, placing, priority_of
from host.groups.port import Queued
from host.groups.views import instant
from host.record.events import GroupEvent, MessageReceived, StopRequested
from host.record.record import Record
from host.record.rows import MessageRow, TurnRow
from host.turn.beginning import new_turn_id
from host.turn.ending import Verdict, end_turn
from lanes.chat import ChatQueue, Disposition, Placed
from lanes.errors import AlreadyKnown, IllegalMove, UnknownMessage
from lanes.events import MessagePlaced, MessageReleased

_LOG: Final = logging.getLogger(__name__)

Posted = concurrent.futures.Future[tuple[int, ...]]
"""What the journal will say of the events that were handed to it."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message, and the journal's word on it."""

    row: MessageRow
    placed: Placed
    turn: str  # the turn that it begins, enters or goes on with; empty while it has none
    current: Current | None  # the turn that runs, or is about to, now that this is decided
    posted: Posted


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was taken out, and the journal's word on it."""

    row: MessageRow
    held: bool
    posted: Posted


class Floor:
    """The order of one group's chat lane."""

    def __init__(self, record: Record, lane: str, queue_limit: int, launch: Callable[[Current], None]) -> None:
        """`launch` starts the run of a turn that has none; it is called under the lock and must not wait."""
        self._record = record
        self._lane = lane
        self._limit = queue_limit
        self._start_run = launch
        self._lock = threading.RLock()
        self._queue = ChatQueue(queue_limit)
        self._waiting: dict[str, MessageRow] = {}
        self._current: Current | None = None
        self._halted = False
        self._draining = False

    @property
    def current(self) -> Current | None:
        """The turn that runs, or is about to."""
        return self._current

    def restore(self, running: MessageRow | None, waiting: Sequence[MessageRow]) -> None:
        """Take back what ran and what waited when the last process ended, and go on with it."""
        now_us = self._record.now_us()
        with self._lock:
            self._waiting = {row.id: row for row in waiting}
            kept = [kept_of(row, held=row.state == "held") for row in waiting]
            unattended = running is not None and running.unattended
            id_ = running.id if running else None
            self._queue = ChatQueue.restore(id_, kept, now_us, self._limit, unattended=unattended)
            if running is not None:
                self._current = Current(running, running.turn or new_turn_id(now_us))
                self._current.due = True
            self._proceed()

    def place(self, row: MessageRow, received: MessageReceived | None = None) -> Decided:
        """Say what becomes of a message; raise QueueFull or AlreadyKnown. It runs once `launch` is called for it."""
        with self._lock:
            now_us = self._record.now_us()
            placed = self._queue.offer(row.id, priority_of(row), now_us, unattended=row.unattended)
            return self._decided(row, placed, received)

    def release(self, message: str) -> Decided:
        """Let a held message go on; raise IllegalMove."""
        with self._lock:
            placed = self._queue.release(message, self._record.now_us())
            return self._decided(self._waiting[message], placed, MessageReleased(message=message))

    def drop(self, message: str, why: str) -> Removed:
        """Forget a message that waits, and end the turn that it has, if any; raise IllegalMove."""
        with self._lock:
            held = any(entry.message == message for entry in self._queue.snapshot(self._record.now_us()).held)
            current = self._current
            if current is not None and current.waits and current.message.id == message:
                row = msgspec.structs.replace(current.message, turn=current.turn)
                posted = self._record.journal.commit(dropping(row, row.turn, self._lane, why))
                self.ended(current)
            else:
                self._queue.drop(message)
                row = self._waiting.pop(message)
                posted = self._record.journal.commit(dropping(row, row.turn, self._lane, why))
            return Removed(row=row, held=held, posted=posted)

    def end_parked(self, row: TurnRow, verdict: Verdict) -> "Current | concurrent.futures.Future[tuple[int, bool]]":
        """End a turn that waits for a person, or for the lane after its answer; the current one is to be brought to it.

        Its end is handed to the journal here, so that whoever takes it up after this is refused there.
        """
        with self._lock:
            current = self._current
            if current is not None and current.turn == row.turn:
                current.stopped = current.stopped or verdict
                return current
            with contextlib.suppress(UnknownMessage):
                self._queue.drop(row.message)
            self._waiting.pop(row.message, None)
            return self._record.journal.commit(end_turn(row.turn, verdict))

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

    def put_back(self, row: MessageRow, *, held: bool) -> None:
        """Let a message wait again whose going the journal did not take: there it waits still."""
        with self._lock, contextlib.suppress(AlreadyKnown):  # it found its way back by itself
            self._queue.put_back(kept_of(row, held=held), self._record.now_us())
            self._waiting[row.id] = row
            self._proceed()

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
        """Start the run of a turn whose message is durable, unless it has one or is over."""
        with self._lock:
            if self._current is current:
                self._launch(current)

    def halt(self) -> None:
        """Start nothing until `go_on`."""
        with self._lock:
            self._halted = True

    def drain(self) -> None:
        """Start nothing any more."""
        with self._lock:
            self._draining = True

    def go_on(self) -> None:
        """Start what could not start before."""
        with self._lock:
            self._halted = False
            self._proceed()

    def ended(self, current: Current) -> None:
        """The turn is over: start what comes next."""
        left = self._never_entered(current)
        with self._lock:
            if self._current is current:
                self._current = None
                self._queue.left()
                for row in left:
                    self._wait_again(row, held=current.stopped is STOPPED)
                self._proceed()
        current.leave()

    def take_steered(self, current: Current) -> list[MessageRow]:
        """Hand the running turn what was steered into it."""
        with self._lock:
            if self._current is not current:
                return []
            taken = [self._waiting.pop(message) for message in self._queue.take_steered()]
            current.taken += taken
            return taken

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
        """Return the messages that wait or are held, first the one that only waits for the group to go on."""
        with self._lock:
            snapshot = self._queue.snapshot(self._record.now_us())
            current = self._current
            first = () if current is None or not current.waits else (_first(current),)
            return first + tuple(
                Queued(
                    id=entry.message,
                    text=self._waiting[entry.message].text,
                    priority=entry.priority.value,
                    state=entry.disposition.value,
                    position=entry.position + (len(first) if entry.disposition is Disposition.QUEUED else 0),
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
        events = (event,) if before is None else (before, event)
        posted = self._record.journal.commit(placing(*events, turn=row.turn))
        return Decided(row=row, placed=placed, turn=turn, current=self._current, posted=posted)

    def _proceed(self) -> None:
        """Start what may start now: the turn that has the lane, or the message whose turn it is; `_lock` is held."""
        if self._halted or self._draining:
            return  # what waits stays where a Stop holds it and a person sees it
        if self._current is None:
            message = self._queue.start_next(self._record.now_us())
            if message is None:
                return
            row = self._waiting.pop(message)
            self._current = Current(row, row.turn or new_turn_id(self._record.now_us()))
            self._launch(self._current)
        elif self._current.due:
            self._launch(self._current)

    def _launch(self, current: Current) -> None:
        """Have the turn's run started; `_lock` is held."""
        current.due = True
        if current.run is not None or self._halted or self._draining:
            return
        if self._queue.interrupted:  # a `now` waits for its end already
            current.stopped = current.stopped or SUPERSEDED
        self._start_run(current)

    def _wait_again(self, row: MessageRow, *, held: bool) -> None:
        """Let a message wait that a turn took and did not use; `_lock` is held."""
        self._waiting[row.id] = row
        self._queue.put_back(kept_of(row, held=held), self._record.now_us())
        if held:
            self._record.post(MessagePlaced(message=row.id, disposition="held"))

    def _never_entered(self, current: Current) -> list[MessageRow]:
        """Return what the turn took and could not make a part of itself, because the journal or a Stop was before it.

        The turn is over, so the journal has had its last word on each of them.
        """
        try:
            rows = [(row, self._record.message(row.id)) for row in current.taken]
        except AuditFailure:
            _LOG.exception("what turn %s did not use is found again at the next start", current.turn)
            return []
        return [row for row, now in rows if now is not None and now.state == "steered"]


def _first(current: Current) -> Queued:
    row = current.message
    return Queued(id=row.id, text=row.text, priority=row.priority, state="queued", position=1, at=instant(row.at_us))
