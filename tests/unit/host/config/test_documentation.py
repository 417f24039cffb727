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

ROOT = Path(__file__).resolve().parents[4]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GUIDE = (ROOT / "docs" / "operators-guide.md").read_text(encoding="utf-8")
NOT_THERE_YET = {"fallback", "assisted", "host", "root"}
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
