"""The gate: the only path by which a tool call runs.

registry → policy → paths → secrets → execution → masking → accounting. Each stage takes one type and gives the next
(`stages.py`), so leaving one out does not type-check. Every refusal is an answer to the model.
"""

from collections.abc import Callable, Mapping

import msgspec

from host.config.settings import PolicySettings
from host.gate.arming import Arming
from host.gate.confinement import confine
from host.gate.desk import Desk
from host.gate.permission import Permission
from host.gate.registry import Registry
from host.gate.running import Running
from host.gate.settling import mask, settle, settle_refusal
from host.gate.stages import Refusal, Registered, Requested, Settled, WaitClock
from host.policy.policy import Policy
from host.record.record import Admit, Record
from host.tools.jail import Jail
from host.tools.sandbox import Sandbox
from host.tools.seen import SeenFiles
from host.tools.tool import Tool
from host.vault.broker import Broker
from host.vault.masking import Masker


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where a group's calls act."""

    jail: Jail
    sandbox: Sandbox
    seen: SeenFiles


class Gate:
    """The gate of one group; used from any lane's loop."""

    def __init__(  # noqa: PLR0913 - the stages' own parts, given by the composition
        self,
        *,
        tools: Mapping[str, Tool],
        policy: Policy,
        settings: PolicySettings,
        desk: Desk,
        record: Record,
        broker: Broker,
        masker: Masker,
        places: Places,
        fault: Callable[[str], None],
    ) -> None:
        self._tools = dict(tools)
        self._registry = Registry(tools)
        self._permission = Permission(policy, desk, record, settings)
        self._arming = Arming(broker, desk, record, places, park=settings.unattended == "park")
        self._running = Running(record, fault)
        self._record = record
        self._masker = masker
        self._places = places

    async def pass_call(
        self, requested: Requested, admit: Admit, clock: WaitClock, *, resumed: bool = False
    ) -> Settled:
        """Pass a call through all stages; its end is durable when this returns.

        `resumed` says that the call may have been started before a restart. Raises Parked (an unattended call meets a
        question), AuditFailure and what `admit` raises; a cancelled call leaves its start in the journal.
        """
        registered: Registered | None = None
        try:
            registered = self._registry.resolve(requested)
            permitted = await self._permission.permit(registered, admit, clock)
            confined = confine(permitted, self._places.jail)
            async with self._arming.arm(confined, admit, clock) as armed:
                ran = await self._running.run(armed, admit, resumed=resumed)
            masked = mask(ran, self._masker)
            return await settle(masked, self._record, admit)
        except Refusal as refusal:
            target = registered.target if registered else ""
            return await settle_refusal(requested, refusal, target, self._tools, self._record, admit)
