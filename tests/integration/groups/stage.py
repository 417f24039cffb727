"""A real group in this process, without Ray, over a real journal, a real sandbox and the scripted model."""

import asyncio
import dataclasses
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from host.config.settings import GroupSettings, ModelSettings, SecretSettings, ServerSettings
from host.groups.assembly import open_group
from host.groups.blueprint import Blueprint
from host.groups.group import Group
from host.groups.port import ApprovalView, EventView, Placement, Say
from host.tools.egress import Outside
from host.vault.masking import Masker
from tests.scripted_model import ScriptedModel

BOUND = 20.0  # seconds; the one bound on every wait


@dataclasses.dataclass
class Stage:
    """A group, its model, and the few moves that tests make."""

    root: Path
    model: ScriptedModel
    settings: GroupSettings = dataclasses.field(default_factory=GroupSettings)
    model_changes: dict[str, Any] = dataclasses.field(default_factory=dict)
    secrets: dict[str, SecretSettings] = dataclasses.field(default_factory=dict)
    servers: dict[str, ServerSettings] = dataclasses.field(default_factory=dict)
    faults: str = ""
    aux: ModelSettings | None = None  # the model named "small", for questions that come before a person's
    outside: Outside | None = None  # the world that its egress proxy reaches
    masker: Masker | None = None  # that a log uses too
    _group: Group | None = None

    @property
    def administrator(self) -> Path:
        """Where the administrator's file would lie."""
        return self.root / "policy.toml"

    @property
    def workspace(self) -> Path:
        """The group's workspace."""
        return self.root / "groups" / "main" / "workspace"

    @property
    def group(self) -> Group:
        """The group, opened when it is first needed."""
        if self._group is None:
            model = ModelSettings(provider="openai", base_url=self.model.base_url, model="scripted")
            self._group = open_group(
                Blueprint(
                    name="main",
                    root=str(self.root / "groups" / "main"),
                    run=str(self.root / "run"),
                    settings=self.settings,
                    model_name="main",
                    model=msgspec.structs.replace(model, **self.model_changes),
                    aux_name="" if self.aux is None else "small",
                    aux=self.aux,
                    embedded_key="",
                    secrets=self.secrets,
                    servers=self.servers,
                    faults=self.faults,
                    administrator_file=str(self.administrator),
                ),
                self.masker,
                outside=self.outside,
            )
            self._group.resume()
        return self._group

    def close(self) -> None:
        """Let go of the group, as a host does at its end: what runs is left resumable."""
        if self._group is not None:
            self._group.close()
            self._group = None

    async def say(self, text: str = "do it", **changes: Any) -> Placement:
        """Say something."""
        return await self.group.say(Say(text=text, key=uuid.uuid4().hex, **changes))

    async def until(self, found: Callable[[EventView], bool], after: int = 0) -> EventView:
        """Return the first event after `after` that `found` accepts."""
        cursor = 0
        async with asyncio.timeout(BOUND):
            while True:
                watched = await self.group.watch(after, cursor, BOUND)
                cursor = watched.cursor
                for event in watched.events:
                    after = event.seq
                    if found(event):
                        return event

    async def ended(self, placement: Placement) -> EventView:
        """Return the final event of the turn of a message, wherever it went."""
        turn = placement.turn
        if not turn:
            started = await self.until(
                lambda event: event.kind == "turn_started" and event.data["message"] == placement.message
            )
            turn = started.turn
        return await self.until(lambda event: event.kind == "turn_ended" and event.turn == turn)

    async def ask(self, text: str = "do it", **changes: Any) -> EventView:
        """Say something and return the final event of its turn."""
        return await self.ended(await self.say(text, **changes))

    async def idle(self) -> None:
        """Wait until the lane is free: a turn's final event comes a moment before that."""
        async with asyncio.timeout(BOUND):
            while (await self.group.view()).lanes[0].state != "idle":
                await asyncio.sleep(0.005)

    async def question(self) -> ApprovalView:
        """Return the question that waits, as soon as there is one."""
        await self.until(lambda event: event.kind == "approval_asked")
        (waiting,) = await self.group.approvals()
        return waiting

    async def kinds(self, turn: str) -> list[str]:
        """Return the kinds of a turn's events."""
        return [event.kind for event in await self.group.turn_events(turn)]
