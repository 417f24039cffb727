"""`elis check-command`: the gate's verdict from the command line, one command or a file of them (POL-5)."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest

from host.config.home import Home
from tests.acceptance.command import elis
from tests.integration.panel.conftest import TOKEN, Panel, running_panel

CASES: Final = Path(__file__).parents[1] / "cases" / "shell.jsonl"


@pytest.fixture
def nowhere(tmp_path: Path) -> Home:
    """A home on which no host runs."""
    return Home(root=tmp_path / "none")


@pytest.fixture
async def panel() -> AsyncGenerator[Panel]:
    """A panel over a group in memory, which says "ask" to everything."""
    async with running_panel() as running:
        yield running


@pytest.mark.clause("POL-5")
async def test_every_known_case_gets_its_verdict_without_a_host(nowhere: Home) -> None:
    """A line in, an object out, in the same order."""
    ran = await elis(nowhere, "check-command", "main", "--defaults", "--file", str(CASES))
    assert (ran.code, ran.err) == (0, "")
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    verdicts = [json.loads(line) for line in ran.out.splitlines()]
    assert [each["verdict"] for each in verdicts] == [case["verdict"] for case in cases]
    assert all(each.keys() == {"verdict", "rule", "reason"} and each["rule"] and each["reason"] for each in verdicts)


@pytest.mark.clause("POL-5", "POL-4")
@pytest.mark.parametrize(
    ("command", "code", "verdict"),
    [("ls -la", 0, "allow"), ("touch a", 2, "ask"), ("sudo rm -rf /", 4, "floor")],
)
async def test_the_exit_code_is_the_verdict(nowhere: Home, command: str, code: int, verdict: str) -> None:
    """Scripts need no JSON; with --json there is one object."""
    words = await elis(nowhere, "check-command", "main", command, "--defaults")
    assert (words.code, words.out.split()[0]) == (code, verdict)
    ran = await elis(nowhere, "check-command", "main", command, "--defaults", "--json")
    assert (ran.code, ran.json()["verdict"]) == (code, verdict)


@pytest.mark.clause("POL-5")
async def test_a_running_host_is_asked_for_its_own_rules(panel: Panel, tmp_path: Path) -> None:
    """Without --defaults the group's policy and grants count; no host is exit 15."""
    home = Home(root=tmp_path / "home")
    home.prepare()
    assert (await elis(home, "check-command", "main", "ls")).code == 15
    home.token_file.write_text(TOKEN)
    home.write_address(panel.url.removeprefix("http://"))
    assert (await elis(home, "check-command", "main", "ls")).code == 2
    assert (await elis(home, "check-command", "nobody", "ls")).code == 1


@pytest.mark.parametrize("arguments", [(), ("ls", "--file", "x"), ("--file", "missing.jsonl"), ("ls", "--nonsense")])
async def test_usage_errors_exit_1(nowhere: Home, arguments: tuple[str, ...]) -> None:
    """Every other code is a verdict."""
    ran = await elis(nowhere, "check-command", "main", *arguments, "--defaults")
    assert (ran.code, ran.out) == (1, "")
