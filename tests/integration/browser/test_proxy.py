"""What the egress proxy carries and what it refuses, over real sockets (BOX-2, WEB-5)."""

import asyncio
import socket
import ssl
import threading
from concurrent.futures import Future

import pytest

from browser.errors import ProxyStopped, Rule
from browser.exchange import Client, Connection, Verdict
from browser.hosts import HostList
from browser.network import Limits
from browser.proxy import Door, Proxy
from tests.integration.browser.conftest import Rig
from tests.integration.browser.world import ADDRESS, BOUND, answer


def asked(door: Door, request: bytes) -> bytes:
    """Send a request through the door and return all that comes back."""
    with door.connection() as connection:
        connection.settimeout(BOUND)
        connection.sendall(request)
        return received(connection)


def received(connection: socket.socket) -> bytes:
    """Return what comes until the end."""
    parts: list[bytes] = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def tunnelled(rig: Rig, authority: str) -> socket.socket:
    """Return a tunnel."""
    connection = rig.door.connection()
    connection.settimeout(BOUND)
    connection.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    told = b""
    while not told.endswith(b"\r\n\r\n"):
        told += connection.recv(1)  # and nothing of what the server may have said already
    assert told.startswith(b"HTTP/1.1 200"), told
    return connection


def get(connection: socket.socket, trust: ssl.SSLContext, name: str) -> bytes:
    """Greet `name` in a tunnel and get its front page."""
    with trust.wrap_socket(connection, server_hostname=name, suppress_ragged_eofs=True) as secure:
        secure.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
        return secure.recv(65536)


@pytest.mark.clause("BOX-2")
def test_a_listed_host_is_reached_through_a_tunnel_and_written_down(rig: Rig) -> None:
    """The name was looked up once, that address was connected to, and the bytes of both ways are counted."""
    with tunnelled(rig, "api.example.org:443") as tunnel:
        assert b"hello from the world" in get(tunnel, rig.trust, "api.example.org")
    told = rig.heard.one()
    assert (told.caller, told.host, told.port, told.address) == ("t1:1.0", "api.example.org", 443, ADDRESS)
    assert (told.verdict, told.rule) == (Verdict.CARRIED, None)
    assert told.bytes_out > 200
    assert told.bytes_in > 200
    assert rig.world.lookups == ["api.example.org"]
    assert rig.world.dialled == [(ADDRESS, 443)]


def test_a_request_for_a_whole_address_is_rewritten_for_the_server(rig: Rig) -> None:
    """What is between client and proxy stays there; the connection carries one request and no second one."""
    body = b"12345"
    request = (
        b"POST http://example.org/a?b=c HTTP/1.1\r\nHost: EXAMPLE.org:80\r\nProxy-Authorization: x\r\nX-Own: y\r\n"
        b"Connection: keep-alive, X-Hop\r\nX-Hop: z\r\nContent-Length: 5\r\n\r\n" + body
    )
    smuggled = b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    rig.site.answers["/a"] = answer(b"done", connection="close")
    with rig.door.connection() as connection:
        connection.settimeout(BOUND)
        connection.sendall(request + smuggled)
        told = connection.recv(65536)
        connection.shutdown(socket.SHUT_RDWR)
    assert told.endswith(b"done")
    (seen,) = rig.site.seen
    assert seen.line == "POST /a?b=c HTTP/1.1"
    assert seen.headers == {"host": "example.org", "x-own": "y", "content-length": "5", "connection": "close"}
    assert seen.body == body


@pytest.mark.parametrize("chunks", [b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", b"5\r\nabcde\r\n0\r\n\r\n"])
def test_a_body_in_chunks_is_carried_in_chunks(rig: Rig, chunks: bytes) -> None:
    """Each is measured anew, without what may stand behind its size."""
    got: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(answer(b"ok"))
        writer.close()

    rig.world.serve(80, handle)
    head = b"PUT http://example.org/ HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert asked(rig.door, head + chunks).endswith(b"ok")
    assert b";x" not in got[0]
    assert got[0].partition(b"\r\n\r\n")[2].replace(b";x=y", b"") == chunks.replace(b";x=y", b"")


@pytest.mark.clause("BOX-2")
@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("evil.example:443", Rule.HOST_NOT_LISTED),
        ("notexample.org:443", Rule.HOST_NOT_LISTED),
        ("example.org.evil.example:443", Rule.HOST_NOT_LISTED),
        ("www.only.example.net:443", Rule.HOST_NOT_LISTED),
        ("example.org:8443", Rule.PORT),
        ("example.org:22", Rule.PORT),
        ("127.0.0.1:443", Rule.IP_LITERAL),
        ("127.1:443", Rule.IP_LITERAL),
        ("2130706433:443", Rule.IP_LITERAL),
        ("0x7f.0.0.1:443", Rule.IP_LITERAL),
        ("[::1]:443", Rule.IP_LITERAL),
        ("localhost:443", Rule.INTERNAL_NAME),
        ("printer:443", Rule.INTERNAL_NAME),
        ("metadata.google.internal:443", Rule.INTERNAL_NAME),
        ("router.home.arpa:443", Rule.INTERNAL_NAME),
        ("user@example.org:443", Rule.MALFORMED),
        ("example%2eorg:443", Rule.MALFORMED),
        ("example.org", Rule.MALFORMED),
        ("example.org:0", Rule.MALFORMED),
        ("example.org:99999", Rule.MALFORMED),
        ("example..org:443", Rule.MALFORMED),
        ("/path", Rule.MALFORMED),
    ],
)
def test_a_tunnel_elsewhere_is_refused_with_the_rule_and_looked_up_nowhere(rig: Rig, target: str, rule: Rule) -> None:
    """The first line says why, for programs that show nothing else; no name server hears of it."""
    told = asked(rig.door, f"CONNECT {target} HTTP/1.1\r\n\r\n".encode()).decode()
    status = "400" if rule is Rule.MALFORMED else "403"
    assert told.startswith(f"HTTP/1.1 {status} "), told
    assert f"x-elis-rule: {rule}" in told
    assert told.rstrip().endswith(f"(rule {rule}). The list is in elis.toml.")
    heard = rig.heard.one()
    assert (heard.verdict, heard.rule, heard.address) == (Verdict.REFUSED, rule, "")
    assert target.split(":", maxsplit=1)[0].strip("[")[:9] in heard.host
    assert rig.world.lookups == []
    assert len(rig.door.refusals()) == 1


@pytest.mark.clause("BOX-2")
@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:8.8.8.8", "100.100.100.200"]
)
def test_a_listed_name_that_leads_to_a_private_address_is_refused(rig: Rig, address: str) -> None:
    """One such address among public ones is enough: the list speaks of names, the network of addresses."""
    rig.world.names["example.org"] = [ADDRESS, address]
    told = asked(rig.door, b"CONNECT example.org:443 HTTP/1.1\r\n\r\n")
    assert b"x-elis-rule: address_not_public" in told
    assert rig.heard.one().address == address
    assert rig.world.dialled == []


def test_the_address_that_was_checked_is_connected_to_whatever_the_name_says_later(rig: Rig) -> None:
    """A name is resolved once a connection: a second answer of a hostile name server is never asked for."""
    with tunnelled(rig, "example.org:443") as tunnel:
        rig.world.names["example.org"] = ["127.0.0.1"]
        assert b"hello" in get(tunnel, rig.trust, "example.org")
    assert rig.world.lookups == ["example.org"]


@pytest.mark.clause("BOX-2")
@pytest.mark.parametrize(
    "lines",
    [
        b"GET http://example.org/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\nHost: example.org\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost : example.org\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n folded: x\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\nA: b\nC: d\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\nA: b\rC\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\nA: \0\r\n\r\n",
        b"POST http://example.org/ HTTP/1.1\r\nHost: example.org\r\nContent-Length: 1\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"POST http://example.org/ HTTP/1.1\r\nHost: example.org\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST http://example.org/ HTTP/1.1\r\nHost: example.org\r\nContent-Length: +1\r\n\r\n",
        b"POST http://example.org/ HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"GET http://a@example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"GET  http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"GET http://example.org/ HTTP/2.0\r\nHost: example.org\r\n\r\n",
        b"GET http://example.org/\xff HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"GET https://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"GET file:///etc/passwd HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"CONNECT example.org:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
        b"CONNECT example.org:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345",
        b"\x16\x03\x01\x00\x05hello\r\n\r\n",
        b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\nX: " + b"a" * 8192 + b"\r\n\r\n",
    ],
)
def test_a_head_that_could_be_read_in_two_ways_is_carried_nowhere(rig: Rig, lines: bytes) -> None:
    """Two hosts, two lengths, folded or broken lines, other forms of a request, too much of it."""
    told = asked(rig.door, lines)
    assert told[9:12] in {b"400", b"403", b"431"}, told
    assert rig.heard.one().verdict is Verdict.REFUSED
    assert rig.world.dialled == []
    assert rig.site.seen == []


@pytest.mark.parametrize(
    "chunks", [b"zz\r\n", b"-1\r\n", b"0x5\r\n", b"\r\n", b"1\r\nab\r\n0\r\n\r\n", b"0\r\nTrailer: x\r\n\r\n"]
)
def test_chunks_that_cannot_be_measured_end_the_connection(rig: Rig, chunks: bytes) -> None:
    """What a server would take for a second request never follows them."""
    head = b"PUT http://example.org/ HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\n\r\n"
    rig.site.hang = True  # it takes the head for a request without a body
    assert asked(rig.door, head + chunks) == b""
    assert rig.heard.one().rule is Rule.MALFORMED


def test_a_tunnel_that_greets_another_host_is_closed(rig: Rig) -> None:
    """Names at one shared address are told apart by the greeting; the client hears it in TLS's own words."""
    with tunnelled(rig, "example.org:443") as tunnel, pytest.raises(ssl.SSLError, match=r"(?i)unrecognized.name"):
        get(tunnel, rig.trust, "other.example.com")
    told = rig.heard.one()
    assert (told.rule, told.host) == (Rule.SNI_DIFFERS, "example.org")
    assert told.bytes_out == 0
    assert "other.example.com" in told.detail


def test_a_tunnel_that_greets_nobody_by_name_is_closed(rig: Rig) -> None:
    """Without a name the server chooses one."""
    anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anyone.check_hostname = False
    anyone.verify_mode = ssl.CERT_NONE
    with tunnelled(rig, "example.org:443") as tunnel, pytest.raises(ssl.SSLError):
        anyone.wrap_socket(tunnel)
    assert rig.heard.one().rule is Rule.SNI_MISSING


@pytest.mark.parametrize("port", [80, 443])
def test_a_tunnel_to_a_usual_port_carries_nothing_but_tls(rig: Rig, port: int) -> None:
    """A request in the clear could name another host inside."""
    with tunnelled(rig, f"example.org:{port}") as tunnel:
        tunnel.sendall(b"GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n")
        assert received(tunnel) == b""
    assert rig.heard.one().rule is Rule.NOT_TLS
    assert rig.site.seen == []


def test_a_port_that_is_listed_by_its_number_carries_what_its_protocol_says(rig: Rig) -> None:
    """The server may well speak first there, and need not speak TLS."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        writer.write(await reader.readline())
        writer.close()

    rig.world.serve(8443, greet)
    with tunnelled(rig, "odd.example.org:8443") as tunnel:
        assert tunnel.recv(100) == b"220 ready\r\n"
        tunnel.sendall(b"EHLO me\r\n")
        assert received(tunnel) == b"EHLO me\r\n"
    assert rig.heard.one().verdict is Verdict.CARRIED


def test_what_does_not_resolve_or_answer_is_told_apart_from_a_refusal(rig: Rig) -> None:
    """A mistyped name and a server that is down are no matter of the list."""
    assert asked(rig.door, b"CONNECT gone.example.org:443 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 502 ")
    assert asked(rig.door, b"CONNECT odd.example.org:8443 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 502 ")
    first, second = rig.heard.one(0), rig.heard.one(1)
    assert (first.verdict, first.rule) == (Verdict.FAILED, Rule.UNRESOLVED)
    assert (second.verdict, second.rule) == (Verdict.FAILED, Rule.UNREACHABLE)


def test_a_silent_caller_and_a_silent_server_are_let_go(rig: Rig) -> None:
    """Neither a request that never ends nor a connection without bytes holds anything for long."""
    assert asked(rig.door, b"CONNECT example.org:443").startswith(b"HTTP/1.1 408 ")
    rig.site.hang = True
    assert asked(rig.door, b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n") == b""
    assert rig.heard.one().rule is Rule.TIMED_OUT


def test_a_connection_carries_no_more_than_its_limit(rig: Rig) -> None:
    """What would go on for ever is broken off, and said so."""
    rig.site.answers["/"] = answer(b"x" * (2 << 20))
    told = asked(rig.door, b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n")
    assert len(told) <= 1 << 20
    assert rig.heard.one().rule is Rule.TOO_MUCH


def test_closing_a_door_ends_its_connections_at_once_and_no_others(rig: Rig) -> None:
    """When a run ends or is stopped nothing of it goes on, while others do."""
    other = rig.proxy.door(Client(caller="t2:1.0", hosts=HostList(["example.org"])))
    with tunnelled(rig, "example.org:443") as mine, other.connection() as theirs:
        theirs.settimeout(BOUND)
        theirs.sendall(b"CONNECT example.org:443 HTTP/1.1\r\n\r\n")
        assert theirs.recv(4096).startswith(b"HTTP/1.1 200")
        assert rig.door.close(BOUND)
        assert received(mine) == b""
        told = rig.heard.one()
        assert (told.caller, told.verdict, told.rule) == ("t1:1.0", Verdict.CARRIED, Rule.CALLER_ENDED)
        assert b"hello" in get(theirs, rig.trust, "example.org")
    with rig.door.connection() as late:
        assert received(late) == b""


def test_stopping_the_proxy_ends_its_thread_and_every_connection(rig: Rig) -> None:
    """Afterwards there is no door any more."""
    with tunnelled(rig, "example.org:443") as tunnel:
        rig.proxy.stop()
        assert received(tunnel) == b""
    assert not [thread for thread in threading.enumerate() if thread.name == "egress"]
    rig.proxy.stop()
    with pytest.raises(ProxyStopped):
        rig.proxy.door(rig.door.client)


def test_a_listening_socket_that_was_handed_over_is_a_door(rig: Rig) -> None:
    """As of a sandbox, whose control sends it by SCM_RIGHTS and waits for the word to go."""
    listener = socket.create_server(("127.0.0.1", 0))
    outside, inside = socket.socketpair()
    with listener, inside:
        rig.door.adopt(outside)
        inside.settimeout(BOUND)
        socket.send_fds(inside, [b"d"], [listener.fileno()])
        assert inside.recv(1) == b"g"
        with socket.create_connection(listener.getsockname(), BOUND) as connection:
            connection.sendall(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
            assert b"403" in received(connection)
    assert rig.heard.one().rule is Rule.HOST_NOT_LISTED


@pytest.mark.parametrize("handed", ["nothing", "a file", "a connected socket"])
def test_what_is_no_listening_socket_is_no_door(rig: Rig, handed: str) -> None:
    """The control is closed, and nobody is told to go."""
    outside, inside = socket.socketpair()
    one, other = socket.socketpair()
    with inside, one, other, open("/dev/null") as null:  # noqa: PTH123 - a descriptor of a file
        rig.door.adopt(outside)
        inside.settimeout(BOUND)
        if handed == "nothing":
            inside.sendall(b"d")
        else:
            socket.send_fds(inside, [b"d"], [null.fileno() if handed == "a file" else one.fileno()])
        assert inside.recv(1) == b""


def test_a_caller_makes_no_more_connections_than_can_be_written_down(rig: Rig) -> None:
    """While a report is not taken, its connection holds a place of the caller's."""
    reports: list[Future[None]] = []
    reported = threading.Semaphore(0)

    def report(_: Connection) -> Future[None]:
        reports.append(Future())
        reported.release()
        return reports[-1]

    proxy = Proxy(report, network=rig.world.network(), limits=Limits(at_once=1))
    try:
        door = proxy.door(Client(caller="t1:1.0", hosts=HostList(), advice=""))
        with door.connection() as first, door.connection() as second:
            for connection in (first, second):
                connection.settimeout(BOUND)
                connection.sendall(b"CONNECT a.example.org:443 HTTP/1.1\r\n\r\n")
            assert b"403" in received(first)
            assert reported.acquire(timeout=BOUND)
            second.settimeout(0.05)
            with pytest.raises(TimeoutError):
                second.recv(1)
            reports[0].set_result(None)
            second.settimeout(BOUND)
            assert b"403" in received(second)
    finally:
        proxy.stop()
