"""The second stage: policy, and a person where policy says ask (POL-1, APR-1 to APR-4).

A refused or unanswered intent (effect and target) gets the same answer for the rest of its turn, whatever tool asks
for it. An unattended call parks its turn or is denied at once, as the group says; it is never taken as consent.
"""

from typing import Any, Final

import msgspec

from host.config.settings import PolicySettings
from host.gate.desk import NEVER, Answer, Desk
from host.gate.stages import Parked, Permitted, Refusal, Registered, WaitClock
from host.ids import APPROVAL, new_id
from host.passport import Decision
from host.policy.policy import Policy, Ruling
from host.record.events import ApprovalAsked
from host.record.record import Admit, Record
from host.record.rows import QuestionRow
from host.stops import Reason

STAGE: Final = "policy"
ONCE: Final = ("once",)  # the wider scopes come with grants in part 2 of the plan
_SHOWN_CHARS: Final = 200  # of a target in an answer to the model, which knows what it asked for
STOP_TRYING: Final = "Do not try it another way; tell the person that it was not done."


class Permission:
    """Lets calls through, asks people, or refuses."""

    def __init__(self, policy: Policy, desk: Desk, record: Record, settings: PolicySettings) -> None:
        self._policy = policy
        self._desk = desk
        self._record = record
        self._unattended = settings.unattended

    async def permit(self, registered: Registered, admit: Admit, clock: WaitClock) -> Permitted:
        """Return the call with the rule that let it through; raise Refusal or Parked."""
        caller, passport = registered.requested.caller, registered.passport
        ruling = self._policy.decide(passport, caller.principal)
        if ruling.decision is Decision.DENY:
            raise _denied(registered, ruling)
        if ruling.decision is Decision.ALLOW:
            return Permitted(registered=registered, rule=ruling.rule)
        self._refuse_repeated_intent(registered)
        asked = self._record.question_of(caller.turn, registered.requested.call)
        if asked is not None and asked.question == "approval":
            answer = await self._take_up(asked, admit, clock)
        elif caller.unattended:
            answer = await self._unattended_answer(registered, ruling, admit)
        else:
            question = self._question(registered, ruling, timeout_seconds=self._desk.timeout_seconds)
            answer = await self._waited(question, admit, clock)
        return self._judged(registered, answer)

    async def _take_up(self, asked: QuestionRow, admit: Admit, clock: WaitClock) -> Answer:
        """A question that was asked before (the host restarted, or the turn was parked) is not asked again."""
        if asked.state == "waiting" and asked.timeout_seconds == NEVER:
            raise Parked(asked.id)
        clock.pause()
        try:
            return await self._desk.await_open(asked.id, admit)
        finally:
            clock.resume()

    async def _waited(self, question: ApprovalAsked, admit: Admit, clock: WaitClock) -> Answer:
        clock.pause()
        try:
            return await self._desk.ask(question, admit)
        finally:
            clock.resume()

    async def _unattended_answer(self, registered: Registered, ruling: Ruling, admit: Admit) -> Answer:
        if self._unattended == "deny":
            text = f"{_what(registered)} needs a person's word ({ruling.rule}), and nobody watches this turn."
            raise Refusal(STAGE, "unattended:deny", Reason.POLICY_VIOLATION, f"{text} {STOP_TRYING}")
        question = self._question(registered, ruling, timeout_seconds=NEVER)
        await self._desk.post(question, admit)
        raise Parked(question.approval)

    def _question(self, registered: Registered, ruling: Ruling, *, timeout_seconds: float) -> ApprovalAsked:
        requested = registered.requested
        return ApprovalAsked(
            turn=requested.caller.turn,
            approval=new_id(APPROVAL, self._record.now_us()),
            call=requested.call,
            tool=requested.tool,
            question="approval",
            effect=registered.passport.effect,
            arguments=plain_arguments(registered.arguments),
            what_may_happen=ruling.may_happen,
            doing=requested.caller.doing,
            scopes=ONCE,
            timeout_seconds=timeout_seconds,
            expires_at="" if timeout_seconds == NEVER else self._desk.expires_at(),
        )

    def _judged(self, registered: Registered, answer: Answer) -> Permitted:
        rule = f"approval:{answer.approval}"
        match answer.verdict:
            case "allowed":
                return Permitted(registered=registered, rule=rule)
            case "timed_out":
                text = f"Nobody answered whether {_what(registered)} may run. That is no refusal. {STOP_TRYING}"
                raise Refusal(STAGE, rule, Reason.APPROVAL_TIMEOUT, text)
            case "withdrawn":
                text = f"The question whether {_what(registered)} may run was withdrawn: {answer.text}."
                raise Refusal(STAGE, rule, Reason.INTERRUPTED, text)
            case _:
                said = f" They said: {answer.text}" if answer.text else ""
                text = f"The person refused {_what(registered)}.{said} {STOP_TRYING}"
                raise Refusal(STAGE, rule, Reason.POLICY_VIOLATION, text)

    def _refuse_repeated_intent(self, registered: Registered) -> None:
        """APR-2: the same effect on the same target was refused or left unanswered in this turn."""
        refused = self._record.refused_intents(registered.requested.caller.turn)
        intent = refused.get((registered.passport.effect.value, registered.target))
        if intent is not None and registered.target:
            text = f"{_what(registered)} was asked about before in this turn, with this answer: {intent.text}"
            raise Refusal(STAGE, "same-intent", intent.reason, text)


def plain_arguments(arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - an instance of a tool's own struct
    """Return a call's arguments as plain data, handles in place."""
    plain: dict[str, Any] = msgspec.to_builtins(arguments)
    return plain


def _denied(registered: Registered, ruling: Ruling) -> Refusal:
    text = f"{_what(registered)} is denied here by the rule {ruling.rule}. {STOP_TRYING}"
    return Refusal(STAGE, ruling.rule, Reason.POLICY_VIOLATION, text)


def _what(registered: Registered) -> str:
    target = registered.target
    shown = target if len(target) <= _SHOWN_CHARS else f"{target[:_SHOWN_CHARS]}…"
    return f"{registered.requested.tool} {shown}".strip()
