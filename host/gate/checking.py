"""What the gate would say of a shell command, without a call: for `elis check-command` and for people who set policy.

It goes the way of a real call from the analysis to the policy, so that the answer is the gate's own.
"""

import enum
from collections.abc import Callable, Mapping

import msgspec

from host.gate.assessment import command_call
from host.passport import Effect
from host.policy.policy import FLOOR, OPERATOR, Policy, perhaps_told, place_of
from host.policy.shell.analysis import Analysis
from host.tools.shell import Shell


class Verdict(enum.StrEnum):
    """What would become of a command."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
    FLOOR = "floor"  # denied in any mode


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one command."""

    verdict: Verdict
    rule: str  # what decided, as in the journal
    reason: str  # in words


def check(analysis: Analysis, policy: Policy, granted: Callable[[], Mapping[str, str]], *, bare: bool) -> Checked:
    """Return what the gate would say if the model asked for a command of this analysis in a turn of the operator's."""
    passport = Shell().passport.with_effect(analysis.effect)
    ruling = policy.decide(command_call(passport, analysis, OPERATOR, bare=bare), granted)
    on_the_floor = ruling.rule.startswith(f"{FLOOR}:")
    verdict = Verdict.FLOOR if on_the_floor else Verdict(ruling.decision.value)
    return Checked(verdict=verdict, rule=ruling.rule, reason=_reason(verdict, ruling.rule, analysis))


def _reason(verdict: Verdict, rule: str, analysis: Analysis) -> str:
    """Return why, in words: what the analysis found where that decided, else the rule that did."""
    if verdict is Verdict.ASK and (perhaps := perhaps_told(rule)):
        return perhaps
    reads = analysis.effect is Effect.READ
    match verdict:
        case Verdict.DENY:
            return f"The rule {rule}, which stands in {place_of(rule) or 'the settings'}, denies it."
        case Verdict.ALLOW if not reads:
            return f"It does more than read; the rule {rule} lets it run without a question."
        case Verdict.ASK if reads:
            return f"It only reads, but the rule {rule} asks about it."
        case _:
            return analysis.reason
