"""Where panel and API may listen, and under which names browsers may reach them (PAN-2).

Loopback needs nothing. Beyond it the panel wants TLS of its own, or the operator's word that a reverse proxy with TLS
stands before it; otherwise session cookies and the token would cross a network in the clear. Pure: nothing is bound.
"""

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from host.config.edge import is_address, objection, parse_listen
from host.errors import SettingsError

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class TlsFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate with its key, both PEM."""

    certificate: Path
    key: Path


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Where the panel listens and how browsers reach it."""

    host: str  # the address or name to bind, in lower case and without brackets
    port: int  # 0: any free one
    names: frozenset[str]  # what a request's Host header may say, without its port
    tls: TlsFiles | None = None
    proxy_url: str = ""  # the origin under which a reverse proxy with TLS is reached; empty: there is none

    @property
    def is_clear(self) -> bool:
        """Whether what is said to the panel goes unencrypted all the way, so that it must not leave the machine."""
        return self.tls is None and not self.proxy_url

    def is_secure(self, host_header: str) -> bool:
        """Say whether a browser that asks under `host_header` comes by TLS, so that cookies are marked Secure."""
        return self.tls is not None or (
            bool(self.proxy_url) and host_name(host_header) == urlsplit(self.proxy_url).hostname
        )

    def origin(self, host_header: str) -> str:
        """Return the origin that the panel's own pages have when they were asked for under `host_header`."""
        return f"{'https' if self.is_secure(host_header) else 'http'}://{host_header}"

    def link_origin(self, host_header: str) -> str:
        """Return the origin that a login link names: the proxy's if there is one, else what the certificate is for."""
        if self.proxy_url:
            return self.proxy_url
        if self.tls is None or is_address(self.host):
            return self.origin(host_header)
        port = urlsplit(f"//{host_header}").port  # the command line asks under the address that was bound
        return f"https://{self.host}:{port}" if port else f"https://{self.host}"


def check_listen(address: str, *, tls: TlsFiles | None = None, proxy_url: str = "") -> Site:
    """Return where to listen; raise SettingsError for an address that is unclear or would expose the panel."""
    if found := objection(address, tls=tls is not None, proxy=bool(proxy_url)):
        wrong, remedy = found
        message = f"[host] listen = {address!r} {wrong}; {remedy}"
        raise SettingsError(message)
    host, port = parse_listen(address)
    names = {*LOOPBACK_NAMES, host}
    if proxy_url:
        names.add(_proxy_name(proxy_url))
    return Site(host=host, port=port, names=frozenset(names), tls=tls, proxy_url=proxy_url.rstrip("/"))


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
