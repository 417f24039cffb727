"""The fourth stage: secrets stand where their handles stood, for the length of one run (SEC-2).

It also gives the tool its scope: the walls it works behind, its idempotency key, and a way to ask a person.
"""

from typing import Any, Final, Protocol

import msgspec

from host.errors import ElisError, PolicyViolation, ProtocolViolation
from host.gate.asking import Asking
from host.gate.permission import STOP_TRYING
from host.gate.stages import Armed, Confined, Refusal, Registered, WaitClock
from host.ids import idempotency_key
from host.passport import Effect
from host.record.record import Admit
from host.stops import Reason
from host.tools.access import Files
from host.tools.egress import Egress, WayOut
from host.tools.sandbox import Sandbox
from host.tools.seen import SeenFiles
from host.tools.tool import Receiver, Scope
from host.vault.broker import Broker
from host.vault.masking import Masker

STAGE: Final = "secrets"
_SIGN: Final = "«secret:".encode()


class Walls(Protocol):
    """Where calls act."""

    @property
    def jail(self) -> Files:
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

    @property
    def egress(self) -> Egress | None:
        """The way out of the group."""
        ...

    @property
    def receiver(self) -> Receiver:
        """Who is told the results."""
        ...


class Arming:
    """Arms the calls of one group."""

    def __init__(self, broker: Broker, asking: Asking, walls: Walls, masker: Masker) -> None:
        self._broker = broker
        self._masker = masker
        self._asking = asking
        self._walls = walls

    async def arm(self, confined: Confined, admit: Admit, clock: WaitClock) -> Armed:
        """Give the call its secrets and its scope; raise Refusal. Whoever runs it lets go of them after the run."""
        registered = confined.permitted.registered
        requested = registered.requested

        async def ask(question: str) -> str:
            return await self._asking.ask(registered, question, admit, clock)

        key, egress = idempotency_key(requested.caller.turn, requested.call), self._walls.egress
        also = confined.permitted.hosts
        scope = Scope(
            turn=requested.caller.turn,
            call=requested.call,
            key=key,
            jail=self._walls.jail,
            sandbox=self._walls.sandbox,
            seen=self._walls.seen,
            ask=ask,
            reading=registered.analysis is not None and registered.passport.effect is Effect.READ,
            receiver=self._walls.receiver,
            masking=self._masker.stream,
            way_out=None if egress is None else WayOut(egress=egress, caller=key, also=also),
        )
        return Armed(confined=confined, arguments=await self._lent(registered), scope=scope)

    def check(self, registered: Registered) -> None:
        """Raise Refusal where the call names a secret that it may not have: nobody need be asked about it then."""
        if _SIGN not in registered.canonical or registered.passport.person_waits:
            return
        plain = msgspec.to_builtins(registered.arguments)
        try:
            self._broker.check(plain, registered.passport, _let_out_to(registered))
        except ElisError as error:
            raise _not_lent(error) from error

    async def _lent(self, registered: Registered) -> Any:  # noqa: ANN401 - an instance of the passport's struct
        passport = registered.passport
        if passport.person_waits:
            return registered.arguments  # people are asked in the words of the journal: a handle stays a handle
        plain = msgspec.to_builtins(registered.arguments)
        try:
            armed = await self._broker.armed(plain, passport, _let_out_to(registered))
        except ElisError as error:
            raise _not_lent(error) from error
        if armed is plain:
            return registered.arguments
        try:
            filled = passport.fitting(armed)
            if passport.destination_of is None or passport.destination_of(filled) == registered.destination:
                return filled
        except (msgspec.ValidationError, ProtocolViolation):
            # Without the library's words and without its cause: they may quote the value.
            text = f"With its secrets in place the arguments of {passport.name} do not fit its schema any more."
            raise Refusal(STAGE, "secret", Reason.PROTOCOL_VIOLATION, text) from None
        text = f"A secret would change where {passport.name} goes. Secrets belong into headers, body or query."
        raise Refusal(STAGE, "destination", Reason.PROTOCOL_VIOLATION, text)


def _not_lent(error: ElisError) -> Refusal:
    if isinstance(error, PolicyViolation):
        return Refusal(STAGE, "lending", Reason.POLICY_VIOLATION, f"{error.message} {STOP_TRYING}")
    return Refusal(STAGE, "secret", Reason.SECRET_MISSING, error.message)


def _let_out_to(registered: Registered) -> tuple[str, ...]:
    """Return the hosts that a command is let out to beside the list, as entries of it."""
    return tuple(destination.entry for destination in registered.hosts)
