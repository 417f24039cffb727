"""The chat lane of a group: accepts messages, runs one turn at a time, interrupts, steers and stops.

`lanes.chat` decides who waits for whom, `lanes.lane` owns the thread, `host.turn` runs the turn; this module joins
them with the journal. It is called from the control door; turns run on the lane's own thread. What decides under
`_lock` never waits: commits are handed over there and awaited outside.
"""

import asyncio
import concurrent.futures
import functools
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

import msgspec

from host.errors import AuditFailure, NotFound, ResourceBusy
from host.groups.placing import AlreadySaid, kept_of, placement_of, placing, row_of
from host.groups.port import Placement, Queued, Say, Stopped
from host.groups.views import instant
from host.record.events import GroupEvent, MessageReceived, StopRequested
from host.record.record import Record
from host.record.rows import MessageRow
from host.stops import Reason
from host.turn.beginning import end_unbegun, new_turn_id
from host.turn.ending import Verdict
from lanes.chat import ChatQueue, Disposition, Placed
from lanes.errors import IllegalMove, LaneClosed, QueueFull, RunCancelled, StaleGeneration
from lanes.events import LaneReplaced, MessageDropped, MessagePlaced, MessageReleased
from lanes.lane import Lane, Run, Token
from lanes.mailbox import Priority

_LOG: Final = logging.getLogger(__name__)

LANE: Final = "chat"
GRACE_SECONDS: Final = 0.025  # STOP-2: then control itself ends the turn and replaces the lane
UNBEGUN_SECONDS: Final = 10.0  # a Stop waits so long for a message that is on its way into the journal
STOPPED: Final = Verdict(reason=Reason.INTERRUPTED, detail="stopped by a person")
SUPERSEDED: Final = Verdict(reason=Reason.INTERRUPTED, detail="a message with priority now came first")


class Current:
    """The turn that runs, or is about to."""

    def __init__(self, message: MessageRow, turn: str) -> None:
        self.message = message
        self.turn = turn
        self.run: Run | None = None  # None until its message is durable
        self.stopped: Verdict | None = None  # why it must not begin any more
        self.over: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.over.set_running_or_notify_cancel()


class Runner(Protocol):
    """Runs one turn to its final event, or until it parks."""

    def __call__(self, message: MessageRow, turn: str, token: Token) -> Coroutine[Any, Any, None]:
        """Return the coroutine; it runs on the lane's thread."""
        ...


class Chat:
    """One group's chat lane."""

    def __init__(  # noqa: PLR0913 - its parts, and who hears of trouble
        self,
        record: Record,
        lane: Lane,
        run_turn: Runner,
        on_torn: Callable[[str], None],
        not_recorded: Callable[[str, str], None],
        *,
        queue_limit: int,
        fault: Callable[[str], None],
    ) -> None:
        """Take `run_turn`, which runs a turn, and who is told of trouble.

        `on_torn` hears of a turn whose thread had to be abandoned, `not_recorded` of one whose final event the journal
        could not take, with the detail.
        """
        self._record = record
        self._lane = lane
        self._run_turn = run_turn
        self._on_torn = on_torn
        self._not_recorded = not_recorded
        self._limit = queue_limit
        self._fault = fault
        self._lock = threading.RLock()
        self._queue = ChatQueue(queue_limit)
        self._waiting: dict[str, MessageRow] = {}
        self._current: Current | None = None
        self._halted = False  # the journal could not take a final event; nothing starts until it can

    @property
    def current(self) -> Current | None:
        """The turn that runs."""
        return self._current

    @property
    def generation(self) -> int:
        """The lane's generation."""
        return self._lane.generation

    def restore(self) -> None:
        """Take up what the journal says was waiting or running when the last process ended (REC-1)."""
        parked = {row.turn for row in self._record.open_turns() if row.state == "parked"}
        rows = [row for row in self._record.open_messages() if row.turn not in parked or row.state != "running"]
        first = next((row for row in rows if row.state == "running"), None)
        now_us = self._record.now_us()
        with self._lock:
            waiting = [row for row in rows if row is not first]
            self._waiting = {row.id: row for row in waiting}
            kept = [kept_of(row) for row in waiting]
            self._queue = ChatQueue.restore(first.id if first else None, kept, now_us, self._limit)
            if first is None:
                self._begin(self._queue.start_next(now_us))
            else:
                self._current = Current(first, first.turn or new_turn_id(now_us))
                self._launch(self._current)
        self.take_up_parked()

    async def say(self, say: Say, message: str) -> Placement:
        """Accept a message durably and place it; raise ResourceBusy (queue full), AlreadySaid or AuditFailure."""
        after_seq = self._record.journal.last_seq()
        received = MessageReceived(
            message=message,
            key=say.key,
            text=say.text,
            priority=say.priority,
            principal=say.principal,
            unattended=say.unattended,
        )
        row = row_of(message, say, self._record.now_us())
        placed, turn = await self._place(row, Priority(say.priority), received)
        return placement_of(placed, turn, after_seq)

    async def place_again(self, row: MessageRow) -> Placement:
        """Place a message that was accepted before and did not get where it was to go."""
        after_seq = self._record.journal.last_seq()
        placed, turn = await self._place(row, Priority(row.priority))
        return placement_of(placed, turn, after_seq)

    def take_up_parked(self) -> None:
        """Queue the parked turns whose question has its answer, behind what people said meanwhile (APR-4).

        Called whenever an answer became durable, a turn ended, or the group was opened: who comes last finds both the
        answer and the parked turn, whatever their order. What does not fit the queue is taken up later.
        """
        for turn in self._record.answered_turns():
            message = self._record.message(turn.message)
            if message is None:
                continue
            row = msgspec.structs.replace(message, turn=turn.turn)
            with self._lock:
                if self._knows(row.id):
                    continue
                try:
                    placed = self._queue.offer(row.id, Priority.LATER, self._record.now_us())
                except (QueueFull, IllegalMove):
                    continue
                _, current, posted = self._decide(row, placed, None)
            posted.add_done_callback(functools.partial(self._taken_up, placed, current))

    def _taken_up(
        self, placed: Placed, current: Current | None, posted: "concurrent.futures.Future[tuple[int, ...]]"
    ) -> None:
        if posted.exception() is not None:
            self._take_back(placed.message)
        elif placed.disposition is Disposition.STARTED and current is not None:
            with self._lock:
                self._launch(current)

    def _knows(self, message: str) -> bool:
        """Whether a message waits or runs; `_lock` is held."""
        return message in self._waiting or (self._current is not None and self._current.message.id == message)

    async def release(self, message: str) -> Placement:
        """Let a held message go on; raise NotFound."""
        after_seq = self._record.journal.last_seq()
        with self._lock:
            try:
                placed = self._queue.release(message, self._record.now_us())
            except IllegalMove as error:
                raise NotFound(str(error)) from error
            row = self._waiting[message]
            turn, current, posted = self._decide(row, placed, MessageReleased(message=message))
        await self._follow(placed, current, posted)
        return placement_of(placed, turn, after_seq)

    async def drop(self, message: str, by: str) -> None:
        """Forget a message that waits; raise NotFound."""
        with self._lock:
            try:
                self._queue.drop(message)
            except IllegalMove as error:
                raise NotFound(str(error)) from error
            self._waiting.pop(message, None)
            posted = self._record.post(MessageDropped(message=message, why=f"dropped by {by}"))
        await self._record.settled(posted)

    async def stop(self, *, all_lanes: bool, by: str) -> Stopped:
        """End the running turn and hold what waits; its final event is durable when this returns (STOP-1)."""
        with self._lock:
            held = self._queue.stopped(self._record.now_us())
            current = self._current
            if current is not None:
                current.stopped = STOPPED
            asked = StopRequested(lane=LANE, all_lanes=all_lanes, by=by)
            placed = [MessagePlaced(turn=self._waiting[id_].turn, message=id_, disposition="held") for id_ in held]
            posted = self._record.post(asked, *placed)
        if current is not None:
            await self._bring_to_end(current, STOPPED)
        await self._record.settled(posted)
        return Stopped(turns=(current.turn,) if current else (), held=len(held))

    def halt(self) -> None:
        """The journal could not take a final event: start nothing until `recover` (TURN-2)."""
        self._halted = True

    def recover(self) -> None:
        """The journal takes events again: go on."""
        with self._lock:
            self._halted = False
            if self._current is not None and self._current.run is None:
                self._launch(self._current)

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

    def take_steered(self, current: Current) -> list[MessageRow]:
        """Hand the running turn what was steered into it."""
        with self._lock:
            if self._current is not current:
                return []
            return [self._waiting.pop(message) for message in self._queue.take_steered()]

    def withhold(self, message: str) -> MessageRow | None:
        """Take a waiting message out, without a word in the journal; return it, or None when it has moved on."""
        with self._lock:
            try:
                self._queue.drop(message)
            except IllegalMove:
                return None
            return self._waiting.pop(message, None)

    def seal(self, turn: str) -> None:
        """The turn is about to get its final event: a message that comes now is not promised to it any more."""
        with self._lock:
            if self._current is not None and self._current.turn == turn:
                self._queue.seal_inbox()

    def close_inbox(self, current: Current) -> bool:
        """Tell whether the turn may end; if so nothing is promised to it any more."""
        with self._lock:
            return self._current is not current or self._queue.close_inbox()

    async def _place(
        self, row: MessageRow, priority: Priority, received: MessageReceived | None = None
    ) -> tuple[Placed, str]:
        with self._lock:
            try:
                placed = self._queue.offer(row.id, priority, self._record.now_us())
            except QueueFull as error:
                raise ResourceBusy(str(error)) from error
            turn, current, posted = self._decide(row, placed, received)
        await self._follow(placed, current, posted)
        return placed, turn

    def _decide(
        self, row: MessageRow, placed: Placed, before: GroupEvent | None
    ) -> tuple[str, Current | None, "concurrent.futures.Future[tuple[int, ...]]"]:
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
        return turn, self._current, posted

    async def _follow(
        self, placed: Placed, current: Current | None, posted: "concurrent.futures.Future[tuple[int, ...]]"
    ) -> None:
        """Wait until the placement is durable, then act on it; what the journal did not take was never accepted."""
        try:
            await self._record.settled(posted)
        except (AuditFailure, AlreadySaid):
            self._take_back(placed.message)
            raise
        self._fault("message.accepted")
        if current is None:
            return
        if placed.disposition is Disposition.STARTED:
            with self._lock:
                self._launch(current)
        elif placed.disposition is Disposition.INTERRUPTING:
            await self._bring_to_end(current, SUPERSEDED)

    def _take_back(self, message: str) -> None:
        with self._lock:
            self._waiting.pop(message, None)
            current = self._current
            if current is not None and current.message.id == message and current.run is None:
                self._advance(current)
                return
            try:
                self._queue.drop(message)
            except IllegalMove:
                _LOG.warning("message %s was refused by the journal after it had moved on", message)

    def _launch(self, current: Current) -> None:
        """Start the turn's run on the lane; `_lock` is held."""
        if self._halted or current.run is not None:
            return
        if self._queue.interrupted:  # a `now` waits for its end already
            current.stopped = SUPERSEDED
        if current.stopped is not None:
            self._end_unbegun(current, current.stopped)
            return

        def work(token: Token) -> Coroutine[Any, Any, None]:
            return self._run_turn(current.message, current.turn, token)

        try:
            current.run = self._lane.start(work, current.turn)
        except LaneClosed:
            _LOG.info("turn %s waits for the next start of the group", current.turn)
            return
        current.run.done.add_done_callback(lambda done: self._over(current, done))

    def _over(self, current: Current, done: "concurrent.futures.Future[None]") -> None:
        """The run has ended, on the lane's thread; one whose lane was replaced is `_tear`'s to finish."""
        match done.exception():
            case None:
                self._advance(current)
            case StaleGeneration():
                pass
            case RunCancelled(started=False):
                self._end_unbegun(current, current.stopped or STOPPED)
            case error:
                _LOG.error("turn %s broke out of its loop", current.turn, exc_info=error)
                detail = f"{type(error).__name__}: {error}"
                self._end_unbegun(current, Verdict(reason=Reason.UNKNOWN, detail=detail))

    def _end_unbegun(self, current: Current, verdict: Verdict) -> None:
        unit = end_unbegun(current.message, current.turn, LANE, verdict)

        def told(ended: "concurrent.futures.Future[tuple[int, bool]]") -> None:
            if (error := ended.exception()) is not None:
                self._not_recorded(current.turn, str(error))
            self._advance(current)

        self._record.journal.commit(unit).add_done_callback(told)

    def _advance(self, current: Current) -> None:
        """The turn is over: start what comes next."""
        with self._lock:
            if self._current is current:
                self._current = None
                self._begin(self._queue.ended(self._record.now_us()))
        if not current.over.done():
            current.over.set_result(None)
        self.take_up_parked()

    def _begin(self, message: str | None) -> None:
        """Start a message that waited; `_lock` is held."""
        if message is None:
            return
        row = self._waiting.pop(message)
        self._current = Current(row, row.turn or new_turn_id(self._record.now_us()))
        self._launch(self._current)

    async def _bring_to_end(self, current: Current, verdict: Verdict) -> None:
        """Cancel the turn; one that does not end in time is ended here, and its lane replaced (STOP-2)."""
        over = asyncio.wrap_future(current.over)
        if current.run is not None:
            current.run.cancel()
        await asyncio.wait({over}, timeout=GRACE_SECONDS if current.run is not None else UNBEGUN_SECONDS)
        if not over.done() and current.run is not None:
            await self._tear(current, current.run, verdict)

    async def _tear(self, current: Current, run: Run, verdict: Verdict) -> None:
        generation = self._lane.replace(run.token.generation)
        self._on_torn(current.turn)
        try:
            await self._record.commit(end_unbegun(current.message, current.turn, LANE, verdict))
            replaced = LaneReplaced(turn=current.turn, lane=LANE, generation=generation, why="did not end in time")
            await self._record.append(replaced)
        except AuditFailure as error:
            self._not_recorded(current.turn, error.message)
        finally:
            self._advance(current)
