"""Names in `listen`: what is bound for them, what is refused, and under which name the panel is reached (PAN-2)."""

import socket
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from host.errors import ResourceBusy, SettingsError
from host.panel.app import build_app
from host.panel.binding import Resolve, Row, addresses_of, bound
from host.panel.listen import Site, TlsFiles, check_listen
from host.panel.server import PanelServer
from host.panel.sessions import Sessions
from host.record.host_record import HostMemory
from tests.acceptance.certificates import made
from tests.integration.panel.conftest import BOUND_SECONDS, TOKEN, now_us
from tests.integration.panel.fake_directory import FakeDirectory
from tests.integration.panel.fake_group import FakeGroup

pytestmark = pytest.mark.clause("PAN-2")

NAME = "elis.example.org"


def book(*addresses: str, family: int = socket.AF_INET) -> Resolve:
    """Return a resolver that knows one answer for every name."""

    def resolve(host: str, port: int) -> list[Row]:
        del host
        return [(family, socket.SOCK_STREAM, 0, "", (address, port)) for address in addresses]

    return resolve


def tls_for(folder: Path, name: str) -> TlsFiles:
    """Return a fresh certificate for `name` alone."""
    pair = made(folder, "own", alternative=f"DNS:{name}")
    return TlsFiles(certificate=pair.certificate, key=pair.key)


@asynccontextmanager
async def serving(site: Site, resolve: Resolve = addresses_of) -> AsyncGenerator[PanelServer]:
    """Run a panel."""
    record = HostMemory(now_us)
    directory = FakeDirectory(FakeGroup("main"))
    app = build_app(directory, Sessions(record, now_us), token=TOKEN, site=site, record=record, now_us=now_us)
    server = PanelServer(app, site, drain_seconds=1, resolve=resolve)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def signed_in(server: PanelServer, tls: TlsFiles, asked_under: str) -> tuple[str, httpx2.Response]:
    """Fetch a login link as the command line does, and follow it as a browser that checks the certificate's name."""
    name = asked_under.rpartition(":")[0]
    trust = ssl.create_default_context(cafile=str(tls.certificate))
    extensions = {"sni_hostname": name}  # the name that is asked for, and that the certificate must carry
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(verify=trust, trust_env=False, timeout=BOUND_SECONDS) as client:
        base = f"https://{server.address}"
        made_link = await client.post(f"{base}/api/v1/login-links", headers=headers, extensions=extensions)
        origin, _, code = made_link.json()["url"].partition("/login?code=")
        browser = {"Host": asked_under, "Origin": origin}
        answer = await client.post(f"{base}/sign-in", data={"code": code}, headers=browser, extensions=extensions)
    return origin, answer


@pytest.mark.parametrize("listen", ["localhost:0", "LocalHost:0", "localhost.:0"])
async def test_localhost_is_bound_to_this_machine_alone_and_needs_nothing(listen: str) -> None:
    """However it is written; links name the address, and the name is answered too."""
    async with serving(check_listen(listen)) as server:
        host, _, port = server.address.rpartition(":")
        assert host in {"127.0.0.1", "[::1]"}
        assert server.url == f"http://{server.address}"
        async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as client:
            for name in (server.address, f"localhost:{port}"):
                assert (await client.get("/healthz", headers={"Host": name})).status_code == 200
            assert (await client.get("/healthz", headers={"Host": f"{NAME}:{port}"})).status_code == 421


async def test_links_to_localhost_with_tls_carry_the_name_that_the_certificate_is_for(tmp_path: Path) -> None:
    """A browser that checks the name signs in without a warning."""
    tls = tls_for(tmp_path, "localhost")
    async with serving(check_listen("localhost:0", tls=tls)) as server:
        port = server.address.rpartition(":")[2]
        origin, answer = await signed_in(server, tls, f"localhost:{port}")
        assert origin == server.url == f"https://localhost:{port}"
        assert answer.headers["set-cookie"].startswith("__Host-elis=")


@pytest.mark.parametrize("listen", [f"{NAME}:0", f"{NAME.upper()}.:0"])
async def test_a_name_with_tls_is_the_one_that_links_and_answers_carry(listen: str, tmp_path: Path) -> None:
    """What is bound is an address behind it; a final dot and large letters make no other name."""
    tls = tls_for(tmp_path, NAME)
    async with serving(check_listen(listen, tls=tls), book("127.0.0.1")) as server:
        host, _, port = server.address.rpartition(":")
        assert host == "127.0.0.1"
        origin, answer = await signed_in(server, tls, f"{NAME}:{port}")
        assert origin == server.url == f"https://{NAME}:{port}"
        assert answer.headers["set-cookie"].startswith("__Host-elis=")


def test_a_localhost_that_leads_elsewhere_is_not_bound_in_the_clear() -> None:
    """A wrong line in /etc/hosts does not put sign-ins on the network."""
    with pytest.raises(SettingsError, match="no address of this machine alone"):
        bound(check_listen("localhost:0"), book("192.0.2.1"))


def test_of_several_addresses_only_those_of_this_machine_alone_are_bound_in_the_clear() -> None:
    """The others are passed over."""
    with bound(check_listen("localhost:0"), book("192.0.2.1", "127.0.0.7")) as opened:
        assert opened.getsockname()[0] == "127.0.0.7"


def test_an_address_that_the_machine_does_not_have_is_passed_over() -> None:
    """As ::1 where IPv6 is switched off; the next one behind the name serves."""

    def resolve(host: str, port: int) -> list[Row]:
        return [*book("127.0.0.1", family=socket.AF_APPLETALK)(host, port), *book("127.0.0.1")(host, port)]

    with bound(check_listen("localhost:0"), resolve) as opened:
        assert opened.family == socket.AF_INET


def test_a_taken_address_is_not_passed_over() -> None:
    """Who follows the name would come to the program that has it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ResourceBusy, match="another program"):
            bound(check_listen(f"localhost:{port}"), book("127.0.0.1", "127.0.0.2"))


@pytest.mark.parametrize("resolve", [book(), book("127.0.0.1", family=socket.AF_APPLETALK)])
def test_a_name_without_an_address_here_is_said(resolve: Callable[[str, int], list[Row]], tmp_path: Path) -> None:
    """The error names the setting."""
    site = check_listen(f"{NAME}:0", tls=TlsFiles(certificate=tmp_path / "c.pem", key=tmp_path / "k.pem"))
    with pytest.raises(ResourceBusy, match=rf"listen: {NAME}:0 is no address of this machine"):
        bound(site, resolve)
