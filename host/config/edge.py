"""Where a host may listen, and what has to stand between it and other machines (PAN-2).

The rules of the settings and the panel both ask here, so that they judge alike. Pure: no name is looked up and nothing
is bound, so that a name other than localhost counts as one that others reach.
"""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

_LABEL: Final = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*\Z")


def parse_listen(listen: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT` or `[V6]:PORT`, the host in lower case; raise ValueError."""
    parts = urlsplit(f"//{listen}")
    host = (parts.hostname or "").rstrip(".")
    usable = listen.isprintable() and (is_address(host) or _NAME.match(host))
    if not usable or parts.port is None or "@" in listen or parts.path or parts.query or parts.fragment:
        message = "not HOST:PORT"
        raise ValueError(message)
    return host, parts.port


def objection(listen: str, *, tls: bool, proxy: bool) -> tuple[str, str] | None:
    """Return what is wrong with listening there and what to do about it; None where nothing is.

    `tls` says whether the host has a certificate of its own, `proxy` whether one with TLS stands before it.
    """
    try:
        host, port = parse_listen(listen)
    except ValueError:
        return "is not an address and a port", 'write `listen = "127.0.0.1:8700"`; port 0 means any free one'
    if is_loopback(host) or proxy:
        return None
    if not tls:
        return (
            "reaches beyond this machine, where sign-ins could be read on the way",
            "listen on 127.0.0.1, or set tls_certificate and tls_key, or name the TLS proxy before it in proxy_url",
        )
    if _is_wildcard(host):
        return (
            "does not say under which name browsers reach the panel, and it answers under no other",
            f"give the address or the host name that the certificate is for, such as elis.example.org:{port}",
        )
    return None


def is_loopback(host: str) -> bool:
    """Say whether `host` can only be reached from this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(host: str) -> bool:
    """Say whether `host` is an address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_wildcard(host: str) -> bool:
    return is_address(host) and ipaddress.ip_address(host).is_unspecified
