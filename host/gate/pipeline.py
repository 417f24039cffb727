"""The gate: the only path by which a tool call runs.

registry → policy → paths → secrets → execution → masking → telling → accounting. Each stage takes one type and gives
the next (`stages.py`), so leaving one out does not type-check. Every refusal is an answer to the model.
"""

from collections.abc import Callable, Mapping

import msgspec

from host.config.packages import PackageList
from host.gate.arming import Arming
from host.gate.asking import Asking
from host.gate.assistance import Adviser, Assistance
from host.gate.confinement import confine
from host.gate.crossing import Listed
from host.gate.desk import Desk
from host.gate.earlier import Earlier
from host.gate.intents import refused_with
from host.gate.judging import Judge
from host.gate.permission import Permission
from host.gate.registry import Registry
from host.gate.running import Running, WaitMeter
from host.gate.settling import mask, settle, settle_refusal
from host.gate.stages import Refusal, Registered, Requested, Settled, WaitClock
from host.gate.standing import Standing
from host.gate.telling import tell
from host.policy.policy import Policy
from host.record.record import Admit, Record
from host.tools.access import Files
from host.tools.egress import Egress
from host.tools.reach import Reach
from host.tools.sandbox import Sandbox
from host.tools.seen import SeenFiles
from host.tools.tool import Receiver, Tool
from host.vault.broker import Broker
from host.vault.masking import Masker


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where a group's calls act."""

    jail: Files
    sandbox: Sandbox
    seen: SeenFiles
    packages: PackageList = PackageList()  # what may be installed
    egress: Egress | None = None  # without one nothing is reached beyond the machine
    receiver: Receiver = Receiver()  # the model that is told the results


class Gate:
    """The gate of one group; used from any lane's loop."""

    def __init__(  # noqa: PLR0913 - the stages' own parts, given by the composition
        self,
        *,
        tools: Mapping[str, Tool],
        policy: Policy,
        desk: Desk,
        standing: Standing,
        record: Record,
        broker: Broker,
        masker: Masker,
        places: Places,
        judge: Judge,
        fault: Callable[[str], None],
    ) -> None:
        asking = Asking(desk, record, park=lambda: policy.settings().unattended == "park")
        self._judge = judge
        self._registry = Registry(tools, judge, places.receiver)
        listed = Listed(places.egress, places.packages, places.sandbox.reach)
        assistance = Assistance(
            record,
            confined=places.sandbox.reach is not Reach.ANYTHING,
            reaching=places.egress is None or bool(places.egress.hosts),
            broken=policy.broken,
            fault=fault,
        )
        self._permission = Permission(policy, desk, record, standing, listed, assistance, bare=places.sandbox.bare)
        self._jail = places.jail
        self._arming = Arming(broker, asking, places, masker)
        self._running = Running(record, masker, fault)
        self._earlier = Earlier(record, masker)
        self._masker = masker
        self._receiver = places.receiver
        self._record = record

    async def pass_call(
        self,
        requested: Requested,
        admit: Admit,
        clock: WaitClock,
        *,
        adviser: Adviser | None = None,
        resumed: bool = False,
    ) -> Settled:
        """Pass a call through all stages; its end is durable when this returns.

        `adviser` may answer before a person is asked (APR-6); None leaves all questions to people. `resumed` says that
        the call may have been started before a restart. Raises Parked (an unattended call meets a
        question), AuditFailure and what `admit` raises. A call that is cancelled while it runs is recorded
        as interrupted, unless its lane was given up: then it stays started, for whoever resumes the turn.
        """
        waits = WaitMeter(clock)
        registered: Registered | None = None
        earlier = self._earlier.of(requested)
        started = earlier if earlier is not None and earlier.state == "started" else None
        try:
            requested = self._registry.meant(requested)
            if earlier is not None and started is None:
                return await self._earlier.told_again(requested, earlier, admit)
            registered = await self._registry.resolve(requested)
            self._arming.check(registered)
            if started is None:
                permitted = await self._permission.permit(registered, admit, clock, adviser)
            else:
                self._earlier.check_again(registered, started, resumed=resumed)
                permitted = self._permission.permit_again(registered)
            confined = await confine(permitted, self._jail)
            armed = await self._arming.arm(confined, admit, waits)
            ran = await self._running.run(armed, admit, waits, again=started is not None)
            masked = mask(ran, self._masker)
            told = await tell(masked, self._jail, self._receiver)
            return await settle(told, self._record, admit)
        except Refusal as refusal:
            if started is not None:
                return self._earlier.unknown(started, registered, refusal, admit)
            return await self._refuse(requested, registered, refusal, admit)

    def register(self, tools: Mapping[str, Tool]) -> None:
        """Take these tools from here on; called where a session may begin, never within one (CTX-2)."""
        self._registry = Registry(tools, self._judge, self._receiver)

    async def may_run_beside(self, tool: str, arguments: str) -> bool:
        """Say whether a call as the model wrote it may run beside others of its step (PASS-2)."""
        return await self._registry.may_run_beside(tool, arguments)

    async def _refuse(
        self, requested: Requested, registered: Registered | None, refusal: Refusal, admit: Admit
    ) -> Settled:
        masked = Refusal(refusal.stage, refusal.rule, refusal.reason, self._masker.text(refusal.text))
        known = (
            (registered.passport.effect, registered.target, refused_with(registered, refusal.rule))
            if registered
            else (self._registry.effect_of(requested.tool), "", ())
        )
        return await settle_refusal(requested, masked, known, self._record, admit)
