"""What the person chose and what the risk suggests: allow, ask or deny (POL-1 to POL-4).

Pure: it knows passports and settings, and answers with the rule that decided. Who is asked, and what they said, is
the gate's. The order of POL-1 is `decide`, to be read from top to bottom; the hard floor, the administrator's file,
`deny_commands` and standing grants take their places in it with part 2 of the plan, and until then the settings that
would need them are refused at start.
"""

from typing import Final

import msgspec

from host.config.settings import PolicySettings
from host.passport import Decision, Effect, Passport

SHELL: Final = "shell"
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


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What the policy says of a call."""

    decision: Decision
    rule: str  # what decided: tool:NAME, class:CLASS, default:CLASS, everything, principal, unparsed-command, …
    may_happen: str  # for the person who is asked


class Policy:
    """The policy of one group."""

    def __init__(self, settings: PolicySettings, *, bare_shell: bool) -> None:
        """`bare_shell` says that commands run outside a sandbox, which always asks (BOX-3)."""
        self._choices = settings.choices
        self._let_it_run = settings.everything == "allow"  # read once, cannot be set from inside (POL-4)
        self._bare_shell = bare_shell

    def decide(self, passport: Passport, principal: str) -> Ruling:
        """Return the ruling for a call of `passport`'s tool, made for `principal` ("" is nobody known)."""
        by_tool = self._choices.get(passport.name)
        by_class = self._choices.get(passport.effect.value)
        # POL-3: where it is not known for whom, nothing is done
        if principal not in PRINCIPALS:
            return self._ruling(Decision.DENY, "principal", passport)
        # POL-1: any deny that fits, wherever it stands
        if by_tool is Decision.DENY:
            return self._ruling(Decision.DENY, f"tool:{passport.name}", passport)
        if by_class is Decision.DENY:
            return self._ruling(Decision.DENY, f"class:{passport.effect}", passport)
        # a command that cannot be told from the hard floor is asked about, whatever else is said
        if passport.name == SHELL:
            return self._ruling(Decision.ASK, "bare-shell" if self._bare_shell else "unparsed-command", passport)
        # then the group's word for the tool, else for the class, else the default by risk
        if by_tool is not None:
            return self._let_run(self._ruling(by_tool, f"tool:{passport.name}", passport))
        if by_class is not None:
            return self._let_run(self._ruling(by_class, f"class:{passport.effect}", passport))
        # POL-2: a default never denies
        default = Decision.ALLOW if passport.default is Decision.ALLOW else Decision.ASK
        return self._let_run(self._ruling(default, f"default:{passport.effect}", passport))

    def _let_run(self, ruling: Ruling) -> Ruling:
        """`everything = "allow"` turns an ask into allow."""
        if ruling.decision is Decision.ASK and self._let_it_run:
            return msgspec.structs.replace(ruling, decision=Decision.ALLOW, rule="everything")
        return ruling

    def _ruling(self, decision: Decision, rule: str, passport: Passport) -> Ruling:
        bare = self._bare_shell and passport.effect is Effect.EXECUTE
        return Ruling(decision=decision, rule=rule, may_happen=BARE if bare else MAY_HAPPEN[passport.effect])


def default_by_risk(effect: Effect, *, reversible: bool) -> Decision:
    """Return how far a call of this risk goes alone when nobody chose (POL-2); what passports declare."""
    match effect:
        case Effect.PURE | Effect.READ:
            return Decision.ALLOW
        case Effect.WRITE if reversible:
            return Decision.ALLOW
        case _:
            return Decision.ASK
