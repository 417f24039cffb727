"""The one door of a sandbox with a list of hosts, in real bubblewrap, and that nothing else leads out (BOX-2)."""

import asyncio
import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from browser.errors import Rule
from browser.exchange import Verdict
from host.errors import Unsupported
from host.tools.bwrap import BwrapSandbox
from host.tools.egress import Egress, Outside
from host.tools.finished import Finished
from host.tools.jail import Jail
from tests.integration.browser.world import ADDRESS, Heard, Site, World, certified

from .conftest import SMALL, Place, names

BOUND_SECONDS = 30.0
URL = "https://files.example.org/"


class Out(NamedTuple):
    """A sandbox with a way into a small world."""

    sandbox: BwrapSandbox
    world: World
    site: Site
    heard: Heard
    egress: Egress

    async def run(self, command: str, caller: str = "t1:1.0", seconds: float = BOUND_SECONDS) -> Finished:
        """Run a command."""
        return await self.sandbox.run(command, cwd=".", timeout_seconds=seconds, environment={}, caller=caller)


@pytest.fixture
def out(place: Place, open_jail: Jail, tmp_path: Path) -> Iterator[Out]:
    """A sandbox that may reach files.example.org."""
    server, _, certificate = certified(tmp_path, "files.example.org", "evil.example")
    (place.workspace / "ca.pem").write_bytes(certificate.read_bytes())
    with World() as world:
        site, heard = Site(), Heard()
        world.names |= {"files.example.org": [ADDRESS], "evil.example": [ADDRESS], "inner.example.org": ["127.0.0.1"]}
        world.serve(443, site.handle, server)
        world.serve(80, site.handle)
        egress = Egress(("example.org",), group="main", on_connection=heard, outside=Outside(network=world.network()))
        egress.door("warm-up").close()  # so that what the proxy itself holds open is open before a test counts
        yield Out(BwrapSandbox(open_jail.roots, limits=SMALL, egress=egress), world, site, heard, egress)
        egress.close()


@pytest.fixture
def no_descriptors_left(out: Out) -> Iterator[None]:
    """Fail a test that leaves descriptors open; the servers of the world need a moment for theirs."""
    before = len(names(Path("/proc/self/fd")))
    yield
    until = time.monotonic() + BOUND_SECONDS
    while len(names(Path("/proc/self/fd"))) > before:
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.mark.clause("BOX-2")
async def test_a_listed_host_is_reached_from_the_sandbox(out: Out, no_descriptors_left: None) -> None:
    """By programs that only look at the usual variables; whose run it was is known."""
    found = await out.run(f"curl -sS --cacert ca.pem {URL}; echo; curl -sS http://files.example.org/plain")
    assert found.output == "hello from the world\nhello from the world"
    assert found.exit_code == 0
    assert found.notes == ()
    first, second = out.heard.one(0), out.heard.one(1)
    assert (first.caller, first.host, first.port, first.verdict) == (
        "t1:1.0",
        "files.example.org",
        443,
        Verdict.CARRIED,
    )
    assert second.port == 80
    python = (
        "import ssl, urllib.request as r; "
        f"print(r.urlopen('{URL}', context=ssl.create_default_context(cafile='ca.pem'), timeout=5).read().decode())"
    )
    assert (await out.run(f'python3 -c "{python}"', caller="t2:1.0")).output == "hello from the world\n"
    assert out.heard.one(2).caller == "t2:1.0"


@pytest.mark.clause("BOX-2")
async def test_an_unlisted_host_is_refused_in_words_that_the_program_shows(out: Out) -> None:
    """Python and curl's -v quote the proxy; the answer's notes say it for programs that show only a number."""
    refused = await out.run("curl -sS https://evil.example/")
    assert refused.exit_code != 0
    assert "403" in refused.output
    assert refused.notes == ("evil.example is not on the list of hosts (host_not_listed)",)
    told = await out.run("curl -v https://evil.example/ 2>&1 | grep '^< HTTP'")
    assert "403 Forbidden: evil.example is not on the list of hosts" in told.output
    python = "import urllib.request as r; r.urlopen('https://evil.example/', timeout=5)"
    assert "evil.example is not on the list of hosts" in (await out.run(f'python3 -c "{python}"')).output
    plain = await out.run("curl -sS http://evil.example/")
    assert "The list is [groups.main.sandbox] network in elis.toml" in plain.output
    assert out.heard.one().rule is Rule.HOST_NOT_LISTED
    assert out.world.lookups == []
    assert out.site.seen == []


@pytest.mark.clause("BOX-2")
async def test_a_listed_name_that_leads_inside_is_refused(out: Out) -> None:
    """The name server of a listed domain is not the host's friend."""
    refused = await out.run("curl -sS http://inner.example.org/")
    assert "inner.example.org leads to 127.0.0.1, which is no public address" in refused.output


_ROUTES = {
    "a direct connection": ("s.connect(('203.0.115.7', 443))", "unreachable"),
    "the host's loopback": ("s.connect(('127.0.0.1', {tcp}))", "refused"),
    "the host's loopback, IPv6": ("socket.create_connection(('::1', {tcp}), 3)", "refused|Cannot assign"),
    "a datagram to the outside": ("u.sendto(b'x', ('203.0.115.7', 53))", "unreachable"),
    "a datagram to the host's loopback": ("u.sendto(b'x', ('127.0.0.1', {udp})); u.recv(1)", "timed out|refused"),
    "multicast": ("u.sendto(b'x', ('224.0.0.251', 5353))", "unreachable"),
    "the machine's own address": ("s.connect(('{own}', {tcp}))", "unreachable|refused"),
    "the link-local metadata service": ("s.connect(('169.254.169.254', 80))", "unreachable"),
    "an abstract socket": ("a.connect('\\0{abstract}')", "refused"),
    "a raw socket": ("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "not permitted"),
    "a packet socket": ("socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)", "not supported"),
    "a netlink socket": ("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)", "not supported"),
    "a virtual machine's socket": ("socket.socket(40, socket.SOCK_STREAM)", "not supported"),
    "the name service": ("socket.getaddrinfo('files.example.org', 443)", "resolution|not known|service"),
}  # fmt: skip


@pytest.mark.clause("BOX-2")
async def test_nothing_else_leads_out(out: Out) -> None:
    """Direct addresses, the host's loopback, datagrams, abstract, raw and other sockets, names: each gets nowhere."""
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0elis-test-abstract")
    abstract.listen()
    own = socket.gethostbyname(socket.gethostname())
    with tcp, udp, abstract:
        places = {
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "abstract": "elis-test-abstract",
            "own": own,
        }
        for name, (attempt, expected) in _ROUTES.items():
            lines = (
                "import socket",
                "s, u = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
                "a = socket.socket(socket.AF_UNIX)",
                "s.settimeout(3); u.settimeout(0.2); a.settimeout(3)",
                attempt.format(**places).replace("\0", "\\0"),
                "print('REACHED')",
            )
            script = "\n".join(lines)
            found = await out.run(f"python3 - <<'END'\n{script}\nEND")
            assert "REACHED" not in found.output, name
            assert re.search(expected, found.output), (name, found.output)
        for server in (tcp, udp, abstract):
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept() if server is not udp else server.recv(1)


@pytest.mark.clause("BOX-2")
async def test_without_a_list_there_is_no_door(open_jail: Jail, place: Place) -> None:
    """No proxy is named, and nothing listens on the sandbox's loopback."""
    egress = Egress((), group="main", on_connection=Heard())
    sandbox = BwrapSandbox(open_jail.roots, limits=SMALL, egress=egress)
    command = "env | grep -i proxy; python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 3128), 2)'"
    told = await sandbox.run(command, cwd=".", timeout_seconds=BOUND_SECONDS, environment={})
    assert "Connection refused" in told.output
    assert "PROXY" not in told.output
    assert not [thread for thread in threading.enumerate() if thread.name == "egress"]


async def test_the_command_sees_its_usual_world_and_no_more_for_the_door(out: Out, open_jail: Jail) -> None:
    """Input is empty, no descriptor of the door is left, and the helper has become the command."""
    found = await out.run("cat; ls /proc/self/fd | tr '\\n' ' '; cat /proc/1/comm; ls /proc | grep -c '^[0-9]'; exit 7")
    assert found.exit_code == 7
    plain = BwrapSandbox(open_jail.roots, limits=SMALL)
    same = await plain.run(
        "cat; ls /proc/self/fd | tr '\\n' ' '; cat /proc/1/comm; ls /proc | grep -c '^[0-9]'; exit 7",
        cwd=".", timeout_seconds=BOUND_SECONDS, environment={},
    )  # fmt: skip
    assert found.output == same.output


@pytest.mark.clause("BOX-2", "STOP-1")
async def test_a_stop_ends_the_command_and_its_connections(out: Out, no_descriptors_left: None) -> None:
    """What waits for a slow server is gone at once, and written down."""
    out.site.hang = True
    running = asyncio.ensure_future(out.run(f"curl -sS --cacert ca.pem {URL}"))
    async with asyncio.timeout(BOUND_SECONDS):
        while not out.site.seen:
            await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    told = out.heard.one()
    assert (told.caller, told.verdict) == ("t1:1.0", Verdict.CARRIED)


async def test_killing_all_ends_the_connections_of_an_abandoned_lane(out: Out) -> None:
    """As after a lane's thread was torn off: nobody comes back to close its door."""
    out.site.hang = True
    running = asyncio.ensure_future(out.run(f"curl -sS --cacert ca.pem {URL}"))
    async with asyncio.timeout(BOUND_SECONDS):
        while not out.site.seen:
            await asyncio.sleep(0.005)
    out.sandbox.kill_all()
    assert out.heard.one().caller == "t1:1.0"
    with contextlib.suppress(Unsupported):  # a box that was ended from outside says nothing of its command
        await running


async def test_two_runs_at_once_have_doors_of_their_own(out: Out) -> None:
    """Each connection is known by the call that it was made for."""
    command = f"curl -sS --cacert ca.pem {URL}"
    await asyncio.gather(*(out.run(command, caller=f"t{number}:1.0") for number in range(4)))
    assert sorted(out.heard.one(number).caller for number in range(4)) == [f"t{number}:1.0" for number in range(4)]
    assert names(Path("/proc/self/fd"))


def test_the_connections_of_a_torn_turn_are_ended_and_no_others(out: Out) -> None:
    """Whatever tool made them; a turn whose name begins alike is another one."""
    mine, other = out.egress.door("t1:1.0"), out.egress.door("t11:1.0")
    with mine.connection() as one, other.connection() as two:
        one.settimeout(BOUND_SECONDS)
        out.egress.end("t1")
        assert one.recv(1) == b""
        two.settimeout(0.05)
        with pytest.raises(TimeoutError):
            two.recv(1)


def test_the_sandbox_says_which_hosts_it_reaches(out: Out) -> None:
    """For the model and for people."""
    assert "a proxy, named by HTTPS_PROXY, to example.org." in out.sandbox.describe()
