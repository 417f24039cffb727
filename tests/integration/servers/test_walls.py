"""What a tool server sees and reaches: what its entry names and nothing else (BOX-5, SEC-3)."""

import asyncio
from pathlib import Path

import pytest

from host.config.settings import SecretSettings, ServerSettings
from host.tools.egress import Outside
from tests.integration.browser.world import ADDRESS, Site, World, answer, certified
from tests.integration.servers.conftest import Served
from tests.scripted_model import Call

SECRET = "hunter2-correct-horse"


async def told(served: Served, command: str, name: str = "odd") -> str:
    """Let a server run a command, and return what the model was told."""
    (result,) = await served.ask(Call(f"{name}__run", {"command": command}))
    assert result["ok"], result
    return str(result["result"])


@pytest.mark.clause("BOX-5", "SEC-3")
async def test_a_server_sees_its_folders_and_nothing_else_of_the_machine(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the workspace, no other folder, no home, no network, no variable of the host."""
    monkeypatch.setenv("HOST_ONLY", "must-not-be-seen")
    served.server()
    served.stage.workspace.mkdir(parents=True)
    (served.stage.workspace / "mine.txt").write_text("private words")
    seen = await told(
        served,
        "ls -A /workspace; ls /home /root 2>&1; cat /workspace/mine.txt 2>&1; env; "
        "touch /workspace/programs/x 2>&1; cat /proc/net/dev",
    )
    assert "programs" in seen
    assert "shared" not in seen
    assert "private words" not in seen
    assert "must-not-be-seen" not in seen
    assert "Read-only file system" in seen
    interfaces = [line.partition(":")[0].strip() for line in seen.splitlines() if ":" in line and "|" not in line]
    assert "lo" in interfaces
    assert not [name for name in interfaces if name.startswith(("eth", "en", "wl"))]


@pytest.mark.clause("BOX-5")
async def test_a_server_sees_the_workspace_where_its_entry_names_it(served: Served) -> None:
    """As `.`; what it writes there is the group's, and the host's own folder in it is not."""
    served.stage.workspace.mkdir(parents=True)
    (served.stage.workspace / "mine.txt").write_text("shared words")
    served.server(folders=(".",))
    apart = await told(served, "pwd; echo home=$HOME code=$PYTHONPATH. $PATH")
    seen = await told(served, "cat /workspace/mine.txt; echo made > /workspace/made; touch /workspace/.elis/x 2>&1")
    assert "shared words" in seen
    assert "\n/\nhome=/tmp/home code=. /usr/local/bin:" in apart, (
        "code and settings that a model wrote must not become the server's"
    )
    assert "/workspace" not in apart.partition("home=")[2], "nor its programs"
    assert "Read-only file system" in seen
    assert (served.stage.workspace / "made").read_text() == "made\n"


@pytest.mark.clause("BOX-5", "SEC-2", "SEC-3", "MASK-1")
async def test_a_lent_secret_is_in_its_environment_and_masked_everywhere_else(
    served: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The server has the value; model and journal get its handle, whichever way the server tells it."""
    kept = tmp_path / "token"
    kept.write_text(SECRET)
    kept.chmod(0o600)
    served.stage.secrets["github"] = SecretSettings(ref=f"file:{kept}")
    served.server(env={"TOKEN": "secret:github", "PLAIN": "as it is"})
    served.server("other")
    seen = await told(served, 'echo "$TOKEN"; printf %s "$TOKEN" | wc -c; echo "$PLAIN"')
    assert "«secret:github»" in seen
    assert f"{len(SECRET)}" in seen
    assert "as it is" in seen
    assert "TOKEN" not in await told(served, "env", "other")
    assert SECRET not in str([event.data for event in await served.stage.group.events(0, 5000)])
    assert SECRET not in caplog.text


async def test_a_secret_that_is_missing_is_told_and_the_server_not_started(served: Served, tmp_path: Path) -> None:
    """Never with an empty value in its place."""
    served.stage.secrets["github"] = SecretSettings(ref=f"file:{tmp_path / 'absent'}")
    served.server(env={"TOKEN": "secret:github"})
    await served.turn()
    (noticed,) = [event for event in await served.events("noticed") if event.data["code"] == "tool_server"]
    assert "'github' cannot be had" in noticed.data["text"]


@pytest.mark.clause("BOX-5", "BOX-2")
async def test_a_server_reaches_the_hosts_of_its_entry_through_the_proxy(served: Served, tmp_path: Path) -> None:
    """Not those of the group's list; each connection is written down under the server's name."""
    server, trust, certificate = certified(tmp_path, "api.example.org", "other.example.com")
    site = Site()
    site.answers["/"] = answer(b"from outside")
    with World() as world:
        world.serve(443, site.handle, server)
        world.names |= {"api.example.org": [ADDRESS], "other.example.com": [ADDRESS]}
        served.stage.outside = Outside(network=world.network(), trust=lambda: trust)
        (served.shared / "ca.pem").write_bytes(certificate.read_bytes())
        served.server(folders=("shared",), network=("=api.example.org",))
        fetch = "curl -sS --cacert /workspace/shared/ca.pem"
        seen = await told(served, f"{fetch} https://api.example.org/ 2>&1")
        refused = await told(served, f"{fetch} https://other.example.com/ 2>&1")
        assert "from outside" in seen
        assert "from outside" not in refused
        async with asyncio.timeout(10):
            while len(found := await served.events("egress_connection")) < 2:
                await asyncio.sleep(0.01)
        assert {(each.data["caller"], each.data["verdict"]) for each in found} == {
            ("mcp:odd", "carried"),
            ("mcp:odd", "refused"),
        }
        served.stage.close()


async def test_a_server_is_only_there_for_the_groups_that_its_entry_names(served: Served) -> None:
    """What a blueprint holds was chosen by these names."""
    entry = ServerSettings(groups=("other",), command=("x",))
    assert "main" not in entry.groups
    ended = await served.turn(Call("odd__echo", {"text": "a"}))
    (result,) = await served.results(ended.turn)
    assert result["rule"] == "unknown-tool"
