"""Asking a person for words in the middle of a run: what `ask_person` gets as its `ask` (APR-3, APR-4).

The question goes over the desk like any other, so it survives a restart and can be answered from anywhere; a repeated
run finds the question it asked before. Permission to run is asked for elsewhere.
"""

from collections.abc import Callable
from typing import Final

from host.errors import PolicyViolation, TimedOut
from host.gate.desk import NEVER, TIMED_OUT, Answer, Desk
from host.gate.stages import Parked, Registered, WaitClock
from host.ids import APPROVAL, new_id
from host.record.events import ApprovalAsked
from host.record.record import Admit, Record
from host.record.rows import QuestionRow
from host.stops import Reason

MAY_HAPPEN: Final = "The model gets your words."


class Unanswered(TimedOut):
    """Nobody answered the question. That is no refusal; go on without it, or say what you need."""

    reason = Reason.APPROVAL_TIMEOUT


class Asking:
    """Asks people for words on behalf of the calls of one group."""

    def __init__(self, desk: Desk, record: Record, *, park: Callable[[], bool]) -> None:
        """`park` says what becomes of a question that nobody watches: it parks its turn, else it is not asked."""
        self._desk = desk
        self._record = record
        self._park = park

    async def ask(self, registered: Registered, question: str, admit: Admit, clock: WaitClock) -> str:
        """Return the person's words; raise Unanswered, PolicyViolation (they declined) or Parked."""
        requested = registered.requested
        asked = self._record.question_of(requested.caller.turn, requested.call)
        if asked is not None and asked.question != "answer":
            asked = None
        if requested.caller.unattended and (asked is None or asked.state == "waiting"):
            await self._nobody_watches(registered, question, asked, admit)
        clock.pause()
        try:
            return _words(await self._answer(registered, question, asked, admit))
        finally:
            clock.resume()

    async def _answer(self, registered: Registered, question: str, asked: QuestionRow | None, admit: Admit) -> Answer:
        if asked is not None:
            return await self._desk.await_open(asked.id, admit)
        return await self._desk.ask(self._question(registered, question, self._desk.timeout_seconds), admit)

    async def _nobody_watches(
        self, registered: Registered, question: str, asked: QuestionRow | None, admit: Admit
    ) -> None:
        """Park the turn on the question, or fail the call at once, as the group says (APR-4)."""
        if not self._park():
            message = "Nobody watches this turn, so the question was not asked. Go on without it, or say what you need."
            raise Unanswered(message)
        if asked is not None:
            raise Parked(asked.id)
        posed = self._question(registered, question, NEVER)
        await self._desk.post(posed, admit)
        raise Parked(posed.approval)

    def _question(self, registered: Registered, question: str, seconds: float) -> ApprovalAsked:
        requested = registered.requested
        return ApprovalAsked(
            turn=requested.caller.turn,
            approval=new_id(APPROVAL, self._record.now_us()),
            call=requested.call,
            tool=requested.tool,
            question="answer",
            effect=registered.passport.effect,
            arguments={"question": question},
            what_may_happen=MAY_HAPPEN,
            doing=requested.caller.doing,
            scopes=(),
            timeout_seconds=seconds,
            expires_at="" if seconds == NEVER else self._desk.expires_at(),
        )


def _words(answer: Answer) -> str:
    match answer.verdict:
        case "answered":
            return answer.text
        case "denied":
            said = f" They said: {answer.text}" if answer.text else ""
            message = f"The person declined to answer.{said} Go on without it, or say what you need."
            raise PolicyViolation(message)
        case verdict if verdict == TIMED_OUT:
            raise Unanswered
        case _:
            message = f"The question was withdrawn: {answer.text}."
            raise Unanswered(message)
