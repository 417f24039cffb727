"""What a turn is given to work with: ports and settings, assembled once a group by the layer above."""

import random
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

import msgspec

from host.context.conversation import Conversation
from host.gate.pipeline import Gate
from host.models.conversation import Provider
from host.passport import Passport
from host.record.record import Record
from host.record.rows import MessageRow
from host.turn.budget import Day, Limits, Price


class Inbox(Protocol):
    """Messages that were steered into the running turn."""

    def take(self) -> list[MessageRow]:
        """Return and remove what has arrived."""
        ...

    def close_if_empty(self) -> bool:
        """Tell whether nothing waits; if so, nothing will be promised to this turn any more."""
        ...

    def seal(self) -> None:
        """The turn ends whatever waits; what it has not taken goes to the next one."""
        ...


class DraftSink(Protocol):
    """Where text of an unfinished reply goes; never the journal."""

    def begin(self, turn: str, step: int) -> None:
        """An attempt at `step` begins; what an earlier attempt gave is void."""
        ...

    def add(self, turn: str, step: int, text: str) -> None:
        """Pass on `text` as it arrives."""
        ...


class ModelKit(msgspec.Struct, frozen=True, kw_only=True):
    """The model of a turn."""

    name: str  # the name in the settings
    provider: Provider
    price: Price
    tools: bool  # whether it can be asked to call tools
    context_tokens: int
    output_tokens: int


class Aux(msgspec.Struct, frozen=True, kw_only=True):
    """The aux model of a group, where it may answer before a person is asked (APR-6)."""

    name: str  # the name in the settings
    kit: Callable[[], Awaitable[ModelKit]]  # raises SecretMissing or SettingsError


class TurnKit(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a turn uses. Times: `monotonic` seconds, `now` in the group's zone."""

    record: Record
    gate: Gate
    model: ModelKit
    head: bytes  # the rendered stable prefix
    session: str
    conversation: Conversation
    passports: dict[str, Passport]
    limits: Limits
    day: Day
    inbox: Inbox
    drafts: DraftSink
    fault: Callable[[str], None]
    monotonic: Callable[[], float]
    now: Callable[[], datetime]
    random: random.Random
    unrecorded: Callable[[str, str], None]  # takes turn and detail of a final event that the journal could not (TURN-2)
    aux: Aux | None = None  # None: only people answer questions
