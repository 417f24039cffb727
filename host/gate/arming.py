"""The fourth stage: secrets stand where their handles stood, for the length of one run (SEC-2).

It also gives the tool its scope: the walls it works behind, its idempotency key, and a way to ask a person.
"""

from typing import Any, Final, Protocol

import msgspec

from host.errors import ElisError, PolicyViolation
from host.gate.asking import Asking
from host.gate.permission import STOP_TRYING
from host.gate.stages import Armed, Confined, Refusal, Registered, WaitClock
from host.ids import idempotency_key
from host.record.record import Admit
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

    def __init__(self, broker: Broker, asking: Asking, walls: Walls) -> None:
        self._broker = broker
        self._asking = asking
        self._walls = walls

    def arm(self, confined: Confined, admit: Admit, clock: WaitClock) -> Armed:
        """Give the call its secrets and its scope; raise Refusal. Whoever runs it lets go of them after the run."""
        registered = confined.permitted.registered
        requested = registered.requested

        async def ask(question: str) -> str:
            return await self._asking.ask(registered, question, admit, clock)

        scope = Scope(
            turn=requested.caller.turn,
            call=requested.call,
            key=idempotency_key(requested.caller.turn, requested.call),
            jail=self._walls.jail,
            sandbox=self._walls.sandbox,
            seen=self._walls.seen,
            ask=ask,
        )
        return Armed(confined=confined, arguments=self._lent(registered), scope=scope)

    def _lent(self, registered: Registered) -> Any:  # noqa: ANN401 - an instance of the passport's struct
        passport = registered.passport
        plain = msgspec.to_builtins(registered.arguments)
        try:
            armed = self._broker.arm(plain, passport)
        except PolicyViolation as error:
            raise Refusal(STAGE, "lending", Reason.POLICY_VIOLATION, f"{error.message} {STOP_TRYING}") from error
        except ElisError as error:
            raise Refusal(STAGE, "secret", Reason.SECRET_MISSING, error.message) from error
        if armed is plain:
            return registered.arguments
        try:
            return msgspec.convert(armed, passport.arguments)
        except msgspec.ValidationError:
            # Without the library's words and without its cause: they may quote the value.
            text = f"With its secrets in place the arguments of {passport.name} do not fit its schema any more."
            raise Refusal(STAGE, "secret", Reason.PROTOCOL_VIOLATION, text) from None
