"""The host's name in the greeting of a TLS client."""

import ssl

import pytest

from browser.client_hello import Greeting, State, greeting


def hello(name: str | None) -> bytes:
    """Return the greeting that Python's own TLS sends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    sent = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name).do_handshake()
    return sent.read()


NAMED = hello("api.example.org")
BODY = NAMED[5:]


def records(message: bytes, *sizes: int) -> bytes:
    """Return a message spread over TLS records."""
    said = b""
    for size in (*sizes, len(message)):
        part, message = message[:size], message[size:]
        said += bytes((22, 3, 1)) + len(part).to_bytes(2, "big") + part if part else b""
    return said


def test_the_name_is_read_whatever_the_pieces() -> None:
    """Byte by byte, and spread over records, it says MORE until it is whole; what follows does not matter."""
    for end in range(1, len(NAMED)):
        assert greeting(NAMED[:end]).state is State.MORE
    assert greeting(NAMED) == Greeting(State.NAMED, "api.example.org")
    assert greeting(NAMED + b"early data") == Greeting(State.NAMED, "api.example.org")
    assert greeting(records(BODY, 1, 2, 3, 50)) == Greeting(State.NAMED, "api.example.org")


def test_a_greeting_without_a_name_is_told_apart() -> None:
    """As of a client that connects to a number."""
    assert greeting(hello(None)).state is State.UNNAMED


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n", b"SSH-2.0-x\r\n", b"\x80\x2e\x01\x03\x01", b"\x15\x03\x01\x00\x02\x01\x00"]
)
def test_other_protocols_are_no_tls(data: bytes) -> None:
    """Also the greeting of SSL 2, and a record of TLS that is no handshake."""
    assert greeting(data).state is State.NOT_TLS


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff" + b"\x01" * 10,
        records(b"\x02" + BODY[1:]),
        records(b"\x01\x00\x00\x05hello"),
        records(b"\x01\xff\xff\xff" + b"\0" * 100),
        records(BODY[:10]) + b"GET /",
        records(BODY.replace(b"api.example.org", b"api.ex\xffmple.org")),
    ],
    ids=["empty", "oversized", "other message", "short length", "long length", "broken off", "no name"],
)
def test_what_begins_as_tls_and_is_none_is_broken(data: bytes) -> None:
    """Empty or oversized records, other messages, lengths that do not fit, names that are no names."""
    assert greeting(data).state is State.BROKEN


def test_two_names_are_no_name() -> None:
    """A server could take the other one."""
    entry = b"\x00\x00\x0fapi.example.org"
    at = BODY.index(entry)
    two = BODY[:at] + entry + b"\x00\x00\x0fevi.example.org" + BODY[at + len(entry) :]
    grown = 18
    # list, extension, all extensions and the message each grow by the second name
    for offset, size in ((at - 2, 2), (at - 4, 2), (extensions_at(BODY), 2), (1, 3)):
        length = int.from_bytes(two[offset : offset + size], "big") + grown
        two = two[:offset] + length.to_bytes(size, "big") + two[offset + size :]
    assert greeting(records(two)).state is State.BROKEN


def extensions_at(body: bytes) -> int:
    """Return where the length of all extensions stands."""
    at = 4 + 34
    at += 1 + body[at]
    at += 2 + int.from_bytes(body[at : at + 2], "big")
    return at + 1 + body[at]
