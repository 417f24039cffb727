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

MAY_HAPPEN: Final[dict[Effect, str]] = {
    Effect.PURE: "Nothing outside the reply changes.",
    Effect.READ: "The model sees what it reads.",
    Effect.WRITE: "Files of the workspace change; earlier versions are kept.",
    Effect.EXECUTE: "A program runs. It can change or remove any file of the workspace.",
    Effect.SEND: "Something leaves this machine and cannot be called back.",
    Effect.SPEND: "Money or quota is used.",
    Effect.DESTROY: "Something is removed for good.",
}


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What the policy says of a call."""

    decision: Decision
    rule: str  # what decided: tool:NAME, class:CLASS, default:CLASS, everything, principal, part:2
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
        # POL-3: for nobody known nothing is done
        if not principal:
            return _ruling(Decision.DENY, "principal", passport)
        # POL-1: any deny that fits, wherever it stands
        if by_tool is Decision.DENY:
            return _ruling(Decision.DENY, f"tool:{passport.name}", passport)
        if by_class is Decision.DENY:
            return _ruling(Decision.DENY, f"class:{passport.effect}", passport)
        # then the group's word for the tool, else for the class, else the default by risk
        if by_tool is not None:
            return self._softened(_ruling(by_tool, f"tool:{passport.name}", passport), passport)
        if by_class is not None:
            return self._softened(_ruling(by_class, f"class:{passport.effect}", passport), passport)
        return self._softened(_ruling(passport.default, f"default:{passport.effect}", passport), passport)

    def _softened(self, ruling: Ruling, passport: Passport) -> Ruling:
        """`everything = "allow"` turns an ask into allow; a shell command is asked about all the same.

        Commands are not parsed yet, so no word of the settings can tell a harmless one from the hard floor.
        """
        if passport.name == SHELL:
            rule = "bare-shell" if self._bare_shell else "unparsed-command"
            return _ruling(Decision.ASK, rule, passport)
        if ruling.decision is Decision.ASK and self._let_it_run:
            return _ruling(Decision.ALLOW, "everything", passport)
        return ruling


def _ruling(decision: Decision, rule: str, passport: Passport) -> Ruling:
    return Ruling(decision=decision, rule=rule, may_happen=MAY_HAPPEN[passport.effect])
