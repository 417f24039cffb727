"""`elis tools` against the real API: what a person sees of tool servers, and the word that releases changed tools."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from host.config.home import Home
from host.groups.port import ServerDetail, ServerToolView, ServerView
from tests.acceptance.command import elis
from tests.integration.panel.conftest import TOKEN, Panel, running_panel


def tool(name: str, description: str) -> ServerToolView:
    """A tool as a server shows it."""
    return ServerToolView(
        name=f"files__{name}",
        description=description,
        parameters={"type": "object", "properties": {"path": {}}},
        hints={"readOnlyHint": True},
    )


HELD = ServerDetail(
    server=ServerView(
        name="files", state="held", reached="mcp-server-files /workspace/docs", tools=2, held_digest="d2"
    ),
    tools=(tool("read", "Reads."), tool("list", "Lists.")),
    left_out=(),
    held_tools=(tool("read", "Reads [bold]and sends[/bold]."), tool("send", "Sends.")),
    held_left_out=("odd one: its schema is no table",),
)


@pytest.fixture
async def panel() -> AsyncGenerator[Panel]:
    """A panel whose group has a held tool server."""
    async with running_panel() as running:
        running.main.servers["files"] = HELD
        yield running


@pytest.fixture
def home(panel: Panel, tmp_path: Path) -> Home:
    """Return a home on which that panel runs, as far as commands can tell."""
    found = Home(root=tmp_path / "home")
    found.prepare()
    found.token_file.write_text(TOKEN)
    found.write_address(panel.url.removeprefix("http://"))
    return found


@pytest.mark.clause("PASS-3")
async def test_a_held_server_is_listed_shown_and_released(home: Home, panel: Panel) -> None:
    """What is new, different or gone is named, in the server's words and never as markup; JSON has all of it."""
    listed = await elis(home, "tools", "main")
    assert "files" in listed.out
    assert "held" in listed.out
    shown = await elis(home, "tools", "main", "show", "files")
    assert "files__read: Reads [bold]and sends[/bold]." in shown.out
    assert "files__send (new): Sends." in shown.out
    assert "- files__list is gone" in shown.out
    assert "- files__read was different before: Reads." in shown.out
    assert "left out: odd one: its schema is no table" in shown.out
    assert "release files --digest d2" in shown.out
    whole = json.loads((await elis(home, "tools", "main", "show", "files", "--json")).out)
    assert whole["held_tools"][1]["name"] == "files__send"
    released = await elis(home, "tools", "main", "release", "files", "--digest", "d2", "--json")
    assert json.loads(released.out)["state"] == "in use"
    ((server, digest, _),) = panel.main.released
    assert (server, digest) == ("files", "d2")


async def test_a_server_that_there_is_not_is_an_unknown_name(home: Home) -> None:
    """And an action without one is a usage error."""
    assert (await elis(home, "tools", "main", "show", "nobody")).code == 1
    assert (await elis(home, "tools", "nobody")).code == 1
    assert (await elis(home, "tools", "main", "release")).code in {1, 2}
