"""How a group is put together from its blueprint: one place that knows every part of it.

`open_group` opens the journal (waiting for a predecessor to let go), builds the walls, the gate and the lanes, and
returns the group. Nothing runs before `Group.resume`.
"""

import functools
import logging
import os
import random
import time
from collections.abc import Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from host.config.home import GroupHome
from host.config.settings import GroupSettings, ModelSettings, SecretSettings
from host.errors import ElisError
from host.faults import Faults, parse
from host.gate.desk import Desk
from host.gate.pipeline import Gate, Places
from host.groups.chat import LANE, Chat, ChatInbox, Current
from host.groups.drafts import Drafts
from host.groups.group import Group, GroupParts
from host.groups.masked_drafts import MaskedDrafts
from host.groups.models import ModelDesk
from host.groups.session import Sessions
from host.groups.unrecorded import Unrecorded
from host.policy.policy import Policy
from host.record.record import Record
from host.record.rows import MessageRow
from host.tools.catalogue import tools_of
from host.turn.beginning import limits_of, resume_turn, start_turn
from host.turn.budget import Day, Limits
from host.turn.ending import Verdict, end_turn
from host.turn.kit import TurnKit
from host.turn.loop import Turn
from host.vault.broker import Broker
from host.vault.masking import Masker
from lanes.lane import Lane, Token

_LOG: Final = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 5.0


class Blueprint(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the process of a group has to know."""

    name: str
    root: str  # the group's folder
    run: str  # the host's run folder
    settings: GroupSettings
    model_name: str  # its key in the settings
    model: ModelSettings
    embedded_key: str  # what the embedded model's process asks for; empty for other models
    secrets: dict[str, SecretSettings]
    faults: str  # what ELIS_FAULTS held when the host was started


def open_group(blueprint: Blueprint) -> Group:
    """Open the group; raise ResourceBusy when its journal is held, AuditFailure, SettingsError or Unsupported."""
    home = GroupHome(root=Path(blueprint.root))
    home.prepare()
    settings, run = blueprint.settings, Path(blueprint.run)
    faults = Faults(parse(blueprint.faults), run / "faults")
    masker = Masker()
    record = Record.open(home.journal, _now_us, mask=masker.lent_tree, fault=faults)
    drafts = Drafts()
    places = Places.open(home.workspace, settings)
    broker = Broker(blueprint.secrets, masker, os.environ, base=run.parent)
    desk = Desk(record, settings.approvals, fault=faults)
    tools = tools_of(settings)
    gate = Gate(
        tools=tools,
        policy=Policy(settings.policy, settings.sandbox),
        desk=desk,
        record=record,
        broker=broker,
        masker=masker,
        places=places,
        settings=settings,
        fault=faults,
        now_us=_now_us,
    )
    raise NotImplementedError(gate, drafts)


def _now_us() -> int:
    return time.time_ns() // 1000
