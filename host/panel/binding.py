"""The socket that the panel listens on: bound to an address that this machine has and that the settings allow.

What a name means is only known here, where it is looked up; what `listen` may say was judged before
(`host.config.edge`).
"""

import errno
import socket
from collections.abc import Callable
from typing import Any, Final

from host.config.edge import is_loopback
from host.errors import ResourceBusy, SettingsError
from host.panel.listen import Site

Row = tuple[int, int, int, str, Any]  # as socket.getaddrinfo gives them; its last part begins with the address
Resolve = Callable[[str, int], list[Row]]

_NOT_HERE: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""What binding says of an address that this machine does not have, such as ::1 where IPv6 is switched off."""


def addresses_of(host: str, port: int) -> list[Row]:
    """Look a name up; raise OSError."""
    return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))


def bound(site: Site, resolve: Resolve = addresses_of) -> socket.socket:
    """Return a socket that is bound to the first address of the site that this machine has.

    Raises ResourceBusy for an address that is taken or of another machine; SettingsError where a name that should
    mean this machine alone leads elsewhere, for what is sent there could be read on the way (PAN-2).
    """
    try:
        rows = resolve(site.host, site.port)
    except OSError as error:
        raise ResourceBusy(_not_here(site, error)) from error
    if site.is_clear:
        rows = [row for row in rows if is_loopback(row[4][0])]
        if not rows:
            message = (
                f"[host] listen: {site.host} is no address of this machine alone, although it is its usual name; "
                "listen on 127.0.0.1, or mend /etc/hosts"
            )
            raise SettingsError(message)
    missing = OSError(errno.EADDRNOTAVAIL, "the name has no address")
    for row in rows:
        try:
            return _bound_to(row)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                # The next address might be free, but who follows the name would come to the program that has this one.
                message = (
                    f"cannot listen on {site.host}:{site.port} ({error.strerror}); another program, or another Elis, "
                    "may be using it; choose another [host] listen in elis.toml"
                )
                raise ResourceBusy(message) from error
            missing = error
    raise ResourceBusy(_not_here(site, missing)) from missing


def _bound_to(row: Row) -> socket.socket:
    family, kind, protocol, _, address = row
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # after a restart the old ones are in TIME_WAIT
        opened.bind(address)
    except OSError:
        opened.close()
        raise
    return opened


def _not_here(site: Site, error: OSError) -> str:
    return f"[host] listen: {site.host}:{site.port} is no address of this machine ({error})"
