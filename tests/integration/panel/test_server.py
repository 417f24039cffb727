"""The server around the panel: its address, its signals, its end."""

import asyncio
import signal
import ssl
import time
from pathlib import Path

import httpx2
import pytest

from host.errors import ResourceBusy
from host.panel.app import build_app
from host.panel.listen import Site, TlsFiles, check_listen
from host.panel.server import PanelServer
from host.panel.sessions import Sessions
from host.record.host_record import HostMemory
from tests.acceptance.certificates import made
from tests.integration.panel.conftest import BOUND_SECONDS, TOKEN, Panel, now_us
from tests.integration.panel.fake_directory import FakeDirectory
from tests.integration.panel.fake_group import FakeGroup
from tests.integration.panel.sse import stream


def server_at(site: Site, directory: FakeDirectory | None = None) -> PanelServer:
    """Return a server that is bound and not started."""
    record = HostMemory(now_us)
    app = build_app(
        directory or FakeDirectory(FakeGroup("main")),
        Sessions(record, now_us),
        token=TOKEN,
        site=site,
        record=record,
        now_us=now_us,
    )
    return PanelServer(app, site, drain_seconds=1)


async def test_the_address_is_known_before_the_start() -> None:
    """Port 0 becomes a real one at once, so that it can be written down and linked to."""
    server = server_at(check_listen("127.0.0.1:0"))
    host, _, port = server.address.rpartition(":")
    assert host == "127.0.0.1"
    assert int(port) > 0
    assert server.url == f"http://{server.address}"
    await server.stop()


async def test_a_taken_port_is_resource_busy_and_names_the_way_out(panel: Panel) -> None:
    """Whoever starts a second host reads which address is taken and which setting moves it."""
    with pytest.raises(ResourceBusy, match=f"127.0.0.1:{panel.port}.*listen"):
        server_at(check_listen(f"127.0.0.1:{panel.port}"))


async def test_signals_stay_with_the_host() -> None:
    """Neither start nor stop of the server touches the handlers of SIGINT and SIGTERM."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    server = server_at(check_listen("127.0.0.1:0"))
    await server.start()
    during = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    await server.stop()
    after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert before == during == after


@pytest.mark.clause("PAN-2")
async def test_the_address_it_is_bound_to_is_its_own() -> None:
    """Whoever reads the address from the home reaches the host by it, whichever address that is."""
    server = server_at(check_listen("127.0.0.5:0"))
    await server.start()
    try:
        async with httpx2.AsyncClient(base_url=server.url) as client:
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/healthz", headers={"Host": "127.0.0.6"})).status_code == 421
    finally:
        await server.stop()


@pytest.mark.clause("OPS-1")
async def test_a_stop_is_bounded_although_an_answer_hangs() -> None:
    """A request that never ends does not keep the host from ending."""
    directory = FakeDirectory(FakeGroup("main"))
    hangs = directory.groups["main"].hang()
    server = server_at(check_listen("127.0.0.1:0"), directory)
    await server.start()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(base_url=f"http://{server.address}", headers=headers) as client:
        request = asyncio.create_task(client.get("/api/v1/groups/main/instructions"))
        await asyncio.wait_for(hangs.wait(), BOUND_SECONDS)
        begun = time.monotonic()
        await asyncio.wait_for(server.stop(), BOUND_SECONDS)
        assert time.monotonic() - begun < BOUND_SECONDS
        assert (await asyncio.wait_for(request, BOUND_SECONDS)).status_code == 500


async def test_a_stopped_server_says_so_and_answers_no_more(panel: Panel) -> None:
    """`ended` returns once it has stopped, and the port is free for the next."""
    server = panel.server
    assert server is not None
    await panel.stop()
    await asyncio.wait_for(server.ended(), BOUND_SECONDS)
    async with httpx2.AsyncClient() as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get(f"{panel.url}/healthz")
    await panel.start()


@pytest.mark.clause("PAN-2")
async def test_with_a_certificate_the_panel_speaks_tls(tmp_path: Path) -> None:
    """Cookies are secure, links are https, and streams work over it."""
    pair = made(tmp_path, "own", alternative="IP:127.0.0.1")
    files = TlsFiles(certificate=pair.certificate, key=pair.key)
    server = server_at(check_listen("127.0.0.1:0", tls=files))
    await server.start()
    try:
        trust = ssl.create_default_context(cafile=str(files.certificate))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(base_url=server.url, headers=headers, verify=trust) as client:
            link = (await client.post("/api/v1/login-links")).json()["url"]
            origin, _, code = link.partition("/login?code=")
            answer = await client.post("/sign-in", data={"code": code}, headers={"Origin": origin})
    finally:
        await server.stop()
    assert origin == server.url == f"https://{server.address}"
    assert answer.headers["set-cookie"].startswith("__Host-elis=")


async def test_idle_streams_cost_no_requests_to_the_group(panel: Panel) -> None:
    """While nothing happens each client has exactly one look at the group waiting, and no timer asks again."""
    async with (
        stream(panel.url, "/api/v1/groups/main/events") as one,
        stream(panel.url, "/api/v1/groups/main/events") as two,
    ):
        await one.any()
        await two.any()
        async with asyncio.timeout(BOUND_SECONDS), panel.main.watchers:
            await panel.main.watchers.wait_for(lambda: panel.main.watching == 2)
        assert panel.main.looks == 2
