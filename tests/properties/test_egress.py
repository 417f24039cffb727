"""No spelling of an address reaches an address that is not public, whatever list, resolver and request there is."""

import ipaddress
import socket
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from browser.addresses import is_public
from browser.client_hello import greeting
from browser.errors import Refused
from browser.heads import read_head
from browser.hosts import name_of
from host.errors import ProtocolViolation
from host.tools.web_address import web_address

NOT_PUBLIC = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
]  # fmt: skip
inner = st.sampled_from(NOT_PUBLIC).flatmap(lambda network: st.ip_addresses(network=network))
anywhere = st.ip_addresses(v=4)


def spellings(address: ipaddress.IPv4Address) -> list[str]:
    """Return ways in which programs are known to read an IPv4 address."""
    number, parts = int(address), str(address).split(".")
    shorter = [f"{parts[0]}.{number & 0xFFFFFF}", f"{parts[0]}.{parts[1]}.{number & 0xFFFF}"]
    octal, hexadecimal = [f"0{int(part):o}" for part in parts], [hex(int(part)) for part in parts]
    plain = [str(address), f"{address}.", str(number), hex(number), f"0{number:o}", *shorter]
    plain += [
        ".".join(octal),
        ".".join(hexadecimal),
        ".".join([*hexadecimal[:3], parts[3]]),
        ".".join(part.zfill(4) for part in parts),
    ]
    six = [f"::ffff:{address}", f"::{address}", f"64:ff9b::{address}", f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1"]
    six.append(str(ipaddress.IPv6Address(f"::ffff:{address}")))
    wide = str(address).translate({ord(sign): 0xFF10 + int(sign) for sign in string.digits})
    return [*plain, *(f"[{each}]" for each in six), *six, wide, str(address).replace(".", "。"), f"{address}%2e"]


@pytest.mark.clause("BOX-2")
@given(address=anywhere, data=st.data(), upper=st.booleans())
@settings(max_examples=300)
def test_no_spelling_of_a_number_is_a_name(address: ipaddress.IPv4Address, data: st.DataObject, upper: bool) -> None:
    """Public or not: hosts are reached by names, so no list can let a number in."""
    text = data.draw(st.sampled_from(spellings(address)))
    with pytest.raises(Refused):
        name_of(text.upper() if upper else text)


@pytest.mark.clause("BOX-2")
@given(address=inner)
@settings(max_examples=300)
def test_no_form_in_which_a_resolver_may_answer_makes_an_inner_address_public(address: ipaddress.IPv4Address) -> None:
    """As it is, mapped, compatible, translated or relayed in an IPv6 address."""
    number = int(address)
    forms = [ipaddress.IPv6Address(prefix | number) for prefix in (0, 0xFFFF << 32, 0x64FF9B << 96, 0xFFFF << 48)]
    forms.append(ipaddress.IPv6Address((0x2002 << 112) | (number << 80) | 1))
    forms.append(ipaddress.IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)))  # Teredo
    for form in (address, *forms):
        assert not is_public(str(form))


@pytest.mark.clause("BOX-2")
@given(address=st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
@settings(max_examples=500)
def test_what_is_public_is_so_to_the_library_too(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """The stricter of two opinions counts."""
    if is_public(str(address)):
        assert address.is_global
        special = ("private", "loopback", "link_local", "multicast", "reserved", "unspecified")
        assert not [kind for kind in special if getattr(address, f"is_{kind}")]


@given(text=st.text(alphabet=string.ascii_letters + string.digits + ".-_:[]%@/\\ \t０１。x", max_size=40))
@settings(max_examples=500)
def test_a_name_that_passes_is_read_as_no_address_by_the_system(text: str) -> None:
    """What the C library would take for a number never passes for a name."""
    try:
        name = name_of(text)
    except Refused:
        return
    with pytest.raises(OSError):  # noqa: PT011 - it has no message of its own
        socket.inet_aton(name)
    assert name_of(name) == name


hosts = st.sampled_from(
    ["example.org", "EXAMPLE.org.", "evil.example", "127.0.0.1", "[::1]", "a@example.org", "localhost"]
)
tails = st.text(alphabet=string.printable, max_size=60)


@given(scheme=st.sampled_from(["https://", "http://", "HTTPS:", "https:/", "//"]), host=hosts, tail=tails)
@settings(max_examples=400)
def test_an_address_that_is_taken_apart_goes_where_it_says(scheme: str, host: str, tail: str) -> None:
    """Whatever follows the host changes neither host nor port, unless it is a port."""
    url = f"{scheme}{host}{tail}"
    try:
        address = web_address(url)
    except ProtocolViolation:
        return
    again = web_address(address.text)
    assert again == address
    assert address.text.isascii()
    assert address.text.isprintable()
    assert " " not in address.text
    authority = url.partition("://")[2]
    assert authority.lower().startswith(address.destination.host)


@given(data=st.binary(max_size=300))
@settings(max_examples=300)
def test_no_bytes_break_the_readers(data: bytes) -> None:
    """A head is read or refused, a greeting is one of five things."""
    greeting(data)
    greeting(b"\x16\x03\x01" + data)
    try:
        read_head(data + b"\r\n\r\n")
    except Refused:
        return


@given(
    lines=st.lists(
        st.sampled_from(["Host: example.org", "Host: evil.example", "Content-Length: 3", "Transfer-Encoding: chunked",
                         "X: y", " folded", "X : y", "Connection: host, x", "A: b\nHost: evil.example", "Proxy-X: y"]),
        max_size=6,
    ),
    target=st.sampled_from(["http://example.org/", "http://example.org:80/a?b", "http://EXAMPLE.org", "http://a@example.org/"]),
)  # fmt: skip
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_a_head_that_is_carried_names_one_host_once(lines: list[str], target: str) -> None:
    """The server gets the host that was judged, one length at most, and nothing folded."""
    data = "\r\n".join([f"POST {target} HTTP/1.1", *lines, "", ""]).encode()
    try:
        head = read_head(data)
    except Refused:
        return
    sent = head.rewritten.decode().split("\r\n")
    assert [line for line in sent if line.lower().startswith("host")] == ["Host: example.org"]
    assert "evil" not in head.rewritten.decode()
    assert sum(line.lower().startswith(("content-length", "transfer-encoding")) for line in sent) <= 1
    assert sent[-2:] == ["", ""]
    assert not [line for line in sent if line.startswith(" ")]
