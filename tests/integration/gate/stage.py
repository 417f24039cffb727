"""A gate over a real journal, jail and desk, with tools that tests describe."""

import asyncio
import dataclasses
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from host.config.live import PolicyNow
from host.config.settings import GroupSettings, PolicySettings, SandboxSettings, SecretSettings
from host.gate.desk import Desk
from host.gate.judging import at_once
from host.gate.pipeline import Gate, Places
from host.gate.stages import Caller, Requested, Settled
from host.gate.standing import Standing
from host.passport import Decision, Effect, Passport, Replay
from host.policy.policy import OPERATOR, Policy
from host.record.events import CallAsked, GroupEvent, ResponseReceived
from host.record.record import Record
from host.record.rows import QuestionRow
from host.tools.catalogue import tools_of
from host.tools.jail import Jail
from host.tools.local_files import LocalFiles
from host.tools.sandbox import sandbox_from
from host.tools.seen import SeenFiles
from host.tools.tool import Scope, ToolResult
from host.vault.broker import Broker
from host.vault.masking import Masker

BOUND = 10.0  # seconds; the one bound on every wait
TURN = "t1"

Work = Callable[["Words", Scope], Awaitable[ToolResult]]


class Words(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a probe takes."""

    text: str = ""
    path: str = ""


async def _done(arguments: Words, _: Scope) -> ToolResult:
    return ToolResult(text=f"did {arguments.text}")


class Probe:
    """A tool that does what a test says and remembers what it was given."""

    def __init__(self, work: Work = _done, **changes: Any) -> None:
        self.given: list[Words] = []
        self._work = work
        usual = Passport(
            name="probe",
            summary="Does what a test says.",
            arguments=Words,
            effect=Effect.READ,
            reversible=True,
            parallel=False,
            default=Decision.ALLOW,
            timeout_seconds=BOUND,
            masks=frozenset(),
            replay=Replay.EFFECT,
            network=False,
            paths=frozenset({"path"}),
            lendable=True,
            needs=frozenset(),
            promises_content=True,
            failures=(),
            changed_by="text",
        )
        self.passport = msgspec.structs.replace(usual, **changes)

    async def run(self, arguments: Words, scope: Scope) -> ToolResult:
        """Do it."""
        self.given.append(arguments)
        return await self._work(arguments, scope)


@dataclasses.dataclass
class Clock:
    """A turn's clock that counts how often it stood still, and whether it does now."""

    pauses: int = 0
    paused: bool = False

    def pause(self) -> None:
        """Stand still."""
        self.pauses += 1
        self.paused = True

    def resume(self) -> None:
        """Go on."""
        self.paused = False


@dataclasses.dataclass
class GateStage:
    """One group's gate. What is changed before `gate` is first used counts."""

    root: Path
    now_us: list[int] = dataclasses.field(default_factory=lambda: [1_800_000_000_000_000])
    policy: PolicySettings = dataclasses.field(default_factory=PolicySettings)
    timeout_seconds: float = BOUND
    secrets: dict[str, SecretSettings] = dataclasses.field(default_factory=dict)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    reserved: tuple[str, ...] = ()
    tools: dict[str, Any] = dataclasses.field(default_factory=lambda: dict(tools_of(GroupSettings())))
    fault: Callable[[str], None] = lambda _point: None
    clock: Clock = dataclasses.field(default_factory=Clock)
    masker: Masker = dataclasses.field(default_factory=Masker)

    def __post_init__(self) -> None:
        """Make the folders and open."""
        self.workspace = self.root / "workspace"
        self.workspace.mkdir(exist_ok=True)
        self._count = itertools.count()
        self.open()

    def open(self) -> None:
        """Open the journal and put the gate together: a start of the host."""
        self.record = Record.open(self.root / "journal.db", lambda: self.now_us[0], mask=self.masker.lent_tree)
        self.desk = Desk(self.record, timeout_seconds=self.timeout_seconds, fault=self.fault)
        self.jail = Jail.open(self.workspace, {})
        sandbox = sandbox_from(SandboxSettings(backend="none"), self.jail.roots)
        self.places = Places(jail=LocalFiles(self.jail), sandbox=sandbox, seen=SeenFiles())
        self._gate: Gate | None = None

    def close(self) -> None:
        """Let go of everything: an end of the host."""
        self.record.close()
        self.jail.close()

    def restart(self) -> None:
        """End and start; the tools stay."""
        self.close()
        self.open()
        self.desk.reopen()

    @property
    def gate(self) -> Gate:
        """The gate."""
        if self._gate is None:
            self.desk.timeout_seconds = self.timeout_seconds
            self._gate = Gate(
                judge=at_once,
                tools=self.tools,
                policy=Policy(lambda: PolicyNow(group=self.policy)),
                standing=Standing(self.record),
                desk=self.desk,
                record=self.record,
                broker=Broker(self.secrets, self.masker, self.environment, base=self.root, reserved=self.reserved),
                masker=self.masker,
                places=self.places,
                fault=self.fault,
            )
        return self._gate

    def probe(self, work: Work = _done, **changes: Any) -> Probe:
        """Add a probe to the tools."""
        probe = Probe(work, **changes)
        self.tools[probe.passport.name] = probe
        return probe

    async def call(self, tool: str = "probe", arguments: Any = None, **about: Any) -> Settled:
        """Pass a call through the gate, journaled as asked before; `again` repeats an earlier call's id."""
        requested = self.requested(tool, arguments, **about)
        if "again" not in about:
            await self.record.append(_asked(requested))
        async with asyncio.timeout(BOUND):
            settled = await self.gate.pass_call(
                requested, about.get("admit", lambda: None), self.clock, resumed=about.get("resumed", False)
            )
            await self.record.commit(lambda _: None)  # a result is posted; what is committed next comes after it
            return settled

    def requested(self, tool: str, arguments: Any = None, **about: Any) -> Requested:
        """A call with the next id."""
        raw = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
        return Requested(
            caller=Caller(
                turn=TURN,
                principal=about.get("principal", OPERATOR),
                unattended=about.get("unattended", False),
                doing="I look.",
            ),
            call=about.get("again") or f"1.{next(self._count)}",
            tool=tool,
            arguments=raw,
        )

    async def question(self) -> QuestionRow:
        """Return the question that waits, as soon as there is one."""
        told = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell(_seq: int) -> None:
            loop.call_soon_threadsafe(told.set)

        unlisten = self.record.journal.listen(tell)
        try:
            async with asyncio.timeout(BOUND):
                while not (waiting := self.record.waiting_questions()):
                    await told.wait()
                    told.clear()
                return waiting[0]
        finally:
            unlisten()

    def events(self) -> list[GroupEvent]:
        """Return the journal's events but for the model's replies."""
        return [stored.event for stored in self.record.read() if not isinstance(stored.event, ResponseReceived)]

    def kinds(self) -> list[str]:
        """Return their kinds."""
        return [str(type(event).__struct_config__.tag) for event in self.events()]


def _asked(requested: Requested) -> ResponseReceived:
    asked = CallAsked(call=requested.call, provider_id="p", tool=requested.tool, arguments=requested.arguments)
    return ResponseReceived(
        turn=requested.caller.turn,
        step=1,
        attempt=1,
        purpose="step",
        text="",
        calls=(asked,),
        finish="tool_calls",
        tokens_in=1,
        tokens_out=1,
        tokens_cached=0,
        cost_usd=0.0,
        estimated=False,
        seconds=0.0,
    )
