"""The desk: questions that wait for a person, across lanes and restarts (APR-1 to APR-4).

A question is durable before anyone sees it, and its one answer is decided on the journal's writer thread, so that of
two answers at once the first wins and the second is told so. Waiting costs no lane but its own. Which calls are asked
about is decided elsewhere.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from host.record.events import ApprovalAsked, ApprovalReopened, ApprovalSettled, GroupEvent
from host.record.record import Admit, Record
from host.record.rows import QuestionRow
from memory.journal import Unit

NEVER: Final = -1.0  # a parked question does not expire
_LEAST_SECONDS: Final = 1.0  # after a restart a question is never over before it could be seen


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a question."""

    approval: str
    verdict: str  # allowed | denied | answered | timed_out | withdrawn
    by: str
    text: str  # the reason of a refusal, or the answer


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer did."""

    id: str
    settled: bool  # False: it was settled before, this one changed nothing
    verdict: str  # the one that counts
    by: str


class Desk:
    """The waiting questions of one group. All methods are safe from any thread and any event loop."""

    def __init__(self, record: Record, *, timeout_seconds: float, fault: Callable[[str], None]) -> None:
        """`timeout_seconds` is how long a question waits where somebody watches."""
        self.timeout_seconds = timeout_seconds
        self._record = record
        self._fault = fault
        self._lock = threading.Lock()
        self._waiting: dict[str, list[concurrent.futures.Future[Answer]]] = {}

    def expires_at(self) -> str:
        """Return when a question asked now expires, ISO 8601 in UTC."""
        return _iso(self._record.now_us(), self.timeout_seconds)

    async def post(self, question: ApprovalAsked, admit: Admit) -> None:
        """Make a question durable without waiting for its answer (a parked turn lets go of its lane)."""
        await self._record.append(question, admit=admit)

    async def ask(self, question: ApprovalAsked, admit: Admit) -> Answer:
        """Ask, and wait for the answer or the time-out; cancelling the wait leaves the question to `withdraw_turn`."""
        future = self._enlist(question.approval)
        try:
            await self.post(question, admit)
            return await self._answer(question.approval, question.expires_at, future)
        finally:
            self._dismiss(question.approval, future)

    async def await_open(self, approval: str) -> Answer:
        """Take up a question that was asked before a restart: wait for its answer, or return the one it got."""
        future = self._enlist(approval)
        try:
            row = self._record.question(approval)
            if row is None:
                return Answer(approval=approval, verdict="withdrawn", by="host", text="the question is gone")
            if row.state != "waiting":
                return _answer_of(row)
            return await self._answer(approval, row.expires_at, future)
        finally:
            self._dismiss(approval, future)

    async def settle(self, approval: str, *, verdict: str, by: str, text: str = "") -> Settled:
        """Answer a question; durable before whoever waits is told. The first answer counts."""
        settled = await self._record.commit(_settling(approval, verdict, by, text))
        if settled.settled:
            self._fault("approval.settled")
            self._tell(Answer(approval=approval, verdict=verdict, by=by, text=text))
        return settled

    def withdraw_turn(self, turn: str) -> None:
        """The questions of a stopped turn need no answer any more; from any thread, without waiting."""
        for row in self._record.waiting_questions():
            if row.turn == turn:
                self._record.journal.commit(_settling(row.id, "withdrawn", "host", "the turn was stopped"))
                self._tell(Answer(approval=row.id, verdict="withdrawn", by="host", text="the turn was stopped"))

    def reopen(self) -> None:
        """At start: give waiting questions the time they had left when the host went down (APR-4)."""
        newest = self._record.journal.read(newest_first=True, limit=1)
        down_us = newest[0].at_us if newest else 0  # the last sign of life of the process before
        now_us = self._record.now_us()
        for row in self._record.waiting_questions():
            if not row.expires_at:
                continue
            left = (datetime.fromisoformat(row.expires_at).timestamp() * 1e6 - down_us) / 1e6
            left = min(max(left, _LEAST_SECONDS), row.timeout_seconds)
            self._record.post(ApprovalReopened(turn=row.turn, approval=row.id, expires_at=_iso(now_us, left)))

    async def _answer(self, approval: str, expires_at: str, future: "concurrent.futures.Future[Answer]") -> Answer:
        waiting = asyncio.wrap_future(future)
        left = None
        if expires_at:
            left = datetime.fromisoformat(expires_at).timestamp() - self._record.now_us() / 1e6
        done, _ = await asyncio.wait({waiting}, timeout=left)
        if done:
            return waiting.result()
        settled = await self.settle(approval, verdict="timed_out", by="host")
        if settled.settled:
            return Answer(approval=approval, verdict="timed_out", by="host", text="")
        row = self._record.question(approval)
        assert row is not None  # noqa: S101 - it was settled a moment ago
        return _answer_of(row)

    def _enlist(self, approval: str) -> "concurrent.futures.Future[Answer]":
        future: concurrent.futures.Future[Answer] = concurrent.futures.Future()
        with self._lock:
            self._waiting.setdefault(approval, []).append(future)
        return future

    def _dismiss(self, approval: str, future: "concurrent.futures.Future[Answer]") -> None:
        with self._lock:
            left = [other for other in self._waiting.get(approval, ()) if other is not future]
            if left:
                self._waiting[approval] = left
            else:
                self._waiting.pop(approval, None)

    def _tell(self, answer: Answer) -> None:
        with self._lock:
            waiting = self._waiting.pop(answer.approval, [])
        for future in waiting:
            if future.set_running_or_notify_cancel():
                future.set_result(answer)


def _settling(approval: str, verdict: str, by: str, text: str) -> Callable[[Unit[GroupEvent]], Settled]:
    def unit(unit: Unit[GroupEvent]) -> Settled:
        found = unit.transaction.execute(
            "select turn, state, answered_by from questions where id = ?", (approval,)
        ).fetchone()
        if found is None:
            return Settled(id=approval, settled=False, verdict="unknown", by="")
        turn, state, answered_by = found
        if state != "waiting":
            return Settled(id=approval, settled=False, verdict=state, by=answered_by)
        unit.append(ApprovalSettled(turn=turn, approval=approval, verdict=verdict, by=by, text=text))
        return Settled(id=approval, settled=True, verdict=verdict, by=by)

    return unit


def _answer_of(row: QuestionRow) -> Answer:
    return Answer(approval=row.id, verdict=row.state, by=row.answered_by, text=row.text)


def _iso(now_us: int, seconds: float) -> str:
    moment = datetime.fromtimestamp(now_us / 1e6, UTC) + timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
