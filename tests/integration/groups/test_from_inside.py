"""From inside a group, by every tool there is: nothing out of bounds is had, and each attempt is told why (part 2)."""

import re
from pathlib import Path

import pytest

from host.config.settings import ApprovalSettings, BudgetSettings, GroupSettings, PolicySettings, SandboxSettings
from host.passport import Decision
from tests.integration.groups.attempts import STAY_SECONDS
from tests.integration.groups.besieged import INSIDE, LISTED, PACKAGES, Besieged, left
from tests.integration.groups.inside import TABLE, Aim, Way, aims, as_named, by_shell, call_tool, sh
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply, ScriptedModel

ALLOWED: dict[str, Decision] = dict.fromkeys(("read", "write", "execute", "send", "destroy"), Decision.ALLOW)
SETTINGS = GroupSettings(
    budget=BudgetSettings(tokens=float("inf"), cost_usd=float("inf")),
    approvals=ApprovalSettings(timeout_seconds=0.02),
    policy=PolicySettings(choices=ALLOWED),  # what holds then is no question, but a wall
    sandbox=SandboxSettings(network=(LISTED, INSIDE), packages=PACKAGES),
)


async def told(stage: Stage, call: Call) -> str:
    """Let the model make a call; return reason, rule and words of its end."""
    stage.model.script(Reply(calls=[call]), Reply(text="done"))
    ended = await stage.ask()
    await stage.idle()
    (end,) = [
        event.data
        for event in await stage.group.turn_events(ended.turn)
        if event.kind in {"call_finished", "call_refused"}
    ]
    return f"{end['reason']} {end.get('rule', '')} {end['result']}"


async def attempt(besieged: Besieged, way: Way, aim: Aim, expected: str) -> list[str]:
    """Try it; return what does not hold."""
    call = way(aim)
    if call is None:
        return []
    answer = await told(besieged.stage, call)
    wrong = [] if re.search(expected, answer, re.DOTALL) else [f"{call.tool} {call.arguments}: {answer}"]
    if call.tool == "shell":  # what a tool server started may stay as long as the server
        wrong += [
            f"left by shell {call.arguments}: {words}"
            for words in left(besieged.stage.workspace)
            if STAY_SECONDS in words
        ]
    return wrong


@pytest.mark.clause("BOX-1", "BOX-2", "BOX-5", "PATH-1", "PATH-3", "POL-6", "SEC-2", "SEC-3")
async def test_by_no_tool_is_anything_out_of_bounds_had_and_each_attempt_is_told_why(tmp_path: Path) -> None:
    """Files, environment, policy, grants, configuration, addresses, names, processes; everything is allowed unasked."""
    with Besieged(tmp_path, SETTINGS) as besieged:
        wrong: list[str] = []
        for way, expected in TABLE.values():
            for aim in aims(besieged.aims):
                wrong += await attempt(besieged, way, aim, expected(aim))
        events = await besieged.stage.group.events(0, 5000)
        refused = {
            (e.data["caller"], e.data["rule"]) for e in events if e.kind == "egress_connection" and e.data["rule"]
        }
        assert besieged.wrong() == []
    assert wrong == []
    rules = {"ip_literal", "address_not_public", "host_not_listed"}
    assert {rule for caller, rule in refused if caller == "mcp:box"} == rules, (
        "the journal names it where curl does not"
    )


@pytest.mark.clause("PASS-3", "PATH-1", "BOX-2")
async def test_what_is_called_by_another_name_has_the_same_answer(tmp_path: Path) -> None:
    """Where there are too many tools to be shown, `call_tool` leads to the same gate."""
    with Besieged(tmp_path, SETTINGS, more_tools=41) as besieged:
        wrong: list[str] = []
        for aim in aims(besieged.aims):
            wrong += await attempt(besieged, call_tool, aim, as_named(aim))
        for inner in ("grant", "call_tool", "find_tools"):
            answer = await told(besieged.stage, Call("call_tool", {"name": inner}))
            wrong += [] if "protocol_violation" in answer else [answer]
        assert besieged.wrong() == []
    assert wrong == []


@pytest.mark.clause("BOX-3")
async def test_in_a_container_the_same_is_out_of_bounds_or_it_is_said_why_there_is_none(
    tmp_path: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a real engine. Where none can be had every command is told so, nothing runs, and so does this test say."""
    container = SandboxSettings(backend="container", image="docker.io/library/debian:stable-slim")
    settings = GroupSettings(
        approvals=ApprovalSettings(timeout_seconds=0.02), policy=SETTINGS.policy, sandbox=container
    )
    with Besieged(tmp_path, settings) as besieged:
        first = await told(besieged.stage, Call("shell", {"command": "echo made > owned-by-a-container"}))
        missing = first.startswith("unsupported ")
        if missing:
            with capsys.disabled():
                print(f"\nNOT SHOWN ON THIS MACHINE: the container back end by a real engine: {first}")  # noqa: T201
            assert re.search("podman|docker", first)
        else:
            (besieged.stage.workspace / "owned-by-a-container").unlink()
        wrong: list[str] = []
        for aim in aims(besieged.aims):
            expected = (
                "unsupported .*(podman|docker)"
                if missing
                else "No such file|not set|not found|refused|unreach|started|=$"
            )
            wrong += await attempt(besieged, by_shell(sh), aim, expected)
        assert besieged.wrong() == []
    assert wrong == []
