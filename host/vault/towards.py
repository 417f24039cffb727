"""Towards which host a call goes, and whether a secret may go there (SEC-2).

The names of a secret's `hosts` are exact: a secret for `api.github.com` goes neither to `github.com` nor to
`x.api.github.com`, because whoever runs a sub-domain may be somebody else. An address that two readers could read
differently goes nowhere.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from browser.errors import NotAHost
from browser.hosts import entry_of

_DOUBTFUL: Final = re.compile(r"[\s\\\x00-\x1f\x7f@«»%]")
"""What has no place between the scheme of an address and its path; some readers take a backslash for a slash."""

_AUTHORITY: Final = re.compile(r"https://(?P<authority>[^/?#]*)", re.IGNORECASE)


def host_of(plain: Any, argument: str) -> str | None:  # noqa: ANN401 - plain arguments of a call
    """Return the host of the address in `argument`; "" where it cannot be told, None where no argument is named."""
    if not argument:
        return None
    value = cast("Mapping[object, object]", plain).get(argument) if isinstance(plain, Mapping) else None
    return host_in(value) if isinstance(value, str) else ""


def host_in(address: str) -> str:
    """Return the host that `address`, a URL, leads to, in lower case; empty where that cannot be told for certain.

    Over anything but https it is not certain: whoever is on the way answers, and reads along.
    """
    match = _AUTHORITY.match(address)
    if match is None or _DOUBTFUL.search(match["authority"]):
        return ""
    try:
        parts = urlsplit(address)
        name = parts.hostname or ""
        _ = parts.port  # raises where the port is none
    except ValueError:
        return ""
    return _plain_name(name)


def may_get(host: str, hosts: Collection[str]) -> bool:
    """Tell whether a secret that is bound to `hosts` may go to `host`."""
    return bool(host) and host in {_plain_name(name.removeprefix("=")) for name in hosts}


def may_all_get(entry: str, hosts: Collection[str]) -> bool:
    """Tell whether a secret that is bound to `hosts` may go to whatever an entry of a list of hosts admits.

    An entry without `=` admits subdomains too, and `*` stands for any host.
    """
    try:
        read = entry_of(entry)
    except NotAHost:
        return False
    return read.exact and may_get(read.name, hosts)


def _plain_name(name: str) -> str:
    """Return a name in one spelling: lower case, no dot at the end, as it goes over the wire."""
    name = name.lower().rstrip(".")
    try:
        return name.encode("idna").decode() if not name.isascii() else name
    except UnicodeError:
        return ""
