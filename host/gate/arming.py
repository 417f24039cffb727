"""The fourth stage: secrets stand where their handles stood, for the length of one run (SEC-2).

It also gives the tool its scope: the walls it works behind, its idempotency key, and a way to ask a person.
"""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any, Final, Protocol

import msgspec

from host.errors import PolicyViolation, SecretMissing, TimedOut
from host.gate.desk import NEVER, Desk
from host.gate.permission import STOP_TRYING
from host.gate.stages import Armed, Confined, Parked, Refusal, Registered, WaitClock
from host.ids import APPROVAL, idempotency_key, new_id
from host.record.events import ApprovalAsked
from host.record.record import Admit, Record
from host.stops import Reason
from host.tools.jail import Jail
from host.tools.sandbox import Sandbox
from host.tools.seen import SeenFiles
from host.tools.tool import Scope
from host.vault.broker import Broker

STAGE: Final = "secrets"


class Walls(Protocol):
    """Where calls act."""

    @property
    def jail(self) -> Jail:
        """The workspace and further folders."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """Where commands run."""
        ...

    @property
    def seen(self) -> SeenFiles:
        """What turns saw of files."""
        ...


class Arming:
    """Arms the calls of one group."""

    def __init__(self, broker: Broker, desk: Desk, record: Record, walls: Walls, *, park: bool) -> None:
        """`park` says what becomes of a question that nobody watches: it parks its turn, else it is refused."""
        self._park = park
        self._broker = broker
        self._desk = desk
        self._record = record
        self._walls = walls

    @contextlib.asynccontextmanager
    async def arm(self, confined: Confined, admit: Admit, clock: WaitClock) -> AsyncGenerator[Armed]:
        """Give the call its secrets and its scope while the block runs; raise Refusal."""
        registered = confined.permitted.registered
        try:
            arguments = self._armed(registered)
        except SecretMissing as error:
            raise Refusal(STAGE, "secret", Reason.SECRET_MISSING, error.message) from error
        except PolicyViolation as error:
            raise Refusal(STAGE, "lending", Reason.POLICY_VIOLATION, f"{error.message}. {STOP_TRYING}") from error
        turn, call = registered.requested.caller.turn, registered.requested.call

        async def ask(question: str) -> str:
            return await self._ask(registered, question, admit, clock)

        scope = Scope(
            turn=turn,
            call=call,
            key=idempotency_key(turn, call),
            jail=self._walls.jail,
            sandbox=self._walls.sandbox,
            seen=self._walls.seen,
            ask=ask,
        )
        yield Armed(confined=confined, arguments=arguments, scope=scope)

    def _armed(self, registered: Registered) -> Any:  # noqa: ANN401 - an instance of the passport's struct
        plain = msgspec.to_builtins(registered.arguments)
        passport = registered.passport
        armed = self._broker.arm(plain, passport.name, lendable=passport.lendable)
        return registered.arguments if armed == plain else msgspec.convert(armed, passport.arguments)

    async def _ask(self, registered: Registered, question: str, admit: Admit, clock: WaitClock) -> str:
        """Ask the person for words and wait; raise TimedOut as `approval_timeout` when nobody answers."""
        requested = registered.requested
        asked = self._record.question_of(requested.caller.turn, requested.call)
        known = asked is not None and asked.question == "answer"
        if requested.caller.unattended and not (known and asked and asked.state != "waiting"):
            await self._nobody_watches(registered, question, admit, asked.id if known and asked else "")
        clock.pause()
        try:
            if known and asked is not None:
                answer = await self._desk.await_open(asked.id)
            else:
                seconds = self._desk.timeout_seconds
                answer = await self._desk.ask(self._question(registered, question, seconds), admit)
        finally:
            clock.resume()
        if answer.verdict == "answered":
            return answer.text
        raise Unanswered(answer.verdict)

    async def _nobody_watches(self, registered: Registered, question: str, admit: Admit, open_question: str) -> None:
        """Park the turn on the question, or fail the call at once, as the group says (APR-4)."""
        if not self._park:
            raise Unanswered("unattended")
        if not open_question:
            asked = self._question(registered, question, NEVER)
            await self._desk.post(asked, admit)
            open_question = asked.approval
        raise Parked(open_question)

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
            what_may_happen="The model gets your words.",
            doing=requested.caller.doing,
            scopes=(),
            timeout_seconds=seconds,
            expires_at="" if seconds == NEVER else self._desk.expires_at(),
        )


class Unanswered(TimedOut):
    """Nobody answered the question."""

    reason = Reason.APPROVAL_TIMEOUT

    def __init__(self, verdict: str) -> None:
        """Take what became of the question instead."""
        said = "Nobody answered the question in time." if verdict == "timed_out" else "The person did not answer."
        super().__init__(f"{said} Go on without it, or say what you need.")
