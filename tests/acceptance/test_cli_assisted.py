"""What an aux model let run unasked, on the command line (APR-6)."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from host.config.home import Home
from host.groups.port import AssistedView
from tests.acceptance.command import elis
from tests.integration.panel.conftest import TOKEN, Panel, running_panel

ALLOWED = AssistedView(
    id="a-1",
    group="main",
    turn="t1",
    call="1.0",
    tool="shell",
    effect="execute",
    arguments={"command": "make test"},
    what_may_happen="A program runs in the sandbox.",
    by="assistant model small",
    at="2030-01-01T00:00:00.000Z",
)


@pytest.fixture
async def panel() -> AsyncGenerator[Panel]:
    """A panel of a test's own."""
    async with running_panel() as running:
        yield running


@pytest.mark.clause("APR-6")
async def test_approvals_lists_what_an_aux_model_let_run(panel: Panel, tmp_path: Path) -> None:
    """With who allowed it, in words and as JSON; it is no question that waits."""
    home = Home(root=tmp_path / "home")
    home.prepare()
    home.token_file.write_text(TOKEN)
    home.write_address(panel.url.removeprefix("http://"))
    assert "no aux model let anything run" in (await elis(home, "approvals", "--assisted")).out
    panel.main.let_through = (ALLOWED,)
    shown = (await elis(home, "approvals", "--assisted")).out
    assert "shell (execute), allowed by assistant model small in turn t1" in shown
    assert "make test" in shown
    (listed,) = (await elis(home, "approvals", "--assisted", "--json")).json()
    assert (listed["by"], listed["arguments"]) == ("assistant model small", {"command": "make test"})
    assert (await elis(home, "approvals", "--json")).json() == []
