"""The types a call passes through.

Requested → Registered → Permitted → Confined → Armed → Ran → Masked → Told → Settled.

Each stage of the pipeline takes one of these and returns the next, so that leaving a stage out is a type error. A
stage that says no raises `Refusal`, which becomes an answer to the model.
"""

from typing import Any, Protocol

import msgspec

from host.passport import Destination, Passport
from host.policy.shell.analysis import Analysis
from host.record.events import ImageSeen
from host.stops import Reason
from host.tools.tool import Scope, Tool, ToolResult


class WaitClock(Protocol):
    """The turn's clock, which stands still while a person is awaited (BUD-1)."""

    def pause(self) -> None:
        """Stand still."""
        ...

    def resume(self) -> None:
        """Go on."""
        ...


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """For whom, and in what, a call is made."""

    turn: str
    principal: str  # "" is nobody known: everything is refused (POL-3)
    unattended: bool
    doing: str  # what the model said just before, for the question to a person


class Requested(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the model asked for it."""

    caller: Caller
    call: str
    tool: str
    arguments: str


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """The tool exists and the arguments fit its schema."""

    requested: Requested
    tool: Tool
    arguments: Any  # an instance of the passport's struct, handles still in place
    canonical: bytes  # sorted JSON of the arguments: equal calls have equal bytes
    passport: Passport  # the tool's declaration as it holds for these arguments
    target: str  # what the effect is on, for intents and accounts
    destination: Destination | None = None  # where it goes beyond the machine
    hosts: tuple[Destination, ...] = ()  # where its programs want to go beyond the machine
    within: str = ""  # the target of the same call without these; who refused that, refused this too
    package: str = ""  # what it would install, in one spelling
    analysis: Analysis | None = None  # of the shell text that it would run


class Permitted(msgspec.Struct, frozen=True, kw_only=True):
    """Policy, and a person where one was asked, let the call run."""

    registered: Registered
    rule: str  # what allowed it: default:read, tool:shell, class:write, approval:ID
    hosts: tuple[str, ...] = ()  # admitted for this call beside the group's list (BOX-6)


class Confined(msgspec.Struct, frozen=True, kw_only=True):
    """Every path argument lies beneath a root of the group."""

    permitted: Permitted


class Armed(msgspec.Struct, frozen=True, kw_only=True):
    """Secrets stand where their handles stood; lives for the length of the run only."""

    confined: Confined
    arguments: Any
    scope: Scope


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """The tool ran, well or not."""

    armed: Armed
    result: ToolResult
    seconds: float


class Masked(msgspec.Struct, frozen=True, kw_only=True):
    """The result without secret values."""

    ran: Ran
    head: str
    text: str
    detail: str
    essence: str  # what of it tells how the world is, where the tool says that; empty: all of it


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The result in the words that the model gets: of a size that it can take, external data wrapped."""

    ran: Ran
    text: str
    detail: str
    essence: str  # what of the text tells how the world is


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The result is in the journal's order, and this is what the turn goes on with. Refused calls end here too."""

    call: str
    tool: str
    ok: bool
    ran: bool  # False: refused before it ran
    misasked: bool = False  # refused by the registry: no such tool, or bad arguments (TURN-4)
    changed_state: bool  # it had an effect
    reason: Reason | None
    text: str  # what the model is told
    image: ImageSeen | None = None  # an image that belongs to it, and what became of it (TURN-7)
    result_hash: str = ""  # of what the result tells of the world (LOOP-1); empty for a refusal


class Refusal(Exception):
    """A stage said no."""

    def __init__(self, stage: str, rule: str, reason: Reason, text: str) -> None:
        """Name the stage, the rule, the reason, and tell the model what it may do instead."""
        super().__init__(text)
        self.stage = stage
        self.rule = rule
        self.reason = reason
        self.text = text


class Parked(Exception):
    """An unattended turn meets a question: it lets go of its lane until the answer comes (APR-4)."""

    def __init__(self, approval: str) -> None:
        """Name the question that the turn waits for."""
        super().__init__(approval)
        self.approval = approval
