"""Servers written with the official SDK: over stdio in the sandbox, and by URL through the egress proxy (PASS-3)."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import mcp
import pytest
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from host.config.settings import FolderSettings, SecretSettings, ServerSettings
from host.tools.egress import Outside
from tests.integration.browser.world import ADDRESS, Site, World, answer, certified
from tests.integration.groups.stage import BOUND
from tests.integration.servers.conftest import ALLOWED, HERE, Served
from tests.integration.servers.official import server as official
from tests.scripted_model import Call

SITE = Path(mcp.__file__).parents[1]
URL = "https://mcp.example.org/mcp"
TOKEN = "tok-correct-horse-battery"
ADD = Call("official__add", {"a": 2, "b": 40})


@pytest.mark.clause("PASS-3", "BOX-5")
async def test_a_server_of_the_official_sdk_runs_in_the_sandbox(served: Served) -> None:
    """With the libraries that its entry shows it."""
    served.folders["site"] = FolderSettings(path=str(SITE), mode="read")
    served.allow(ALLOWED)
    (served.programs / "official.py").write_text((HERE / "official.py").read_text())
    own = () if served.own_python else ("python",)
    served.stage.servers["official"] = ServerSettings(
        groups=("main",),
        command=(*served.python, "/workspace/programs/official.py"),
        folders=("programs", "site", *own),
        env={"PYTHONPATH": "/workspace/site", **served.libraries},
    )
    added, wrong = await served.ask(ADD, Call("official__add", {"a": 2}))
    assert added["ok"], await served.events("noticed")
    assert "42" in added["result"]
    assert wrong["rule"] == "arguments"


class Remote:
    """The official server behind a TLS front in a small world."""

    def __init__(self, world: World, port: int) -> None:
        self.world = world
        self.heads: list[bytes] = []
        self._port = port

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry a connection to the server."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            inner, outer = await asyncio.open_connection("127.0.0.1", self._port)
            outer.write(head)
            await asyncio.wait(
                {asyncio.create_task(_pump(reader, outer)), asyncio.create_task(_pump(inner, writer))},
                return_when=asyncio.FIRST_COMPLETED,
            )
            outer.close()
        writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()


@pytest.fixture
def remote(served: Served, tmp_path: Path) -> Iterator[Remote]:
    """A server at mcp.example.org, with a name beside it."""
    server, trust, _ = certified(tmp_path, "mcp.example.org", "other.example.com")
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = official.streamable_http_app(transport_security=security)
    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    until = threading.Event()
    while not running.started:
        until.wait(0.01)
    with World() as world:
        made = Remote(world, running.servers[0].sockets[0].getsockname()[1])
        world.serve(443, made.handle, server)
        world.names |= {"mcp.example.org": [ADDRESS], "other.example.com": [ADDRESS]}
        served.stage.outside = Outside(network=world.network(), trust=lambda: trust)
        yield made
        served.stage.close()
    running.should_exit = True
    thread.join(BOUND)


@pytest.mark.clause("PASS-3", "BOX-5", "SEC-2")
async def test_a_server_is_reached_by_url_with_its_token_through_the_proxy(
    served: Served, remote: Remote, tmp_path: Path
) -> None:
    """The token goes to that host; every connection is written down under the server's name."""
    kept = tmp_path / "token"
    kept.write_text(TOKEN)
    kept.chmod(0o600)
    served.stage.secrets["hub"] = SecretSettings(ref=f"file:{kept}", hosts=("mcp.example.org",))
    served.stage.servers["official"] = ServerSettings(groups=("main",), url=URL, token="secret:hub")
    (added,) = await served.ask(ADD)
    assert added["ok"], await served.events("noticed")
    assert "42" in added["result"]
    assert all(f"authorization: bearer {TOKEN}".encode() in head.lower() for head in remote.heads)
    assert {port for _, port in remote.world.dialled} == {443}
    served.stage.close()
    found = await served.events("egress_connection")
    assert {(each.data["caller"], each.data["host"]) for each in found} == {("mcp:official", "mcp.example.org")}


@pytest.mark.clause("BOX-5")
async def test_a_redirect_to_another_host_is_refused(served: Served, tmp_path: Path) -> None:
    """Neither followed nor looked up: what the request carried was meant for one host."""
    server, trust, _ = certified(tmp_path, "mcp.example.org", "other.example.com")
    site = Site(answers={"/mcp": answer(b"", "307 Temporary Redirect", location="https://other.example.com/mcp")})
    with World() as world:
        world.serve(443, site.handle, server)
        world.names |= {"mcp.example.org": [ADDRESS], "other.example.com": [ADDRESS]}
        served.stage.outside = Outside(network=world.network(), trust=lambda: trust)
        served.stage.servers["official"] = ServerSettings(groups=("main",), url=URL)
        await served.turn()
        (noticed,) = [event for event in await served.events("noticed") if event.data["code"] == "tool_server"]
        assert "not there" in noticed.data["text"]
        assert set(world.lookups) == {"mcp.example.org"}
        served.stage.close()
    assert site.seen


@pytest.mark.clause("BOX-5", "STOP-1")
async def test_a_stop_ends_the_connection_of_a_call_by_url(served: Served, tmp_path: Path) -> None:
    """What the server does with what it has got is out of reach; nothing more is sent or heard."""
    server, trust, _ = certified(tmp_path, "mcp.example.org")
    site = Site(stalls={"/mcp"})
    with World() as world:
        world.serve(443, site.handle, server)
        world.names["mcp.example.org"] = [ADDRESS]
        served.stage.outside = Outside(network=world.network(), trust=lambda: trust)
        served.stage.servers["official"] = ServerSettings(groups=("main",), url=URL)
        placement = await served.stage.say()
        async with asyncio.timeout(BOUND):
            while not site.seen:
                await asyncio.sleep(0.01)
        await served.stage.group.stop("", all_lanes=False, by="operator")
        ended = await served.stage.ended(placement)
        assert ended.data["reason"] == "interrupted"
        assert not await served.events("lane_replaced")
        served.stage.close()
