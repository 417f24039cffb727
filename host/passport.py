"""What a tool declares about itself before it may be registered (PASS-1).

A passport is complete by construction: every field without a default must be stated. Tools live in `host.tools`, the
gate reads passports, nobody changes one at run time.
"""

import enum
from typing import Final

import msgspec

from host.stops import Reason


class Effect(enum.StrEnum):
    """The risk class of a call, which decides how it is treated by default (POL-2)."""

    PURE = "pure"  # no input or output but its arguments
    READ = "read"  # looks, changes nothing
    WRITE = "write"  # changes files of the workspace or the group's own records
    EXECUTE = "execute"  # runs a program
    SEND = "send"  # something leaves the machine
    SPEND = "spend"  # money or quota
    DESTROY = "destroy"  # cannot be undone


class Decision(enum.StrEnum):
    """How far a call goes alone."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Replay(enum.StrEnum):
    """What recovery and replay may do with a call that was started (REC-1, REC-3)."""

    PURE = "pure"  # run it again
    IDEMPOTENT = "idempotent"  # run it again with the same key
    EFFECT = "effect"  # never run it again; its outcome is unknown


class KnownFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A way in which the tool fails, and the reason it is reported under."""

    reason: Reason
    when: str  # a clause that completes "It fails … when"


class Passport(msgspec.Struct, frozen=True, kw_only=True):
    """The declaration of one tool."""

    name: str  # what the model calls it
    summary: str  # one or two sentences for the model: what it does, when to use it
    arguments: type[msgspec.Struct]  # the input schema; unknown fields are refused
    effect: Effect
    reversible: bool  # whether a person can undo it
    parallel: bool  # whether it may run beside other calls of its step
    default: Decision  # when the person chose nothing (POL-2)
    timeout_seconds: float
    masks: frozenset[str]  # kinds of typical secret forms masked in its output, beside lent values
    replay: Replay
    network: bool  # whether it reaches beyond the machine
    paths: frozenset[str]  # argument names that hold workspace paths
    lendable: bool  # whether it may be lent secrets that name it in their settings
    needs: frozenset[str]  # model capabilities ("vision") without which it is refused
    promises_content: bool  # an empty success is a silent failure
    failures: tuple[KnownFailure, ...]
    person_waits: bool = False  # it waits for a person: budget clock and time-out stand still meanwhile
    changed_by: str = ""  # argument that names the target of its effect, for accounts ("path", "command")


STATE_CHANGING: Final = frozenset({Effect.WRITE, Effect.EXECUTE, Effect.SEND, Effect.SPEND, Effect.DESTROY})
