"""Towards which host a call goes, and whether a secret may go there (SEC-2).

The names of a secret's `hosts` are exact: a secret for `api.github.com` goes neither to `github.com` nor to
`x.api.github.com`, because whoever runs a sub-domain may be somebody else. An address that two readers could read
differently goes nowhere.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

_DOUBTFUL: Final = re.compile(r"[\s\\\x00-\x1f\x7f@«»%]")
"""What has no place between the scheme of an address and its path; some readers take a backslash for a slash."""

_AUTHORITY: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<authority>[^/?#]*)")


def host_of(plain: Any, argument: str) -> str | None:  # noqa: ANN401 - plain arguments of a call
    """Return the host of the address in `argument`; "" where it cannot be told, None where no argument is named."""
    if not argument:
        return None
    value = cast("Mapping[object, object]", plain).get(argument) if isinstance(plain, Mapping) else None
    return host_in(value) if isinstance(value, str) else ""


def host_in(address: str) -> str:
    """Return the host that `address`, a URL, leads to, in lower case; empty where that cannot be told for certain."""
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


def _plain_name(name: str) -> str:
    """Return a name in one spelling: lower case, no dot at the end, as it goes over the wire."""
    name = name.lower().rstrip(".")
    try:
        return name.encode("idna").decode() if not name.isascii() else name
    except UnicodeError:
        return ""
