"""What people chose and what the risk suggests: allow, ask or deny (POL-1 to POL-4, POL-9).

Pure: it knows what a call would do, the settings and the standing grants, and answers with the rule that decided. Who
is asked, and what they said, is the gate's. The order of POL-1 is `decide`, to be read from top to bottom.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from host.config.live import PolicyNow
from host.config.settings import PolicySettings
from host.passport import Decision, Effect
from host.policy.grants import covering, kind_key
from host.policy.shell.patterns import Fit
from host.record.events import Part

OPERATOR: Final = "operator"
PRINCIPALS: Final = frozenset({OPERATOR})  # schedules and other groups come with the parts that know them (POL-7)

MAY_HAPPEN: Final[dict[Effect, str]] = {
    Effect.PURE: "Nothing outside the reply changes.",
    Effect.READ: "The model sees what it reads.",
    Effect.WRITE: "Files of the workspace change; earlier versions are kept.",
    Effect.EXECUTE: "A program runs in the sandbox. It can change or remove any file of the workspace.",
    Effect.SEND: "Something leaves this machine and cannot be called back.",
    Effect.SPEND: "Money or quota is used.",
    Effect.DESTROY: "Something is removed for good.",
}
BARE: Final = (
    "A program runs on this machine without a sandbox. It can read, change or remove whatever the host's user can, and"
    " reach the network."
)
FLOOR: Final = "floor"
PERHAPS: Final = "perhaps:"
"""Begins the rule by which a person is asked whether a command is one that `deny_commands` forbids."""
_ADMINISTRATOR: Final = "administrator:"


def _fits_none(_pattern: str) -> Fit:
    return Fit.NO


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What a call would do, as far as it matters here."""

    tool: str
    effect: Effect
    default: Decision  # when nobody chose
    principal: str  # "" is nobody known
    parts: tuple[Part, ...] = ()  # what a grant would have to cover; empty: only a grant of its kind does
    floor: str = ""  # which part of the hard floor it falls under; empty: none
    once_only: str = ""  # why it is asked about each time anew, as a rule's name; empty: it is not
    unclear: bool = False  # it cannot be told from the floor; always asked about, also by "let it run"
    crossing: str = ""  # what it would reach beyond a list of the settings, as a rule's name (BOX-6); empty: nothing
    beyond: tuple[Part, ...] = ()  # each thing that it would reach there; may be what `parts` holds
    together: tuple[Part, ...] = ()  # of a command that would reach beyond: each of `parts` with all of `beyond`
    bare: bool = False  # a program would run outside any sandbox (BOX-3)
    fits: Callable[[str], Fit] = _fits_none  # how far a pattern of `deny_commands` fits one of its commands

    @property
    def kind(self) -> str:
        """The key of its kind, see `host.policy.grants`."""
        return kind_key(self.tool, self.effect)

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """All that grants might have to cover, each once."""
        return tuple(dict.fromkeys((*self.parts, *self.beyond)))


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What the policy says of a call."""

    decision: Decision
    rule: str  # what decided: floor:NAME, tool:NAME, class:CLASS, default:CLASS, grant:ID, everything, …
    may_happen: str  # for the person who is asked
    parts: tuple[Part, ...] = ()  # where a person is asked: what a wider answer would cover


class Policy:
    """The policy of one group."""

    def __init__(self, now: Callable[[], PolicyNow]) -> None:
        """`now` tells what the settings and the administrator say at the moment of a call."""
        self._now = now

    def settings(self) -> PolicySettings:
        """Return the group's own settings as they stand, narrowed by the administrator."""
        now = self._now()
        unattended = "deny" if now.administrator.never_park else now.group.unattended
        everything = "ask" if now.administrator.never_let_run else now.group.everything
        return msgspec.structs.replace(now.group, unattended=unattended, everything=everything)

    def broken(self) -> bool:
        """Say whether the settings cannot be acted on now, so that nothing of the group's own but a no counts."""
        return bool(self._now().broken)

    def decide(self, call: Call, granted: Callable[[], Mapping[str, str]]) -> Ruling:
        """Return the ruling for `call`.

        `granted` gives for each key of a standing grant the grant's id; it is asked only where that matters.
        """
        now = self._now()
        refused = _refused(call, now)
        if refused:
            return _ruling(Decision.DENY, refused, call)
        # nor does a grant, or "let it run", say that what may be denied is not
        asked = _perhaps_denied(call, now) or _administrators_ask(call, now)
        if asked:
            return _ruling(Decision.ASK, asked, call)
        return _let_run(_chosen(call, now, granted), call, now)


def _refused(call: Call, now: PolicyNow) -> str:
    """Return the rule that forbids the call, nothing where none does."""
    # POL-3: where it is not known for whom, or what the administrator forbids, nothing is done
    if call.principal not in PRINCIPALS:
        return "principal"
    if now.unreadable:
        return "administrator:unreadable"
    # POL-4: the hard floor cannot be switched off
    if call.floor:
        return f"{FLOOR}:{call.floor}"
    # POL-1: any deny that fits, wherever it stands
    return _deny_of(_ADMINISTRATOR, now.administrator.choices, now.administrator.deny_commands, call) or _deny_of(
        "", now.group.choices, now.group.deny_commands, call
    )


def _deny_of(who: str, choices: Mapping[str, Decision], patterns: tuple[str, ...], call: Call) -> str:
    if choices.get(call.tool) is Decision.DENY:
        return f"{who}tool:{call.tool}"
    if choices.get(call.effect.value) is Decision.DENY:
        return f"{who}class:{call.effect}"
    return _denial(who, patterns, call, Fit.YES)


def _denial(who: str, patterns: tuple[str, ...], call: Call, fit: Fit) -> str:
    fitting = next((pattern for pattern in patterns if call.fits(pattern) is fit), None)
    return "" if fitting is None else f"{who}deny_commands:{fitting}"


def _perhaps_denied(call: Call, now: PolicyNow) -> str:
    """Return the rule of a denied command that this one may be, or may run, where that cannot be told."""
    rule = _denial(_ADMINISTRATOR, now.administrator.deny_commands, call, Fit.MAY)
    rule = rule or _denial("", now.group.deny_commands, call, Fit.MAY)
    return f"{PERHAPS}{rule}" if rule else ""


def place_of(rule: str) -> str:
    """Return where a rule that somebody wrote stands, in words; "" for one that nobody did."""
    rule = rule.removeprefix(PERHAPS)
    chosen = rule.removeprefix(_ADMINISTRATOR)
    if not chosen.startswith(("tool:", "class:", "deny_commands:")):
        return ""
    return "the administrator's file" if chosen != rule else "the group's policy"


def perhaps_told(rule: str) -> str:
    """Return why a person is asked whether a command is a denied one; "" where that is not the question."""
    if not rule.startswith(PERHAPS):
        return ""
    pattern = rule.partition("deny_commands:")[2]
    return (
        f"It may be, or may run, what {place_of(rule)} denies (deny_commands: {pattern}); that cannot be told from its"
        " words, so a person decides, each time."
    )


def _administrators_ask(call: Call, now: PolicyNow) -> str:
    """Return the administrator's rule by which a person must be asked, whatever the group says."""
    for name, rule in ((call.tool, f"tool:{call.tool}"), (call.effect.value, f"class:{call.effect}")):
        if now.administrator.choices.get(name) is Decision.ASK:
            return f"{_ADMINISTRATOR}{rule}"
    return ""


def _chosen(call: Call, now: PolicyNow, granted: Callable[[], Mapping[str, str]]) -> Ruling:
    """Return what grants and the group's own settings say."""
    # POL-9, and what cannot be told from it: for this once, whatever is granted or allowed
    if call.once_only:
        return _ruling(Decision.ASK, call.once_only, call)
    own = _own_word(call, now)
    allowed = own.decision is Decision.ALLOW
    if allowed and not call.crossing:
        return own  # a grant could but allow it too
    standing = granted()
    if call.together and not allowed and call.kind not in standing:
        # Neither a yes to the command alone nor one to the host alone was a yes to this command with that host.
        pair = covering(call.together, "", standing)
        if not pair:
            return _ruling(Decision.ASK, call.crossing, call, call.together)
        return _ruling(Decision.ALLOW, f"grant:{','.join(pair)}", call)
    grants = () if allowed else covering(call.parts, call.kind, standing)
    left = () if allowed or grants else call.parts
    # BOX-6: what lies beyond a list is a question, whatever the class. A list is crossed host by host: a grant of the
    # kind was given for what is on it.
    beside = {part: covering((part,), "", standing) for part in call.beyond}
    uncovered = tuple(part for part, its_grants in beside.items() if not its_grants)
    asked = tuple(dict.fromkeys((*left, *uncovered)))
    if uncovered:
        return _ruling(Decision.ASK, call.crossing, call, asked)
    if not (allowed or grants):
        return _ruling(own.decision, own.rule, call, asked)
    used = dict.fromkeys((*grants, *(grant for its_grants in beside.values() for grant in its_grants)))
    return _ruling(Decision.ALLOW, f"grant:{','.join(used)}", call)


def _own_word(call: Call, now: PolicyNow) -> Ruling:
    """Return the group's word for the tool, else for the class, else the default by risk."""
    choices = now.group.choices
    if call.tool in choices:
        return _ruling(choices[call.tool], f"tool:{call.tool}", call)
    if call.effect.value in choices:
        return _ruling(choices[call.effect.value], f"class:{call.effect}", call)
    # POL-2: a default never denies
    default = Decision.ALLOW if call.default is Decision.ALLOW else Decision.ASK
    return _ruling(default, f"default:{call.effect}", call)


def _let_run(ruling: Ruling, call: Call, now: PolicyNow) -> Ruling:
    """Apply the two words that stand over the group's choices: "let it run", and settings that cannot be read."""
    if now.broken and ruling.decision is Decision.ALLOW:
        return _ruling(Decision.ASK, "settings:broken", call)
    let_it_run = now.group.everything == "allow" and not now.administrator.never_let_run
    if ruling.decision is Decision.ASK and let_it_run and not (now.broken or call.bare or call.unclear):
        return _ruling(Decision.ALLOW, "everything", call)
    return ruling


def _ruling(decision: Decision, rule: str, call: Call, asked: tuple[Part, ...] | None = None) -> Ruling:
    may_happen = BARE if call.bare else MAY_HAPPEN[call.effect]
    return Ruling(decision=decision, rule=rule, may_happen=may_happen, parts=call.all_parts if asked is None else asked)


def default_by_risk(effect: Effect, *, reversible: bool) -> Decision:
    """Return how far a call of this risk goes alone when nobody chose (POL-2); what passports declare."""
    match effect:
        case Effect.PURE | Effect.READ:
            return Decision.ALLOW
        case Effect.WRITE if reversible:
            return Decision.ALLOW
        case _:
            return Decision.ASK
