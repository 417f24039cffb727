"""`elis doctor` as a person runs it: a finding for each thing, and what to do about what is wrong (OPS-2)."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.config.home import Home
from host.errors import AuditFailure
from tests.acceptance.command import Ran, elis
from tests.integration.panel.conftest import TOKEN, running_panel
from tests.scripted_model import Fail, Reply, ScriptedModel


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """Return a model server that says ok."""
    server = ScriptedModel()
    server.start()
    server.respond(lambda _request, _index: Reply(text="ok"))
    yield server
    server.stop()


@pytest.fixture
def home(tmp_path: Path, model: ScriptedModel) -> Home:
    """Return a home whose model answers."""
    found = Home(root=tmp_path / "home")
    found.prepare()
    found.settings.write_text(
        f'[host]\nlisten = "127.0.0.1:0"\n[models.main]\nprovider = "openai"\nmodel = "m"\n'
        f'base_url = "{model.base_url}"\n[groups.main]\ntimezone = "Europe/Berlin"\n'
    )
    found.settings.chmod(0o644)  # as an editor writes it: the folder is closed, and no mode of it is asked for
    return found


def wrong(ran: Ran) -> dict[str, str]:
    """Return what is wrong, by name, with what to do."""
    return {finding["name"]: finding["detail"] + " | " + finding["fix"] for finding in ran.json() if not finding["ok"]}


@pytest.mark.clause("OPS-2")
async def test_all_is_well_is_exit_0_and_names_what_was_looked_at(home: Home) -> None:
    """Every look is shown, not only the bad news."""
    ran = await elis(home, "doctor", "--json")
    assert wrong(ran) == {}
    assert ran.code == 0
    names = {finding["name"] for finding in ran.json()}
    assert {"python", "ray", "browser", "home", "disk", "clock", "settings", "address"} <= names
    assert {"sandbox bwrap", "time zone Europe/Berlin", "model main"} <= names


@pytest.mark.clause("OPS-2")
async def test_a_model_that_refuses_the_key_is_told_with_the_way_out(home: Home, model: ScriptedModel) -> None:
    """One call of one token finds it."""
    model.respond(lambda _request, _index: Fail(status=401, body="no"))
    ran = await elis(home, "doctor", "--json")
    assert ran.code == 1
    assert "api_key in [models.main]" in wrong(ran)["model main"]


@pytest.mark.clause("OPS-2")
async def test_settings_rights_a_taken_port_and_a_damaged_journal_are_found_at_once(home: Home) -> None:
    """Each finding says what to do; one does not hide another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = home.settings.read_text().replace("127.0.0.1:0", f"127.0.0.1:{port}")
        home.settings.write_text(text)
        home.root.chmod(0o755)
        journal = home.group("lab").journal
        journal.parent.mkdir(parents=True)
        journal.write_bytes(b"this is no journal")
        found = wrong(await elis(home, "doctor", "--json"))
        home.settings.write_text(text + "[groups.main.budget]\ntokns = 1\n")
        broken = await elis(home, "doctor")
    assert "755 instead of 700" in found["home"]
    assert "choose another host.listen" in found["address"]
    assert "backup" in found["journal lab"]
    assert broken.code == 1
    assert "did you mean `tokens`" in broken.out


@pytest.mark.clause("OPS-2")
async def test_a_clock_before_the_journal_is_found(home: Home) -> None:
    """A clock that stepped back is told before it makes times go wrong."""
    journal = home.group("main").journal
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"")
    os.utime(journal, (4_000_000_000, 4_000_000_000))
    assert "set the clock" in wrong(await elis(home, "doctor", "--json"))["clock"]


@pytest.mark.clause("OPS-2")
async def test_groups_of_the_running_host_that_are_not_awake_are_told_with_their_problem(home: Home) -> None:
    """One that is starting is named and no failure yet; one that failed is, with what it says of itself."""
    home.token_file.write_text(TOKEN)
    async with running_panel() as panel:
        home.write_address(panel.url.removeprefix("http://"))
        panel.directory.starting.add("slow")
        with home.hold():
            calm = await elis(home, "doctor", "--json")
            panel.directory.broken["lab"] = AuditFailure("the journal is damaged at event 7")
            failed = await elis(home, "doctor", "--json")
    assert (calm.code, wrong(calm)) == (0, {})
    assert "is starting" in next(item["detail"] for item in calm.json() if item["name"] == "group slow")
    assert (failed.code, set(wrong(failed))) == (1, {"group lab"})
    assert "is failed: the journal is damaged at event 7" in wrong(failed)["group lab"]


@pytest.mark.clause("OPS-2")
async def test_a_running_host_that_does_not_tell_its_groups_is_wrong(home: Home) -> None:
    """A host that holds the home and has no address yet, or does not answer, is no clean bill of health."""
    with home.hold():
        ran = await elis(home, "doctor", "--json")
    assert ran.code == 1
    assert "does not tell" in wrong(ran)["groups"]
