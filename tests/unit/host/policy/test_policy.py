"""The policy of a group: which rule decides a call."""

import msgspec
import pytest

from host.config.settings import GroupSettings, PolicySettings
from host.passport import Decision, Effect, Passport, Replay
from host.policy.policy import BARE, MAY_HAPPEN, OPERATOR, Policy, default_by_risk
from host.tools.catalogue import tools_of

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """No arguments."""


def passport(name: str = "tool", effect: Effect = Effect.SEND, default: Decision | None = None) -> Passport:
    """A passport with the default of its risk."""
    return Passport(
        name=name,
        summary="Does something.",
        arguments=Nothing,
        effect=effect,
        reversible=True,
        parallel=False,
        default=default or default_by_risk(effect, reversible=True),
        timeout_seconds=1,
        masks=frozenset(),
        replay=Replay.EFFECT,
        network=False,
        paths=frozenset(),
        lendable=False,
        needs=frozenset(),
        promises_content=False,
        failures=(),
    )


def policy(choices: dict[str, Decision] | None = None, everything: str = "ask", *, bare_shell: bool = False) -> Policy:
    """A policy with these choices."""
    settings = msgspec.convert({"everything": everything, "choices": choices or {}}, PolicySettings)
    return Policy(settings, bare_shell=bare_shell)


@pytest.mark.clause("POL-1", "POL-2")
@pytest.mark.parametrize(
    ("choices", "decision", "rule"),
    [
        ({}, ASK, "default:send"),
        ({"send": ALLOW}, ALLOW, "class:send"),
        ({"tool": ALLOW}, ALLOW, "tool:tool"),
        ({"tool": ALLOW, "send": ASK}, ALLOW, "tool:tool"),
        ({"tool": ASK, "send": ALLOW}, ASK, "tool:tool"),
        ({"tool": ALLOW, "send": DENY}, DENY, "class:send"),
        ({"tool": DENY, "send": ALLOW}, DENY, "tool:tool"),
        ({"tool": ASK, "send": DENY}, DENY, "class:send"),
        ({"other": DENY, "read": DENY}, ASK, "default:send"),
    ],
)
def test_a_deny_wins_wherever_it_stands_then_the_tool_then_the_class(
    choices: dict[str, Decision], decision: Decision, rule: str
) -> None:
    """The order of decisions, with the rule that decided."""
    ruling = policy(choices).decide(passport(), OPERATOR)
    assert (ruling.decision, ruling.rule) == (decision, rule)


@pytest.mark.clause("POL-2")
@pytest.mark.parametrize(
    ("effect", "reversible", "decision"),
    [
        (Effect.PURE, False, ALLOW),
        (Effect.READ, False, ALLOW),
        (Effect.WRITE, True, ALLOW),
        (Effect.WRITE, False, ASK),
        (Effect.EXECUTE, True, ASK),
        (Effect.SEND, True, ASK),
        (Effect.SPEND, True, ASK),
        (Effect.DESTROY, True, ASK),
    ],
)
def test_the_default_follows_the_risk_and_is_never_a_denial(
    effect: Effect, reversible: bool, decision: Decision
) -> None:
    """What happens when nobody chose."""
    assert default_by_risk(effect, reversible=reversible) is decision


@pytest.mark.clause("POL-2", "PASS-1")
def test_the_tools_of_a_group_declare_the_default_of_their_risk() -> None:
    """No passport of the catalogue departs from the table."""
    declared = {name: tool.passport for name, tool in tools_of(GroupSettings()).items()}
    assert declared
    for each in declared.values():
        assert each.default is default_by_risk(each.effect, reversible=each.reversible), each.name


@pytest.mark.clause("POL-2")
def test_a_passport_that_denies_by_default_asks() -> None:
    """Deny is a person's word, never a default."""
    assert policy().decide(passport(default=DENY), OPERATOR).decision is ASK


@pytest.mark.clause("POL-3")
@pytest.mark.parametrize("principal", ["", "somebody", "Operator", "operator "])
def test_for_somebody_unknown_everything_is_refused(principal: str) -> None:
    """Also what reads, also when all is allowed."""
    ruling = policy({"read": ALLOW}, "allow").decide(passport(effect=Effect.READ), principal)
    assert (ruling.decision, ruling.rule) == (DENY, "principal")


@pytest.mark.clause("POL-4")
def test_let_it_run_turns_asks_into_allows_and_leaves_denials() -> None:
    """`everything = "allow"` answers every ask but overrules no deny."""
    running = policy({"spend": DENY, "destroy": ASK}, "allow")
    assert running.decide(passport(), OPERATOR).rule == "everything"
    assert running.decide(passport(effect=Effect.DESTROY), OPERATOR).decision is ALLOW
    assert running.decide(passport(effect=Effect.SPEND), OPERATOR).decision is DENY


@pytest.mark.clause("POL-4", "BOX-3")
@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("choices", [{}, {"shell": ALLOW}, {"execute": ALLOW}])
@pytest.mark.parametrize("everything", ["ask", "allow"])
def test_every_shell_command_asks_whatever_is_chosen(everything: str, choices: dict[str, Decision], bare: bool) -> None:
    """Commands are not parsed yet, and without a sandbox each one asks in any case."""
    ruling = policy(choices, everything, bare_shell=bare).decide(passport("shell", Effect.EXECUTE), OPERATOR)
    assert (ruling.decision, ruling.rule) == (ASK, "bare-shell" if bare else "unparsed-command")


@pytest.mark.clause("POL-1")
@pytest.mark.parametrize("choices", [{"shell": DENY}, {"execute": DENY, "shell": ALLOW}])
def test_a_shell_that_is_denied_does_not_ask(choices: dict[str, Decision]) -> None:
    """A deny is stronger than the question."""
    assert policy(choices, "allow").decide(passport("shell", Effect.EXECUTE), OPERATOR).decision is DENY


@pytest.mark.clause("POL-2", "BOX-3")
def test_what_may_happen_says_when_there_is_no_sandbox() -> None:
    """The person who is asked reads a different sentence for a bare command."""
    shell = passport("shell", Effect.EXECUTE)
    assert policy(bare_shell=True).decide(shell, OPERATOR).may_happen == BARE
    assert policy().decide(shell, OPERATOR).may_happen == MAY_HAPPEN[Effect.EXECUTE]
