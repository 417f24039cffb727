"""What a tool declares about itself before it may be registered (PASS-1).

A passport is complete by construction: every field without a default must be stated. Tools live in `host.tools`, the
gate reads passports, nobody changes one at run time.
"""

import enum
from collections.abc import Callable, Mapping
from typing import Any, Final

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


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """Where a call goes beyond the machine."""

    scheme: str  # https or http
    host: str  # as written, in lower case
    port: int

    @property
    def authority(self) -> str:
        """Host and port, which is always stated."""
        return f"{self.host}:{self.port}"

    @property
    def entry(self) -> str:
        """As an entry of a list of hosts: that host at that port, and no other."""
        return f"={self.authority}"

    @property
    def target(self) -> str:
        """What intents and accounts call it: the host, with its port where that is an unusual one."""
        return self.host if (self.scheme, self.port) == ("https", 443) else self.authority


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments as a tool server declares them, not the host; they are plain JSON."""

    schema: dict[str, Any]  # JSON Schema as models get it, bounded and without references
    objection: Callable[[dict[str, Any]], str]  # pure: what does not fit in words; empty when all does


class DeclaredElsewhere(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Stands as `arguments` of a passport whose arguments are declared by a tool server."""


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
    needs: frozenset[str]  # model capabilities ("vision"); without one it is refused, unless `fallbacks` has it
    promises_content: bool  # an empty success is a silent failure
    failures: tuple[KnownFailure, ...]
    person_waits: bool = False  # it waits for a person: budget clock and time-out stand still meanwhile
    towards: str = ""  # argument that holds the URL its call goes to; secrets bound to hosts need it (SEC-2)
    fallbacks: Mapping[str, str] = {}  # capability → what serves locally where the model lacks it: {"vision": "OCR"}
    external: str = ""  # what its results are when they come from outside ("web answer"): they are wrapped (CTX-6)
    pages: bool = False  # it keeps to the receiver's limit itself and names the call that goes on (PASS-5)
    command: str = ""  # argument that holds shell text, which is parsed before the policy is asked
    changed_by: str = ""  # argument that names the target of its effect, for accounts ("path", "command")
    effect_of: Callable[[Any], Effect] | None = None  # pure: the class of a call with these (valid) arguments
    destination_of: Callable[[Any], Destination] | None = None  # pure: where it goes; raises ProtocolViolation
    hosts_of: Callable[[Any], tuple[Destination, ...]] | None = None  # pure: hosts its programs need; raises the same
    package_of: Callable[[Any], str] | None = None  # pure: what it installs, in one spelling; raises ProtocolViolation
    declared: Declared | None = None  # what takes the place of `arguments` for a tool of a tool server
    server: str = ""  # the tool server that it belongs to
    held: Callable[[], str] | None = None  # why it may not be used now (PASS-3); empty: it may

    def fitting(self, plain: Any) -> Any:  # noqa: ANN401 - plain data in, an instance of `self.arguments` out
        """Return plain arguments as the tool takes them; raise msgspec.ValidationError, which says what is wrong."""
        if self.declared is None:
            return msgspec.convert(plain, self.arguments, strict=True)
        if objection := self.declared.objection(plain):
            raise msgspec.ValidationError(objection)
        return plain

    def for_call(self, arguments: Any) -> "Passport":  # noqa: ANN401 - an instance of `self.arguments`
        """Return the passport as it holds for one call: `effect` is the gravest class, this call's may be another."""
        return self if self.effect_of is None else self.with_effect(self.effect_of(arguments))

    def with_effect(self, effect: Effect) -> "Passport":
        """Return the passport as it holds for a call of this class.

        What only looks may run beside others, by default without asking, and again after a restart.
        """
        looks = effect not in STATE_CHANGING
        return msgspec.structs.replace(
            self,
            effect=effect,
            reversible=self.reversible or looks,
            parallel=self.parallel and looks,
            default=Decision.ALLOW if looks else self.default,
            replay=Replay.IDEMPOTENT if looks and self.replay is Replay.EFFECT else self.replay,
        )


STATE_CHANGING: Final = frozenset({Effect.WRITE, Effect.EXECUTE, Effect.SEND, Effect.SPEND, Effect.DESTROY})
