"""The second stage: policy, and a person where policy says ask (POL-1, APR-1 to APR-4).

A refused or unanswered intent (effect and target, command by command) gets the same answer for the rest of its turn,
whatever tool asks for it. An unattended call parks its turn or is denied at once, as the group says; it is never taken
as consent.
"""

from typing import Any, Final

import msgspec

from host.excerpts import beginning
from host.gate.assessment import assess
from host.gate.assistance import ASSISTED, Adviser, Assistance
from host.gate.crossing import Crossing, Listed
from host.gate.desk import NEVER, Answer, Desk
from host.gate.intents import ASKED, contained
from host.gate.stages import Parked, Permitted, Refusal, Registered, WaitClock
from host.gate.standing import Standing
from host.ids import APPROVAL, new_id
from host.passport import Decision
from host.policy.grants import Scope, offered
from host.policy.policy import FLOOR, Call, Policy, Ruling, perhaps_told, place_of
from host.record.events import ApprovalAsked
from host.record.record import Admit, Record
from host.record.rows import QuestionRow
from host.stops import Reason

STAGE: Final = "policy"
_SHOWN_CHARS: Final = 200  # of a target in an answer to the model, which knows what it asked for
STOP_TRYING: Final = "Do not try it another way; tell the person that it was not done."


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A call that a person is asked about."""

    registered: Registered
    call: Call
    ruling: Ruling
    crossing: Crossing | None


class Permission:
    """Lets calls through, asks people, or refuses."""

    def __init__(  # noqa: PLR0913 - the parts of the stage, given by the pipeline
        self,
        policy: Policy,
        desk: Desk,
        record: Record,
        standing: Standing,
        listed: Listed,
        assistance: Assistance,
        *,
        bare: bool,
    ) -> None:
        """`bare` says that programs run outside any sandbox."""
        self._policy = policy
        self._desk = desk
        self._record = record
        self._standing = standing
        self._listed = listed
        self._assistance = assistance
        self._bare = bare

    async def permit(
        self, registered: Registered, admit: Admit, clock: WaitClock, adviser: Adviser | None = None
    ) -> Permitted:
        """Return the call with the rule that let it through; raise Refusal or Parked.

        `adviser` is asked before a person, where the group wants that (APR-6).
        """
        caller = registered.requested.caller
        crossing = self._listed.crossing(registered)
        call = assess(registered, crossing, bare=self._bare)
        ruling = self._decide(call)
        if ruling.decision is Decision.DENY:
            raise _denied(registered, ruling)
        if ruling.decision is Decision.ALLOW:
            return _permitted(registered, ruling.rule, crossing)
        self._refuse_repeated_intent(registered)
        about = Asked(registered=registered, call=call, ruling=ruling, crossing=crossing)
        asked = self._record.question_of(caller.turn, registered.requested.call)
        if asked is not None and asked.question == "approval":
            answer = await self._take_up(asked, admit, clock)
        elif (allowed := await self._assisted(about, adviser, admit)) is not None:
            answer = allowed
        elif caller.unattended:
            answer = await self._unattended_answer(about, admit)
        else:
            answer = await self._waited(self._question(about, self._desk.timeout_seconds), admit, clock)
        return self._judged(about, answer)

    def permit_again(self, registered: Registered) -> Permitted:
        """Let a started call run once more, where policy, or the yes that it had, still lets it; raise Refusal.

        Nobody is asked: a no would say that nothing was done, and it may have been (REC-1).
        """
        crossing = self._listed.crossing(registered)
        call = assess(registered, crossing, bare=self._bare)
        ruling = self._decide(call)
        if ruling.decision is Decision.DENY:
            raise _denied(registered, ruling)
        if ruling.decision is Decision.ALLOW:
            return _permitted(registered, ruling.rule, crossing)
        yes = self._record.yes_to(registered.requested.caller.turn, registered.requested.call)
        assisted = yes is not None and yes.question == ASSISTED
        if yes is None or (assisted and self._assistance.case(registered, call, ruling) is None):
            raise Refusal(STAGE, ruling.rule, Reason.UNKNOWN, "")
        about = Asked(registered=registered, call=call, ruling=ruling, crossing=crossing)
        return self._judged(about, Answer(approval=yes.id, verdict=yes.state, by=yes.answered_by, text=yes.text))

    def _decide(self, call: Call) -> Ruling:
        return self._policy.decide(call, self._standing.granted)

    async def _assisted(self, about: Asked, adviser: Adviser | None, admit: Admit) -> Answer | None:
        """Return the aux model's yes; None: the question is a person's, as if nobody had been asked before.

        What it may decide is looked at again once it has spoken, with the settings as they are then (APR-3).
        """
        case = self._assistance.case(about.registered, about.call, about.ruling) if adviser is not None else None
        if adviser is None or case is None:
            return None
        answer = await self._assistance.answer(case, about.registered, about.ruling, adviser, admit)
        now = self._decide(about.call)
        theirs = now.decision is Decision.ASK and self._assistance.case(about.registered, about.call, now) is None
        return None if theirs else answer

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

    async def _unattended_answer(self, about: Asked, admit: Admit) -> Answer:
        if self._policy.settings().unattended == "deny":
            what = _what(about.registered)
            text = f"{what} needs a person's word ({about.ruling.rule}), and nobody watches this turn."
            raise Refusal(STAGE, "unattended:deny", Reason.POLICY_VIOLATION, f"{text} {STOP_TRYING}")
        question = self._question(about, NEVER)
        await self._desk.post(question, admit)
        raise Parked(question.approval)

    def _question(self, about: Asked, timeout_seconds: float) -> ApprovalAsked:
        registered, call = about.registered, about.call
        requested = registered.requested
        parts = about.ruling.parts
        perhaps = perhaps_told(about.ruling.rule)
        scopes = offered(parts, call.kind, once_only=bool(call.once_only or perhaps))
        if about.crossing is not None:
            scopes = tuple(scope for scope in scopes if scope is not Scope.KIND)  # a list is crossed host by host
        told = f" {about.crossing.told(parts)}" if about.crossing else ""
        if registered.analysis is not None:
            told = f" {perhaps or registered.analysis.reason}{told}"
        if registered.passport.server:
            told = f" What it does only the tool server {registered.passport.server} knows; the worst is assumed."
        return ApprovalAsked(
            turn=requested.caller.turn,
            approval=new_id(APPROVAL, self._record.now_us()),
            call=requested.call,
            tool=requested.tool,
            question="approval",
            effect=registered.passport.effect,
            arguments=plain_arguments(registered.arguments),
            what_may_happen=f"{about.ruling.may_happen}{told}",
            doing=requested.caller.doing,
            scopes=scopes,
            parts=parts,
            proposed=self._standing.proposed(parts, call.tool, call.effect, scopes),
            timeout_seconds=timeout_seconds,
            expires_at="" if timeout_seconds == NEVER else self._desk.expires_at(),
        )

    def _judged(self, about: Asked, answer: Answer) -> Permitted:
        registered, rule = about.registered, f"{ASKED}{answer.approval}"
        match answer.verdict:
            case "allowed":
                now = self._decide(about.call)  # an approval raises nobody's rights (APR-3): a denial since then holds
                if now.decision is Decision.DENY:
                    raise _denied(registered, now)
                self._refuse_taken_back(about, now)
                return _permitted(registered, rule, about.crossing)
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

    def _refuse_taken_back(self, about: Asked, now: Ruling) -> None:
        """A host that a standing answer let through, so that it was not in the question, needs that answer still."""
        requested = about.registered.requested
        row = self._record.question_of(requested.caller.turn, requested.call)
        asked = None if row is None else self._record.event(row.seq)
        if about.crossing is None or now.decision is not Decision.ASK or not isinstance(asked, ApprovalAsked):
            return
        if gone := [part.exact for part in now.parts if part not in asked.parts]:
            text = f"The standing answer for {', '.join(gone)} ended while the question waited, so nothing was run."
            raise Refusal(STAGE, about.crossing.rule, Reason.POLICY_VIOLATION, f"{text} Call again to ask for it.")

    def _refuse_repeated_intent(self, registered: Registered) -> None:
        """APR-2: an effect on a target that the call has was refused or left unanswered in this turn."""
        refused = self._record.refused_intents(registered.requested.caller.turn)
        intent = next((refused[each] for each in contained(registered) if each in refused), None) if refused else None
        if intent is not None:
            text = f"{_what(registered)} was asked about before in this turn, with this answer: {intent.text}"
            raise Refusal(STAGE, "same-intent", intent.reason, text)


def _permitted(registered: Registered, rule: str, crossing: Crossing | None) -> Permitted:
    return Permitted(registered=registered, rule=rule, hosts=crossing.hosts if crossing else ())


def plain_arguments(arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - an instance of a tool's own struct
    """Return a call's arguments as plain data, handles in place."""
    plain: dict[str, Any] = msgspec.to_builtins(arguments)
    return plain


def _denied(registered: Registered, ruling: Ruling) -> Refusal:
    why = f" {registered.analysis.reason}" if registered.analysis and ruling.rule.startswith(FLOOR) else ""
    place = place_of(ruling.rule)
    stands = f", which stands in {place}" if place else ""
    text = f"{_what(registered)} is denied here by the rule {ruling.rule}{stands}.{why} {STOP_TRYING}"
    return Refusal(STAGE, ruling.rule, Reason.POLICY_VIOLATION, text)


def _what(registered: Registered) -> str:
    target = registered.target
    shown = beginning(target, _SHOWN_CHARS)
    return f"{registered.requested.tool} {shown}".strip()
