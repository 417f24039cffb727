"""The policy of a group: which rule decides a call."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from host.config.administrator import Administrator
from host.config.live import PolicyNow
from host.config.settings import GroupSettings, PolicySettings
from host.gate.checking import Verdict, check
from host.passport import Decision, Effect
from host.policy.policy import BARE, MAY_HAPPEN, OPERATOR, Call, Policy, Ruling, default_by_risk
from host.policy.shell.analysis import analyse
from host.policy.shell.patterns import Fit
from host.record.events import Part
from host.tools.catalogue import tools_of

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
PUSH = Part(exact="command:git push", under=())


def call(tool: str = "tool", effect: Effect = Effect.SEND, **what: Any) -> Call:
    """A call with the default of its risk."""
    usual = Call(tool=tool, effect=effect, default=default_by_risk(effect, reversible=True), principal=OPERATOR)
    return msgspec.structs.replace(usual, **what)


def pushes(pattern: str) -> Fit:
    """Say which pattern of a denied command fits."""
    return Fit.YES if pattern == "git push *" else Fit.NO


def may_push(pattern: str) -> Fit:
    """Say which pattern of a denied command may fit."""
    return Fit.MAY if pattern == "git push *" else Fit.NO


def ruled(
    the_call: Call,
    choices: dict[str, Decision] | None = None,
    *,
    granted: Mapping[str, str] | None = None,
    administrator: Administrator | None = None,
    broken: str = "",
    unreadable: str = "",
    **settings: Any,
) -> Ruling:
    """Decide a call under these settings."""
    group = msgspec.convert({"choices": choices or {}, **settings}, PolicySettings)
    now = PolicyNow(group=group, administrator=administrator or Administrator(), broken=broken, unreadable=unreadable)
    return Policy(lambda: now).decide(the_call, lambda: granted or {})


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
    ruling = ruled(call(), choices)
    assert (ruling.decision, ruling.rule) == (decision, rule)


ORDER = [
    # what stands beside each other, in the order of POL-1, and the rule that must win
    ("floor", "floor:wipe"),
    ("administrator-deny", "administrator:tool:tool"),
    ("group-deny", "class:send"),
    ("deny-command", "deny_commands:git push *"),
    ("perhaps-denied", "perhaps:deny_commands:git push *"),
    ("administrator-ask", "administrator:class:send"),
    ("grant", "grant:g1"),
    ("ask", "tool:tool"),
]


@pytest.mark.clause("POL-1")
@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_order_is_that_of_the_clause(first: int) -> None:
    """Take away from the top, and the next one decides."""
    there = {name for name, _ in ORDER[first:]}
    administrator: dict[str, Decision] = {}
    if "administrator-deny" in there:
        administrator["tool"] = DENY
    if "administrator-ask" in there:
        administrator["send"] = ASK
    ruling = ruled(
        call(
            floor="wipe" if "floor" in there else "",
            parts=(PUSH,),
            fits=pushes if "deny-command" in there else may_push,
        ),
        {"tool": ASK, **({"send": DENY} if "group-deny" in there else {})},
        deny_commands=("rm *", "git push *") if there & {"deny-command", "perhaps-denied"} else (),
        administrator=Administrator(choices=administrator),
        granted={PUSH.exact: "g1"} if "grant" in there else {},
    )
    assert ruling.rule == ORDER[first][1]


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
    assert ruled(call(default=DENY)).decision is ASK


@pytest.mark.clause("POL-3")
@pytest.mark.parametrize("principal", ["", "somebody", "Operator", "operator "])
def test_for_somebody_unknown_everything_is_refused(principal: str) -> None:
    """Also what reads, also when all is allowed."""
    ruling = ruled(call(effect=Effect.READ, principal=principal), {"read": ALLOW}, everything="allow")
    assert (ruling.decision, ruling.rule) == (DENY, "principal")


@pytest.mark.clause("POL-3")
def test_an_administrators_file_that_cannot_be_read_stops_everything() -> None:
    """What it forbids is not known, so nothing is done."""
    ruling = ruled(call(effect=Effect.READ), everything="allow", unreadable="Permission denied")
    assert (ruling.decision, ruling.rule) == (DENY, "administrator:unreadable")


@pytest.mark.clause("POL-3")
@pytest.mark.parametrize("effect", [Effect.READ, Effect.SEND])
@pytest.mark.parametrize("granted", [{}, {"kind:tool:read": "g", "kind:tool:send": "g"}])
def test_settings_that_broke_while_the_host_runs_turn_every_allow_into_ask(
    effect: Effect, granted: dict[str, str]
) -> None:
    """By class, by grant, by "let it run": until the file is mended a person is asked."""
    for choices in ({}, {effect.value: ALLOW}):
        assert ruled(call(effect=effect), choices, granted=granted, everything="allow", broken="x").decision is ASK


@pytest.mark.clause("POL-4", "POL-9")
def test_let_it_run_turns_asks_into_allows_and_leaves_denials_and_the_floor() -> None:
    """`everything = "allow"` answers every ask, also what always asks, but overrules no deny."""
    choices = {"spend": DENY, "destroy": ASK}
    assert ruled(call(), choices, everything="allow").rule == "everything"
    assert ruled(call(effect=Effect.DESTROY), choices, everything="allow").decision is ALLOW
    assert ruled(call(once_only="raises-rights"), choices, everything="allow").decision is ALLOW
    assert ruled(call(once_only="unclear-command", unclear=True), choices, everything="allow").decision is ASK
    assert ruled(call(effect=Effect.SPEND), choices, everything="allow").decision is DENY
    assert ruled(call(floor="wipe"), choices, everything="allow").decision is DENY
    assert ruled(call(fits=pushes), everything="allow", deny_commands=("git push *",)).decision is DENY
    assert ruled(call(fits=may_push), everything="allow", deny_commands=("git push *",)).decision is ASK


@pytest.mark.clause("POL-4", "POL-1")
def test_the_administrator_can_forbid_to_let_everything_run() -> None:
    """His ask is not lifted by a group's word, nor is any ask where he says so."""
    asks = Administrator(choices={"send": ASK})
    assert ruled(call(), {"send": ALLOW}, everything="allow", administrator=asks).decision is ASK
    forbids = Administrator(never_let_run=True)
    assert ruled(call(), everything="allow", administrator=forbids).decision is ASK
    assert Policy(
        lambda: PolicyNow(group=PolicySettings(), administrator=Administrator(never_park=True))
    ).settings() == (PolicySettings(unattended="deny"))


@pytest.mark.clause("POL-9")
@pytest.mark.parametrize("choices", [{}, {"tool": ALLOW}, {"send": ALLOW}])
def test_what_always_asks_asks_whatever_is_chosen_and_granted(choices: dict[str, Decision]) -> None:
    """Raising rights, running a download, what cannot be resolved: for this once."""
    ruling = ruled(
        call(once_only="raises-rights", parts=(PUSH,)), choices, granted={PUSH.exact: "g", "kind:tool:send": "g"}
    )
    assert (ruling.decision, ruling.rule) == (ASK, "raises-rights")


@pytest.mark.clause("BOX-6")
def test_going_beyond_a_list_asks_unless_a_grant_stands_beside_it() -> None:
    """Also where the class is allowed."""
    host = Part(exact="host:api.example.org")
    beyond = call(effect=Effect.READ, crossing="unlisted-host", parts=(host,), beyond=(host,))
    assert ruled(beyond, {"read": ALLOW}).rule == "unlisted-host"
    assert ruled(beyond, granted={host.exact: "g"}).decision is ALLOW
    assert ruled(beyond, granted={beyond.kind: "g"}).decision is ASK


@pytest.mark.clause("BOX-6")
def test_what_is_asked_is_what_neither_the_settings_nor_a_grant_let_through() -> None:
    """A command and the hosts that it names are covered each by its own; the question holds the rest."""
    one, other = Part(exact="execute:host:one.example"), Part(exact="execute:host:other.example")
    what = call("shell", Effect.EXECUTE, crossing="unlisted-host", parts=(PUSH,), beyond=(one, other))
    assert ruled(what).parts == (PUSH, one, other)
    assert ruled(what, {"shell": ALLOW}).parts == (one, other)
    assert ruled(what, granted={what.kind: "k", one.exact: "g"}).parts == (other,)
    command_only = ruled(what, granted={one.exact: "g", other.exact: "h"})
    assert (command_only.rule, command_only.parts) == ("default:execute", (PUSH,))
    all_granted = ruled(what, granted={PUSH.exact: "p", one.exact: "g", other.exact: "g"})
    assert (all_granted.decision, all_granted.rule) == (ALLOW, "grant:p,g")


@pytest.mark.clause("BOX-3")
@pytest.mark.parametrize("choices", [{}, {"shell": ALLOW}, {"execute": ALLOW}])
@pytest.mark.parametrize("everything", ["ask", "allow"])
def test_without_a_sandbox_every_command_asks_whatever_is_chosen(everything: str, choices: dict[str, Decision]) -> None:
    """Nothing lifts that, and the person reads that there is no sandbox."""
    bare = call("shell", Effect.EXECUTE, once_only="bare-shell", bare=True)
    ruling = ruled(bare, choices, everything=everything, granted={"kind:shell:execute": "g"})
    assert (ruling.decision, ruling.rule, ruling.may_happen) == (ASK, "bare-shell", BARE)
    assert ruled(call("shell", Effect.EXECUTE)).may_happen == MAY_HAPPEN[Effect.EXECUTE]


@pytest.mark.clause("POL-1")
@pytest.mark.parametrize(
    ("now", "command", "verdict", "told"),
    [
        (
            PolicyNow(group=PolicySettings(deny_commands=("rm *",))),
            "rm x",
            Verdict.DENY,
            "The rule deny_commands:rm *, which stands in the group's policy, denies it.",
        ),
        (
            PolicyNow(group=PolicySettings(), administrator=Administrator(deny_commands=("rm *",))),
            "rm x",
            Verdict.DENY,
            "The rule administrator:deny_commands:rm *, which stands in the administrator's file, denies it.",
        ),
        (
            PolicyNow(
                group=PolicySettings(everything="allow"), administrator=Administrator(deny_commands=("git push *",))
            ),
            "git p",
            Verdict.ASK,
            "It may be, or may run, what the administrator's file denies (deny_commands: git push *); that cannot be"
            " told from its words, so a person decides, each time.",
        ),
    ],
)
def test_a_denial_tells_its_rule_and_where_it_stands(now: PolicyNow, command: str, verdict: Verdict, told: str) -> None:
    """In the group's policy or in the administrator's file; also where it only may fit."""
    checked = check(analyse(command), Policy(lambda: now), dict, bare=False)
    assert (checked.verdict, checked.reason) == (verdict, told)
