"""The documentation is true: its settings are accepted, its commands exist, and no setting is left out."""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer.main

from host.cli.main import app
from host.config import settings
from host.config.load import parse
from host.passport import Effect, Passport, Replay
from host.tools.catalogue import tools_of
from host.tools.find_tools import FindTools

ROOT = Path(__file__).resolve().parents[4]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GUIDE = (ROOT / "docs" / "operators-guide.md").read_text(encoding="utf-8")
NOT_THERE_YET = {"fallback", "host", "root"}
TOOLS = (
    "ask_person",
    "edit_file",
    "http",
    "install_package",
    "list_files",
    "read_file",
    "search_files",
    "shell",
    "write_file",
)


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.clause("OPS-9")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_settings_in_documents_are_accepted(document: Path) -> None:
    """A person who copies them gets a host that starts."""
    for block in blocks(document.read_text(encoding="utf-8"), "toml"):
        parse(block.encode(), Path("/h/elis.toml"), TOOLS, administrator=Path("/nonexistent"))


@pytest.mark.clause("OPS-9")
def test_every_setting_is_documented() -> None:
    """Key by key, beneath its table."""
    documented = [tomllib.loads(block) for block in blocks(GUIDE, "toml")]
    tables: dict[tuple[str, ...], type[msgspec.Struct]] = {
        ("host",): settings.HostSettings,
        ("models", "main"): settings.ModelSettings,
        ("groups", "main"): settings.GroupSettings,
        ("groups", "main", "folders", "docs"): settings.FolderSettings,
        ("groups", "main", "budget"): settings.BudgetSettings,
        ("groups", "main", "daily"): settings.DailySettings,
        ("groups", "main", "approvals"): settings.ApprovalSettings,
        ("groups", "main", "sandbox"): settings.SandboxSettings,
        ("groups", "main", "lanes"): settings.LaneSettings,
        ("secrets", "github"): settings.SecretSettings,
        ("mcp", "*"): settings.ServerSettings,  # one server has a command, another a url
    }
    for path, kind in tables.items():
        shown: set[str] = set()
        for document in documented:
            table: dict[str, Any] = document
            for name in path:
                below: dict[str, Any] = table.get(name, {})
                table = below if name != "*" else {key: 0 for each in table.values() for key in each}
            shown |= set(table)
        missing = {field.encode_name for field in msgspec.structs.fields(kind)} - shown - NOT_THERE_YET
        assert not missing, f"[{'.'.join(path)}] does not show {missing}"


@pytest.mark.clause("OPS-9")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_documents_exist(document: Path) -> None:
    """Every `elis NAME` is a command."""
    known = set(typer.main.get_group(app).commands)
    text = document.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|[`/(])elis ([a-z][a-z-]*)", text, re.MULTILINE))
    assert named <= known


def test_every_command_is_in_the_guide() -> None:
    """Nothing that can be done is left for people to find out."""
    assert {name for name in typer.main.get_group(app).commands if f"elis {name}" not in GUIDE} - {
        "approve",
        "deny",
    } == set()


@pytest.mark.clause("BOX-4")
def test_security_says_of_every_tool_what_is_boundary_and_what_is_heuristic() -> None:
    """Four cells a tool, none of them empty; back ends of `shell` one by one, and both ways of tool servers."""
    security = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    table = security.partition("## Tool by tool")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    assert all(len(row) == 4 and all(row) for row in rows)
    named = " ".join(row[0] for row in rows)
    backends = settings.SandboxSettings.__annotations__["backend"].__args__
    assert {name for name in (*tools_of(settings.GroupSettings()), *backends) if name not in named} == set()
    assert {"tool server by command", "tool server by URL", "`find_tools`, `call_tool`"} <= {row[0] for row in rows}


AFTER = {
    Replay.PURE: {"run again"},
    Replay.IDEMPOTENT: {"run again", "found again"},
    Replay.EFFECT: {"outcome unknown"},
}


def operations() -> list[tuple[str, Passport]]:
    """Return how each row of the guide's table begins, with the passport that holds for it."""
    rows: list[tuple[str, Passport]] = []
    for name, tool in tools_of(settings.GroupSettings()).items():
        passport = tool.passport
        match name:
            case "shell":
                rows.append(("`shell`, a command that provably only reads", passport.with_effect(Effect.READ)))
                rows.append(("`shell`, any other command", passport.with_effect(Effect.EXECUTE)))
            case "http":
                rows.append(("`http` GET, HEAD", passport.with_effect(Effect.READ)))
                rows.append(("`http` with other methods", passport.with_effect(Effect.SEND)))
            case _:
                rows.append((f"`{name}`", passport))
    rows.append(("`find_tools` (above 40 tools)", FindTools({}).passport))
    return rows


@pytest.mark.clause("PASS-4")
@pytest.mark.parametrize(("begins", "passport"), operations(), ids=[row for row, _ in operations()])
def test_the_table_of_tools_says_what_the_passports_say(begins: str, passport: Passport) -> None:
    """Per operation: class, parallel, default, time-out and replay rule."""
    rows = [line.strip("| ").split(" | ") for line in GUIDE.splitlines() if line.startswith(f"| {begins} |")]
    ((_, effect, beside, default, timeout, after),) = rows
    assert effect == passport.effect.value
    assert beside == ("yes" if passport.parallel else "no")
    assert default.partition(";")[0] == passport.default.value
    assert timeout.startswith(f"{passport.timeout_seconds:g} s")
    assert after.partition(",")[0] in AFTER[passport.replay]
