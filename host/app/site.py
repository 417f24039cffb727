"""Where this host's panel listens, from its settings and the files that they name."""

import socket
from pathlib import Path

import msgspec

from host.config.settings import HostSettings
from host.config.tls import check_pair
from host.panel.listen import Site, TlsFiles, check_listen


def site_of(host: HostSettings) -> Site:
    """Return where the panel listens; raise SettingsError for an address that would expose it, and unfit TLS files."""
    tls = None
    if host.tls_certificate:
        tls = TlsFiles(certificate=Path(host.tls_certificate), key=Path(host.tls_key))
        check_pair(tls.certificate, tls.key)
    site = check_listen(host.listen, tls=tls, proxy_url=host.proxy_url)
    return msgspec.structs.replace(site, names=site.names | _addresses(site.host))


def _addresses(host: str) -> frozenset[str]:
    """Return the addresses behind the name that is listened at: `run/address` leads the command line to one of them."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset()  # the server, which binds next, says so
    return frozenset(str(address[0]) for *_, address in found)
