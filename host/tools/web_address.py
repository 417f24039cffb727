"""Addresses that `http` goes to, read so strictly that no two programs read them differently.

The host is written in ASCII (`xn--` for other alphabets) without user name, percent signs or backslashes; whether it
may be reached is for the gate and the proxy to say. What follows it may hold any text, and is percent-encoded. Pure.
"""

import re
from typing import Final
from urllib.parse import quote, urljoin

import msgspec

from host.errors import ProtocolViolation
from host.passport import Destination

_ADDRESS: Final = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<rest>[^#]*)", re.IGNORECASE | re.DOTALL)
_AUTHORITY: Final = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?\Z")
_HOST: Final = re.compile(r"(?P<host>[^\s/?#@=*]+?)(:(?P<port>[0-9]{1,5}))?\Z")
_PORTS: Final = {"https": 443, "http": 80}
_LAST_PORT: Final = 65535
_KEPT: Final = "/?:@!$&'()*+,;=%[]"


class WebAddress(msgspec.Struct, frozen=True, kw_only=True):
    """An address taken apart."""

    destination: Destination
    target: str  # path and query, percent-encoded

    @property
    def text(self) -> str:
        """The address in one spelling."""
        to = self.destination
        port = "" if to.port == _PORTS[to.scheme] else f":{to.port}"
        return f"{to.scheme}://{to.host}{port}{self.target}"

    def joined(self, location: str) -> "WebAddress":
        """Return where `location`, as a server wrote it, leads from here; raise ProtocolViolation."""
        try:
            return web_address(urljoin(self.text, location))
        except ValueError as error:  # such as a bracket that nothing closes
            raise ProtocolViolation("it leads to what is no address") from error


def web_address(url: str) -> WebAddress:
    """Take `url` apart; raise ProtocolViolation, which says what is wrong with it."""
    found = _ADDRESS.match(url)
    if found is None:
        message = "url is no whole http or https address; write for example https://example.org/path"
        raise ProtocolViolation(message)
    authority = _AUTHORITY.match(found["authority"])
    if authority is None:
        message = (
            "the host in url cannot be read for certain; write its plain name without user name or encoding, names of "
            "other alphabets in their xn-- form"
        )
        raise ProtocolViolation(message)
    scheme = found["scheme"].lower()
    port = int(authority["port"]) if authority["port"] else _PORTS[scheme]
    if not 0 < port <= _LAST_PORT:
        message = f"url names the port {port}, which does not exist"
        raise ProtocolViolation(message)
    host = authority["host"].lower().removesuffix(".")
    rest = quote(found["rest"], safe=_KEPT, errors="replace")
    target = rest if rest.startswith("/") else f"/{rest}"
    return WebAddress(destination=Destination(scheme=scheme, host=host, port=port), target=target)


def host_named(text: str) -> Destination:
    """Return where a host that is named by itself (`example.org`, `example.org:8443`) leads; raise ProtocolViolation.

    Over any port but 80 that is TLS. A colon in what stands before the port is an address's, which nobody admits.
    """
    found = _HOST.match(text)
    port = int(found["port"]) if found and found["port"] else _PORTS["https"]
    if found is None or not 0 < port <= _LAST_PORT:
        message = f"{text[:80]!r} is no host; write names only, such as example.org, or example.org:8443 for that port"
        raise ProtocolViolation(message)
    host = found["host"].lower().removesuffix(".")
    return Destination(scheme="http" if port == _PORTS["http"] else "https", host=host, port=port)
