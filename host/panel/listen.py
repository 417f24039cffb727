"""Where panel and API may listen, and under which names browsers may reach them (PAN-2).

Loopback needs nothing. Beyond it the panel wants TLS of its own, or the operator's word that a reverse proxy with TLS
stands before it; otherwise session cookies and the token would cross a network in the clear. Pure: nothing is bound.
"""

import ipaddress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from host.errors import SettingsError

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})

_MAX_PORT: Final = 65535


class TlsFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate with its key, both PEM."""

    certificate: Path
    key: Path


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Where the panel listens and how browsers reach it."""

    host: str  # the address to bind, without brackets
    port: int  # 0: any free one
    names: frozenset[str]  # what a request's Host header may say, without its port
    tls: TlsFiles | None = None
    proxy_url: str = ""  # the origin under which a reverse proxy with TLS is reached; empty: there is none

    def is_secure(self, host_header: str) -> bool:
        """Say whether a browser that asks under `host_header` comes by TLS, so that cookies are marked Secure."""
        return self.tls is not None or (
            bool(self.proxy_url) and host_name(host_header) == urlsplit(self.proxy_url).hostname
        )

    def origin(self, host_header: str) -> str:
        """Return the origin that the panel's own pages have when they were asked for under `host_header`."""
        return f"{'https' if self.is_secure(host_header) else 'http'}://{host_header}"

    def link_origin(self, host_header: str) -> str:
        """Return the origin that a login link names: the proxy's if there is one."""
        return self.proxy_url or self.origin(host_header)


def check_listen(address: str, *, tls: TlsFiles | None = None, proxy_url: str = "") -> Site:
    """Return where to listen; raise SettingsError for an address that is unclear or would expose the panel."""
    host, port = split_address(address)
    names = set(LOOPBACK_NAMES)
    if proxy_url:
        names.add(_proxy_name(proxy_url))
    if not is_loopback(host):
        if tls is None and not proxy_url:
            message = (
                f"[host] listen = {address!r} reaches beyond this machine, where sign-ins could be read on the way; "
                "listen on 127.0.0.1, or give [host] tls_certificate and tls_key, "
                "or name the TLS reverse proxy in [host] proxy_url"
            )
            raise SettingsError(message)
        if tls is not None and not proxy_url and _is_wildcard(host):
            message = (
                f"[host] listen = {address!r} does not say under which name browsers reach the panel, and it answers "
                "under no other; give the address or the host name that the certificate is for, such as "
                f"elis.example.org:{port}"
            )
            raise SettingsError(message)
        names.add(host.lower())
    return Site(host=host, port=port, names=frozenset(names), tls=tls, proxy_url=proxy_url.rstrip("/"))


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of `host:port` or `[v6]:port`; raise SettingsError."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""  # an IPv6 address without brackets: nobody can say where its port begins
    if not colon or not host or not port.isdecimal() or int(port) > _MAX_PORT:
        message = f"[host] listen = {address!r} should read ADDRESS:PORT, such as 127.0.0.1:8700"
        raise SettingsError(message)
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Say whether `host` can only be reached from this machine. Names other than localhost count as reachable."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def host_name(host_header: str) -> str:
    """Return the name in a Host header without its port, in lower case; empty when it is malformed."""
    try:
        parts = urlsplit(f"//{host_header}")
        _ = parts.port  # raises for a port that is none
    except ValueError:
        return ""
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return ""
    return (parts.hostname or "").rstrip(".")


def _proxy_name(proxy_url: str) -> str:
    parts = urlsplit(proxy_url)
    if parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or parts.username is not None:
        message = f"[host] proxy_url = {proxy_url!r} should be an origin such as https://elis.example.org"
        raise SettingsError(message)
    return parts.hostname
