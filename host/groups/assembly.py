"""How a group is put together from its blueprint: one place that knows every part of it.

`open_group` opens the journal (waiting for a predecessor to let go), builds the walls, the gate and the lanes, and
returns the group. Nothing runs before `Group.resume`.
"""

import asyncio
import contextlib
import os
import random
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from host.config.home import GroupHome, Home
from host.config.live import LivePolicy
from host.config.packages import PackageList
from host.config.servers import lent_to
from host.config.settings import ModelSettings
from host.context.conversation import Conversation
from host.errors import AuditFailure, ElisError
from host.faults import Faults, parse
from host.gate.checking import Checked, check
from host.gate.desk import Desk
from host.gate.judging import Judging
from host.gate.pipeline import Gate, Places
from host.gate.standing import Standing
from host.groups.blueprint import Blueprint
from host.groups.chat import LANE, Chat
from host.groups.connections import Connections
from host.groups.current import STOPPED
from host.groups.drafts import Drafts
from host.groups.group import Group, GroupParts
from host.groups.inbox import ChatInbox
from host.groups.masked_drafts import MaskedDrafts
from host.groups.models import GroupModels
from host.groups.recovery import Recovery
from host.groups.session import Session, Sessions
from host.groups.tool_servers import Surroundings, ToolServers
from host.groups.unrecorded import Unrecorded
from host.models.conversation import Provider
from host.policy.leak import leak_of
from host.policy.policy import Policy
from host.record.record import Admit, Record
from host.record.rows import MessageRow
from host.tools.catalogue import tools_of
from host.tools.egress import Egress, Outside
from host.tools.jail import Jail
from host.tools.reach import Reach
from host.tools.sandbox import files_of, sandbox_from
from host.tools.seen import SeenFiles
from host.tools.text import answer_bytes
from host.tools.tool import Receiver
from host.turn.beginning import end_unbegun, limits_of, resume_turn, start_turn, state_of
from host.turn.budget import Day, Limits
from host.turn.ending import Verdict
from host.turn.kit import ModelKit, TurnKit
from host.turn.loop import Turn
from host.turn.state import TurnState
from host.vault.broker import Broker
from host.vault.masking import Masker
from lanes.errors import LaneError, StaleGeneration
from lanes.lane import Lane, Token

TURNS_READ_BACK: Final = 200  # more do not fit any window that is affordable; the journal keeps them all
CLOSE_SECONDS: Final = 5.0


def open_group(blueprint: Blueprint, masker: Masker | None = None, *, outside: Outside | None = None) -> Group:
    """Open the group; raise ResourceBusy when its journal is held, AuditFailure, SettingsError or Unsupported.

    `masker` is the one that the process's log uses too, so that what is lent here is not logged there. `outside` is the
    world as the egress proxy reaches it; nobody but a test passes another than the real one.
    """
    home = GroupHome(root=Path(blueprint.root))
    home.prepare()
    run = Path(blueprint.run)
    faults = Faults(parse(blueprint.faults), run / "faults")
    masker = masker or Masker()
    record = Record.open(home.journal, _now_us, mask=masker.lent_tree, fault=faults)
    assembled = _Assembled(blueprint, home, record, masker, faults, outside)
    return Group(assembled.parts(Unrecorded(run / "unrecorded" / blueprint.name, LANE, assembled.drafts)))


class _Assembled:
    """The parts of one group and the turns they make."""

    def __init__(
        self,
        blueprint: Blueprint,
        home: GroupHome,
        record: Record,
        masker: Masker,
        faults: Faults,
        outside: Outside | None,
    ) -> None:
        settings = blueprint.settings
        host_folder = Path(blueprint.run).parent
        self.blueprint = blueprint
        self.record = record
        self.masker = masker
        self.faults = faults
        self.drafts = Drafts()
        self.sink = MaskedDrafts(self.drafts, masker)
        self.egress = Egress(
            settings.sandbox.network, group=blueprint.name, on_connection=Connections(record), outside=outside
        )
        self.jail = Jail.open(home.workspace, settings.folders)
        self.places = _places(blueprint, self.jail, self.egress)
        self.standing = Standing(record)
        self.desk = Desk(record, timeout_seconds=settings.approvals.timeout_seconds, fault=faults)
        self.tools = tools_of(settings)
        self.policy = Policy(self._live_policy().now)
        self.passports = {name: tool.passport for name, tool in self.tools.items()}
        self.broker = self._broker(host_folder)
        self.servers = self._tool_servers(outside)
        self.judging = Judging(faults, confined=self.places.sandbox.reach is not Reach.ANYTHING)
        self.gate = self._gate()
        self.models = GroupModels(blueprint, masker, base=host_folder)
        self.sessions = Sessions(record, home.charter, self.passports.values())
        self.zone = ZoneInfo(settings.timezone) if settings.timezone else None
        self.day = Day(
            tokens=_limit(settings.daily.tokens), cost_usd=_limit(settings.daily.cost_usd), spent=self._spent_today
        )
        self.limits = Limits(**msgspec.structs.asdict(settings.budget))
        self.conversation: Conversation | None = None
        self.lane = Lane(LANE)
        self.recovery = Recovery(self._recover)
        self.chat = Chat(
            record,
            self.lane,
            self._run_turn,
            self._torn,
            self._not_recorded,
            try_again=self.recovery.wake,
            queue_limit=settings.lanes.queue,
            fault=faults,
        )
        self.unrecorded: Unrecorded | None = None
        self.closing = False

    def _gate(self) -> Gate:
        return Gate(
            tools=self.tools,
            policy=self.policy,
            desk=self.desk,
            standing=self.standing,
            record=self.record,
            broker=self.broker,
            masker=self.masker,
            places=self.places,
            judge=self.judging.judge,
            fault=self.faults,
        )

    def _broker(self, host_folder: Path) -> Broker:
        key = self.blueprint.model.api_key
        reserved = {
            f"file:{Home(root=host_folder).token_file}",
            *self.blueprint.reserved,
            *(() if key is None else (key,)),
        }
        sandbox = self.blueprint.settings.sandbox
        broker = Broker(
            self.blueprint.secrets,
            self.masker,
            os.environ,
            base=host_folder,
            reserved=reserved,
            of_servers=lent_to(self.blueprint.servers.values()),
            reaches={"shell": ("*",) if sandbox.backend in {"none", "ssh"} else sandbox.network},
        )
        broker.mask_from_the_start()
        return broker

    def _tool_servers(self, outside: Outside | None) -> ToolServers:
        around = Surroundings(
            group=self.blueprint.name,
            roots=self.jail.roots,
            broker=self.broker,
            on_connection=Connections(self.record),
            outside=outside,
        )
        return ToolServers(self.blueprint.servers, self.record, around)

    async def _offer_tools(self, turn: str, admit: Admit) -> None:
        """Fix what can be called and what is shown, for the session that this turn begins or goes on with."""
        if not self.blueprint.servers:
            return
        await self.servers.first_sight(turn, admit)
        tools, shown = self.servers.offered(self.tools)
        self.gate.register(tools)
        self.sessions.show(shown)

    def _leak(self) -> str:
        found = leak_of(
            self.blueprint.name,
            self.blueprint.settings,
            self.policy.settings(),
            servers=self.blueprint.servers,
            granted=self.standing.granted(),
        )
        return found.text if found else ""

    def _check_command(self, text: str) -> Checked:
        analysis = self.judging.wait(text)
        return check(analysis, self.policy, self.standing.granted, bare=self.places.sandbox.bare)

    def _live_policy(self) -> LivePolicy:
        written = self.blueprint.settings_file
        return LivePolicy(
            self.blueprint.name,
            self.blueprint.settings.policy,
            settings_file=Path(written) if written else None,
            tool_names=frozenset(self.tools),
            administrator=Path(self.blueprint.administrator_file),
        )

    def parts(self, unrecorded: Unrecorded) -> GroupParts:
        """Return what the group is made of."""
        self.unrecorded = unrecorded
        settings = self.blueprint.settings
        return GroupParts(
            name=self.blueprint.name,
            model=f"{self.blueprint.model_name} ({self.blueprint.model.model or self.blueprint.model.provider})",
            stop_words=settings.stop_words,
            midnight_us=self._midnight_us,
            daily_cost_usd=settings.daily.cost_usd,
            record=self.record,
            chat=self.chat,
            desk=self.desk,
            standing=self.standing,
            leak=self._leak,
            check_command=self._check_command,
            servers=self.servers,
            drafts=self.drafts,
            sessions=self.sessions,
            unrecorded=unrecorded,
            mask=self.masker.text,
            lent=self.masker.lent_tree,
            pid=os.getpid(),
            close=self._close,
        )

    async def _run_turn(self, message: MessageRow, turn: str, token: Token) -> None:
        """Run `turn` on the lane's loop: start it, or take it up where it was."""
        row = self.record.turn(turn)
        admit = self._admit(token)
        try:
            await self.broker.ready()
            model = await self.models.main.kit()
            await self._offer_tools(turn, admit)
            session = await self.sessions.current(model.provider, admit)
            if row is None:
                state: TurnState | None = await start_turn(
                    self.record,
                    message,
                    turn=turn,
                    lane=LANE,
                    session=session.id,
                    model=model.name,
                    limits=self.limits,
                    admit=admit,
                )
            else:
                state = await resume_turn(self.record, row, admit, giving_up=lambda: self.chat.floor.seal(turn))
            if state is not None:
                kit = self._kit(model, session, state, token)
                await Turn(kit, state, admit, resumed=row is not None).run()
        except ElisError as error:
            self.chat.floor.seal(turn)
            await self._end(message, turn, Verdict(reason=error.reason, detail=error.message), admit)
        except asyncio.CancelledError:
            self.chat.floor.seal(turn)
            await self._end(message, turn, STOPPED, admit)
        finally:
            self.sink.end(turn)
            self.places.seen.forget(turn)
            if token.generation != self.lane.generation:
                await self.models.leave()

    async def _end(self, message: MessageRow, turn: str, verdict: Verdict, admit: Admit) -> None:
        try:
            await self.record.commit(end_unbegun(message, turn, LANE, verdict), admit)
        except AuditFailure as error:
            self._not_recorded(turn, error.message)

    def _kit(self, model: ModelKit, session: Session, state: TurnState, token: Token) -> TurnKit:
        current = self.chat.floor.current
        assert current is not None  # noqa: S101 - this runs because it is the current turn
        return TurnKit(
            record=self.record,
            gate=self.gate,
            model=model,
            head=session.head,
            session=session.id,
            conversation=self._conversation(model.provider),
            passports=self.passports,
            limits=limits_of(state.started) if state.started else self.limits,
            day=self.day,
            inbox=ChatInbox(self.chat.floor, current, token),
            drafts=self.sink,
            fault=self.faults,
            monotonic=time.monotonic,
            now=self._now,
            random=random.Random(),  # noqa: S311 - jitter of retries
            unrecorded=self._not_recorded,
            aux=self.models.adviser,
        )

    def _conversation(self, provider: Provider) -> Conversation:
        """The conversation of the lane so far; read back from the journal once a process."""
        if self.conversation is None:
            conversation = Conversation(provider.message)
            rows = [row for row in self.record.latest_turns(TURNS_READ_BACK) if row.state == "ended"]
            conversation.load((row.turn, state_of(self.record, row).closed_messages()) for row in reversed(rows))
            self.conversation = conversation  # not before: one that was read by half is read again
        return self.conversation

    def _not_recorded(self, turn: str, detail: str) -> None:
        assert self.unrecorded is not None  # noqa: S101 - set before anything runs
        self.chat.halt()
        self.unrecorded.keep(self.record, turn, detail)
        self.recovery.wake()

    def _recover(self) -> None:
        """Enter what the journal could not take, and go on; raise AuditFailure or JournalError if it still cannot."""
        assert self.unrecorded is not None  # noqa: S101 - set before anything runs
        self.unrecorded.enter_pending(self.record)
        self.chat.recover()

    def _torn(self, turn: str) -> None:
        """A lane thread was abandoned: end what it may have left behind."""
        self.places.sandbox.kill_all()
        self.servers.cut()
        self.egress.end(turn)
        self.desk.withdraw_turn(turn)
        self.drafts.end(turn)
        self.conversation = None  # its thread may still be changing it

    def _spent_today(self) -> tuple[int, float]:
        spent = self.record.spend(self._midnight_us())
        return spent.tokens, spent.cost_usd

    def _now(self) -> datetime:
        return datetime.now(self.zone) if self.zone else datetime.now().astimezone()

    def _midnight_us(self) -> int:
        return int(self._now().replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1e6)

    def _admit(self, token: Token) -> Callable[[], None]:
        """What a turn does counts while its lane has this generation and the group is not being closed."""

        def admit() -> None:
            token.check()
            if self.closing:
                raise StaleGeneration(token.lane, token.generation)

        return admit

    def _close(self) -> None:
        # From here on nothing is admitted: what still runs gets no final event and is resumed at the next start.
        self.closing = True
        self.recovery.close(CLOSE_SECONDS)
        with contextlib.suppress(LaneError, TimeoutError):
            self.lane.start(lambda _: self.models.leave(), "close").done.result(CLOSE_SECONDS)
        self.places.sandbox.kill_all()
        self.servers.close()
        self.lane.close(CLOSE_SECONDS)
        self.egress.close()
        self.judging.close()
        self.record.close()
        self.places.jail.close()
        self.jail.close()


def _receiver(model: ModelSettings) -> Receiver:
    """Return what the group's model can take of a result (CTX-3, TURN-7)."""
    return Receiver(answer_bytes=answer_bytes(model.context_tokens), capabilities=frozenset(model.capabilities))


def _places(blueprint: Blueprint, jail: Jail, egress: Egress) -> Places:
    """Open where the group's calls act; what an earlier process of it left running there is ended first."""
    settings = blueprint.settings
    sandbox = sandbox_from(settings.sandbox, jail.roots, egress)
    sandbox.end_leftovers()
    return Places(
        jail=files_of(sandbox, jail),
        sandbox=sandbox,
        seen=SeenFiles(),
        packages=PackageList(settings.sandbox.packages),
        egress=egress,
        receiver=_receiver(blueprint.model),
    )


def _limit(limit: float | None) -> float:
    return float("inf") if limit is None else limit


def _now_us() -> int:
    return time.time_ns() // 1000
