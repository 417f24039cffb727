"""The desk: questions that wait for a person, across lanes and restarts (APR-1 to APR-4).

A question is durable before anyone sees it, and its one answer is decided on the journal's writer thread, so that of
two answers at once the first wins and the second is told so. Waiting costs no lane but its own. Which calls are asked
about is decided elsewhere.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from host.errors import AuditFailure, ProtocolViolation
from host.record import lookups
from host.record.events import ApprovalAsked, ApprovalReopened, ApprovalSettled, GroupEvent
from host.record.record import Admit, Record
from host.record.rows import QuestionRow
from memory.errors import JournalError
from memory.journal import Unit

NEVER: Final = -1.0  # a parked question does not expire
TIMED_OUT: Final = "timed_out"
WITHDRAWN: Final = "withdrawn"

_LEAST_SECONDS: Final = 1.0  # after a restart a question is never over before it could be seen
_HOST: Final = "host"  # by whom a question is settled that no person answered
_STOPPED: Final = "the turn was stopped"
_WORDS: Final = {"approval": ("allowed", "denied"), "answer": ("answered", "denied")}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a question."""

    approval: str
    verdict: str  # allowed | denied | answered | timed_out | withdrawn
    by: str
    text: str  # the reason of a refusal, or the answer
    scope: str = "once"


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer did."""

    id: str
    settled: bool  # False: it was settled before, this one changed nothing
    verdict: str  # the one that counts
    by: str


class Desk:
    """The waiting questions of one group. All methods are safe from any thread and any event loop."""

    def __init__(self, record: Record, *, timeout_seconds: float, fault: Callable[[str], None]) -> None:
        """`timeout_seconds` is how long a question waits where somebody watches; made before anything is journaled."""
        self.timeout_seconds = timeout_seconds
        self._record = record
        self._fault = fault
        self._lock = threading.RLock()  # re-entrant: what a lost coroutine cleans up may come in between
        self._waiting: dict[str, list[concurrent.futures.Future[Answer]]] = {}
        newest = record.journal.read(newest_first=True, limit=1)
        self._down_us = newest[0].at_us if newest else 0  # the last sign of life of the process before

    def expires_at(self) -> str:
        """Return when a question asked now expires, ISO 8601 in UTC."""
        return _iso(self._record.now_us(), self.timeout_seconds)

    async def post(self, question: ApprovalAsked, admit: Admit) -> None:
        """Make a question durable without waiting for its answer (a parked turn lets go of its lane)."""
        await self._record.append(question, admit=admit)

    async def ask(self, question: ApprovalAsked, admit: Admit) -> Answer:
        """Ask, and wait for the answer or the time-out. Cancelling the wait withdraws the question."""
        future = self._enlist(question.approval)
        try:
            await self.post(question, admit)
            return await self._answer(question.approval, question.expires_at, future, admit)
        except asyncio.CancelledError:
            self._cancelled(question.approval, admit)
            raise
        finally:
            self._dismiss(question.approval, future)

    async def await_open(self, approval: str, admit: Admit) -> Answer:
        """Take up a question that was asked before a restart: wait for its answer, or return the one it got."""
        future = self._enlist(approval)
        try:
            row = self._record.question(approval)
            if row is None:
                return Answer(approval=approval, verdict=WITHDRAWN, by=_HOST, text="the question is gone")
            if row.state != "waiting":
                return _answer_of(row)
            return await self._answer(approval, row.expires_at, future, admit)
        except asyncio.CancelledError:
            self._cancelled(approval, admit)
            raise
        finally:
            self._dismiss(approval, future)

    async def settle(
        self,
        approval: str,
        *,
        verdict: str,
        by: str,
        text: str = "",
        scope: str = "once",
        together_with: Sequence[GroupEvent] = (),
    ) -> Settled:
        """Answer a question; durable before whoever waits is told. The first answer counts.

        `together_with` (the grant that goes with a wider `scope`, say) becomes durable in the same unit, if this
        answer counts. Raises ProtocolViolation for an answer of the wrong kind, AuditFailure when it cannot be made
        durable.
        """
        answer = Answer(approval=approval, verdict=verdict, by=by, text=text, scope=scope)
        return await self._record.settled(self._settle(answer, together_with=together_with))

    def withdraw_turn(self, turn: str) -> None:
        """The questions of a stopped turn need no answer any more; from any thread, without waiting."""
        posted = self._record.journal.commit(_withdrawing(turn))
        posted.add_done_callback(self._withdrawn)

    def reopen(self) -> None:
        """At start: give waiting questions the time they had left when the host went down (APR-4).

        Durable when it returns, before a resumed turn looks at its question. Raises AuditFailure.
        """
        now_us = self._record.now_us()
        reopened: list[GroupEvent] = []
        for row in self._record.waiting_questions():
            if row.expires_at:
                left = datetime.fromisoformat(row.expires_at).timestamp() - self._down_us / 1e6
                left = min(max(left, _LEAST_SECONDS), row.timeout_seconds)
                event = ApprovalReopened(turn=row.turn, approval=row.id, expires_at=_iso(now_us, left))
                reopened.append(event)
        if reopened:
            try:
                self._record.post(*reopened).result()
            except JournalError as error:
                raise AuditFailure(str(error)) from error

    async def _answer(
        self, approval: str, expires_at: str, future: "concurrent.futures.Future[Answer]", admit: Admit
    ) -> Answer:
        waiting = asyncio.wrap_future(future)
        left = None
        if expires_at:
            left = max(0.0, datetime.fromisoformat(expires_at).timestamp() - self._record.now_us() / 1e6)
        done, _ = await asyncio.wait({waiting}, timeout=left)
        if done:
            return waiting.result()
        # A time-out and a person may come together: the writer thread says who was first, and that one counts.
        nobody = Answer(approval=approval, verdict=TIMED_OUT, by=_HOST, text="")
        settled = await self._record.settled(self._settle(nobody, admit))
        row = None if settled.settled else self._record.question(approval)
        return nobody if row is None else _answer_of(row)

    def _settle(
        self, answer: Answer, admit: Admit | None = None, *, together_with: Sequence[GroupEvent] = ()
    ) -> "concurrent.futures.Future[Settled]":
        posted = self._record.journal.commit(_settling(answer, together_with), admit)
        # Told by the writer thread, not by who answers: a client that hangs up must not leave the call waiting.
        posted.add_done_callback(lambda done: self._durable(done, answer))
        return posted

    def _durable(self, done: "concurrent.futures.Future[Settled]", answer: Answer) -> None:
        if not done.cancelled() and done.exception() is None and done.result().settled:
            self._fault("approval.settled")
            self._tell(answer)

    def _cancelled(self, approval: str, admit: Admit) -> None:
        # Not awaited: the task is being stopped. A lane that was given up (the host closes) may withdraw nothing:
        # its turn is resumed, and the question with it.
        self._settle(Answer(approval=approval, verdict=WITHDRAWN, by=_HOST, text=_STOPPED), admit)

    def _withdrawn(self, done: "concurrent.futures.Future[list[str]]") -> None:
        if not done.cancelled() and done.exception() is None:
            for approval in done.result():
                self._tell(Answer(approval=approval, verdict=WITHDRAWN, by=_HOST, text=_STOPPED))

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


def _settling(answer: Answer, together_with: Sequence[GroupEvent] = ()) -> Callable[[Unit[GroupEvent]], Settled]:
    def unit(unit: Unit[GroupEvent]) -> Settled:
        found = lookups.question(unit.transaction, answer.approval)
        if found is None:
            return Settled(id=answer.approval, settled=False, verdict="unknown", by="")
        if found.state != "waiting":
            return Settled(id=answer.approval, settled=False, verdict=found.state, by=found.answered_by)
        if answer.by != _HOST and answer.verdict not in _WORDS[found.question]:
            message = f"question {answer.approval} takes {' or '.join(_WORDS[found.question])}, not {answer.verdict}"
            raise ProtocolViolation(message)
        unit.append(_settled(found.turn, answer), *together_with)
        return Settled(id=answer.approval, settled=True, verdict=answer.verdict, by=answer.by)

    return unit


def _withdrawing(turn: str) -> Callable[[Unit[GroupEvent]], list[str]]:
    def unit(unit: Unit[GroupEvent]) -> list[str]:
        waiting = lookups.waiting_approvals_of(unit.transaction, turn)
        for approval in waiting:
            unit.append(_settled(turn, Answer(approval=approval, verdict=WITHDRAWN, by=_HOST, text=_STOPPED)))
        return waiting

    return unit


def _settled(turn: str, answer: Answer) -> ApprovalSettled:
    return ApprovalSettled(
        turn=turn,
        approval=answer.approval,
        verdict=answer.verdict,
        by=answer.by,
        text=answer.text,
        scope=answer.scope,
    )


def _answer_of(row: QuestionRow) -> Answer:
    return Answer(approval=row.id, verdict=row.state, by=row.answered_by, text=row.text)


def _iso(now_us: int, seconds: float) -> str:
    moment = datetime.fromtimestamp(now_us / 1e6, UTC) + timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
