"""A group's journal in the host's own words: awaitable commits, and reads of the projections.

Above it are gate, turn and groups; below it the journal store. It decides nothing: what may be appended is known by
those who append. Errors of the store are translated here, and only here, to the host's own.
"""

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from host.errors import AuditFailure, NotFound, ResourceBusy
from host.record import projections
from host.record.codec import GroupCodec, Mask
from host.record.events import CallFinished, CallRefused, GroupEvent
from host.record.rows import CallRow, GrantRow, MessageRow, QuestionRow, RefusedIntent, Spend, TurnRow, row_from
from host.record.statements import query
from memory.errors import JournalBusy, JournalError, MissingBody
from memory.journal import Journal, Stored, Unit, Verdict

T = TypeVar("T")
R = TypeVar("R", bound=msgspec.Struct)

_VERSION: Final = query("version", "found")
_MESSAGE: Final = query("messages", "by_id")
_MESSAGE_BY_KEY: Final = query("messages", "by_key")
_OPEN_MESSAGES: Final = query("messages", "open")
_BEGINNING_OF_TURN: Final = query("messages", "beginning_of_turn")
_TURN: Final = query("turns", "by_id")
_OPEN_TURNS: Final = query("turns", "open")
_ANSWERED_TURNS: Final = query("turns", "answered")
_LATEST_TURNS: Final = query("turns", "latest")
_FAILED_TURNS: Final = query("turns", "failed")
_CALLS_OF_TURN: Final = query("calls", "of_turn")
_CALL_BY_KEY: Final = query("calls", "by_key")
_QUESTION: Final = query("questions", "by_id")
_QUESTION_OF_CALL: Final = query("questions", "of_call")
_YES_TO: Final = query("questions", "yes_to")
_WAITING_QUESTIONS: Final = query("questions", "waiting")
_SETTLED_APPROVALS: Final = query("questions", "settled")
_ASSISTED: Final = query("questions", "assisted")
_STANDING_GRANTS: Final = query("grants", "standing")
_GRANT: Final = query("grants", "by_id")
_REFUSED_OF_TURN: Final = query("refused_intents", "of_turn")
_SPEND_SINCE: Final = query("spend", "since")

Admit = Callable[[], None]
"""Asked on the writer thread before a unit runs; raises where the caller's lane generation is over."""


async def _told(future: "concurrent.futures.Future[T]") -> T:
    """Wait for the writer's word; who is cancelled meanwhile leaves the unit as it is."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def done(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(wake)

    future.add_done_callback(done)
    await waiter
    return future.result()


class Ahead:
    """The `admit` of one who posts without waiting: a unit that comes after a lost one is refused for that (TURN-2).

    Units are written in order, so what is awaited is durable together with all that was posted before it.
    """

    def __init__(self, admit: Admit) -> None:
        """Ask `admit` too, as long as nothing was lost."""
        self._admit = admit
        self._lost: BaseException | None = None

    def __call__(self) -> None:
        """Raise what became of a posted unit, or what the inner `admit` raises; asked on the writer thread."""
        if self._lost is not None:
            raise self._lost
        self._admit()

    def note(self, posted: "concurrent.futures.Future[tuple[int, ...]]") -> None:
        """Remember a loss; the writer calls this before it looks at the next unit."""
        self._lost = self._lost or posted.exception()


def _nothing(point: str) -> None:
    del point


class Record:
    """One group's journal, opened for writing."""

    def __init__(self, journal: Journal[GroupEvent], now_us: Callable[[], int]) -> None:
        self.journal = journal
        self.now_us = now_us

    @classmethod
    def open(
        cls,
        path: Path,
        now_us: Callable[[], int],
        *,
        mask: Mask | None = None,
        fault: Callable[[str], None] = _nothing,
        wait_seconds: float = 10.0,
    ) -> "Record":
        """Open the journal at `path` as its one writer; raise ResourceBusy or AuditFailure."""
        try:
            journal = Journal[GroupEvent].open(
                path,
                GroupCodec(mask),
                now_us,
                schemas=(projections.VERSION_SCHEMA,),
                project=projections.apply,
                fault=fault,
                wait_seconds=wait_seconds,
            )
        except JournalBusy as error:
            raise ResourceBusy(str(error)) from error
        except JournalError as error:
            raise AuditFailure(str(error)) from error
        record = cls(journal, now_us)
        record._bring_up_projections()
        return record

    def _bring_up_projections(self) -> None:
        """Rebuild the tables when they were made for another version, or never finished (JRN-2)."""
        if self._rows(_VERSION, ()) != [(projections.VERSION,)]:
            self.journal.replay(projections.apply, prepare=projections.make_anew)

    def close(self) -> None:
        """Finish what was accepted and let go of the file."""
        self.journal.close()

    async def append(self, *events: GroupEvent, admit: Admit | None = None) -> tuple[int, ...]:
        """Append `events` together; they are durable when this returns. Raises AuditFailure, or what `admit` raises."""
        return await self.settled(self.journal.append(*events, admit=admit))

    async def commit(self, unit: Callable[[Unit[GroupEvent]], T], admit: Admit | None = None) -> T:
        """Run `unit` on the writer thread as one piece; durable when this returns. Raises AuditFailure."""
        return await self.settled(self.journal.commit(unit, admit))

    def post(self, *events: GroupEvent, admit: Admit | None = None) -> "concurrent.futures.Future[tuple[int, ...]]":
        """Append `events` without waiting; callable from any thread. Later units come after them.

        With an `Ahead` as `admit` later units of the same one fail if these do.
        """
        posted = self.journal.append(*events, admit=admit)
        if isinstance(admit, Ahead):
            posted.add_done_callback(admit.note)
        return posted

    async def settled(self, future: "concurrent.futures.Future[T]") -> T:
        """Await a unit that was posted; raise AuditFailure, or what its `admit` raised."""
        # Shielded: a unit that was handed over is committed whatever becomes of its caller, and a cancelled
        # concurrent future could not take its result any more.
        try:
            return await _told(future)
        except JournalError as error:
            raise AuditFailure(str(error)) from error

    def read(self, after: int = 0, *, limit: int = 1000, turn: str | None = None) -> list[Stored[GroupEvent]]:
        """Return events after the sequence `after`, oldest first; only those of `turn` if it is given."""
        return self.journal.read(after, limit=limit, turn=turn)

    def event(self, seq: int) -> GroupEvent:
        """Return one event; raise NotFound."""
        found = self.journal.read(seq - 1, limit=1)
        if not found or found[0].seq != seq:
            message = f"the journal has no event {seq}"
            raise NotFound(message)
        return found[0].event

    def turn_events(self, turn: str) -> list[Stored[GroupEvent]]:
        """Return all events of `turn`, oldest first."""
        events: list[Stored[GroupEvent]] = []
        while batch := self.journal.read(events[-1].seq if events else 0, limit=1000, turn=turn):
            events += batch
        return events

    def body(self, content_hash: str) -> bytes:
        """Return a stored body; raise NotFound."""
        try:
            return self.journal.body(content_hash)
        except MissingBody as error:
            raise NotFound(str(error)) from error

    def message(self, message: str) -> MessageRow | None:
        """Return one message."""
        return self._one(MessageRow, _MESSAGE, (message,))

    def message_by_key(self, key: str) -> MessageRow | None:
        """Return the message that was sent under an idempotency key."""
        return self._one(MessageRow, _MESSAGE_BY_KEY, (key,))

    def open_messages(self) -> list[MessageRow]:
        """Return messages that wait, are held, or run, in order of arrival."""
        return self._all(MessageRow, _OPEN_MESSAGES)

    def turn(self, turn: str) -> TurnRow | None:
        """Return one turn."""
        return self._one(TurnRow, _TURN, (turn,))

    def open_turns(self) -> list[TurnRow]:
        """Return turns without a final event, oldest first."""
        return self._all(TurnRow, _OPEN_TURNS)

    def beginning_of(self, turn: str) -> MessageRow | None:
        """Return the message that began `turn`, also while the turn has not come to its start."""
        return self._one(MessageRow, _BEGINNING_OF_TURN, (turn,))

    def answered_turns(self) -> list[TurnRow]:
        """Return parked turns whose question needs no answer any more, oldest first."""
        return self._all(TurnRow, _ANSWERED_TURNS)

    def latest_turns(self, limit: int, before: str = "") -> list[TurnRow]:
        """Return the newest turns, newest first, older than the turn `before` if it is given."""
        return self._all(TurnRow, _LATEST_TURNS, (before, before, limit))

    def failed_turns(self, limit: int) -> list[TurnRow]:
        """Return the newest turns that ended without success, newest first."""
        return self._all(TurnRow, _FAILED_TURNS, (limit,))

    def calls_of(self, turn: str) -> list[CallRow]:
        """Return a turn's calls in the order they were asked for."""
        return self._all(CallRow, _CALLS_OF_TURN, (turn,))

    def call_of(self, key: str) -> CallRow | None:
        """Return the call with an idempotency key."""
        return self._one(CallRow, _CALL_BY_KEY, (key,))

    def result_of(self, row: CallRow) -> CallFinished | CallRefused | None:
        """Return the event that ended a call, or None while it has not ended."""
        event = self.event(row.seq)
        return event if isinstance(event, CallFinished | CallRefused) else None

    def question(self, approval: str) -> QuestionRow | None:
        """Return one question."""
        return self._one(QuestionRow, _QUESTION, (approval,))

    def question_of(self, turn: str, call: str) -> QuestionRow | None:
        """Return the latest question about a call."""
        return self._one(QuestionRow, _QUESTION_OF_CALL, (turn, call))

    def yes_to(self, turn: str, call: str) -> QuestionRow | None:
        """Return the question about a call that was answered with yes, by a person or the aux model."""
        return self._one(QuestionRow, _YES_TO, (turn, call))

    def waiting_questions(self) -> list[QuestionRow]:
        """Return the questions without an answer, oldest first."""
        return self._all(QuestionRow, _WAITING_QUESTIONS)

    def settled_approvals(self, limit: int) -> list[QuestionRow]:
        """Return the questions that people allowed or denied, newest first."""
        return self._all(QuestionRow, _SETTLED_APPROVALS, (limit,))

    def assisted(self, limit: int) -> list[QuestionRow]:
        """Return what the aux model let run without a person, newest first."""
        return self._all(QuestionRow, _ASSISTED, (limit,))

    def grants(self) -> list[GrantRow]:
        """Return the standing answers that nobody took back, oldest first; some may have ended by themselves."""
        return self._all(GrantRow, _STANDING_GRANTS)

    def grant(self, grant: str) -> GrantRow | None:
        """Return one standing answer, also one that was taken back."""
        return self._one(GrantRow, _GRANT, (grant,))

    def refused_intents(self, turn: str) -> dict[tuple[str, str], RefusedIntent]:
        """Return what was refused or left unanswered in `turn`, by effect and target."""
        rows = self._all(RefusedIntent, _REFUSED_OF_TURN, (turn,))
        return {(row.effect, row.target): row for row in rows}

    def spend(self, since_us: int) -> Spend:
        """Return what was used from `since_us` (microseconds since 1970) on, to the quarter of an hour."""
        row = self.journal.query(_SPEND_SINCE, (since_us // projections.QUARTER_US,))[0]
        return Spend(tokens=row[0], cost_usd=row[1])

    def verify(self) -> Verdict:
        """Check the file and its chain, then whether the projections say what the events give. Blocks for seconds.

        Projections that do not are made anew when the journal is opened next. Raises AuditFailure.
        """
        try:
            verdict = self.journal.verify()
            if not verdict.ok:
                return verdict
            found = self.journal.difference(projections.TABLES, projections.apply, prepare=projections.make_beside)
            if not found:
                return verdict
            self.journal.commit(lambda unit: projections.distrust(unit.transaction)).result()
        except JournalError as error:
            raise AuditFailure(str(error)) from error
        detail = (
            f"{found}; the events themselves fit together, and the tables are made anew from them when the host starts"
            " next: stop it with `elis down` and start it again"
        )
        return Verdict(ok=False, events=verdict.events, detail=detail)

    def _all(self, row: type[R], sql: str, parameters: Sequence[Any] = ()) -> list[R]:
        return [row_from(row, values) for values in self._rows(sql, parameters)]

    def _one(self, row: type[R], sql: str, parameters: Sequence[Any]) -> R | None:
        found = self._all(row, sql, parameters)
        return found[0] if found else None

    def _rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            return self.journal.query(sql, parameters)
        except JournalError as error:
            raise AuditFailure(str(error)) from error
