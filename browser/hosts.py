"""Names of hosts: their one spelling, which of them are never reached, and lists of those that may be.

`example.org` in a list means that name with its subdomains, `=id.example.net` that host only; `git.example.org:8443`
admits that port alone, without one 80 and 443 are. Anything that two programs could read differently is no name here:
only ASCII letters, digits, hyphens and underscores, so a name of another alphabet stands in its `xn--` form. Pure.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from browser.errors import NotAHost, Refused, Rule

USUAL_PORTS: Final = frozenset({80, 443})
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\Z")
_NUMBER: Final = re.compile(r"([0-9]+|0x[0-9a-f]*)\Z")
"""A last label like this makes a name an IPv4 address to browsers, in whatever notation (WHATWG URL, 3.5)."""
_ENTRY: Final = re.compile(r"(?P<exact>=?)(?P<name>[^=:/@\s]+)(:(?P<port>[0-9]{1,5}))?\Z")
_LONGEST: Final = 253
_LAST_PORT: Final = 65535
_INTERNAL: Final = frozenset(
    {
        "localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa",
        "onion", "alt", "invalid",
    }
)  # fmt: skip
"""Last labels of names that no public resolver answers for; what does answer is this machine or its surroundings."""


def name_of(text: str) -> str:
    """Return the one spelling of a host's name; raise Refused for what is no name, or one that is never reached."""
    name = text.lower().removesuffix(".") if text.isascii() else text
    bare = name.removeprefix("[").removesuffix("]")
    labels = name.split(".")
    if ":" in bare or _NUMBER.match(labels[-1]):
        message = f"{text[:80]} is an address; hosts are reached by name only"
        raise Refused(Rule.IP_LITERAL, message)
    if len(name) > _LONGEST or not all(_LABEL.match(label) for label in labels):
        message = f"{text[:80]!r} is no host name; names of other alphabets are written in their xn-- form"
        raise Refused(Rule.MALFORMED, message, status=400)
    if len(labels) == 1 or labels[-1] in _INTERNAL:
        message = f"{name} is a name of this machine or its surroundings; those are never reached from here"
        raise Refused(Rule.INTERNAL_NAME, message)
    return name


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a list."""

    name: str
    exact: bool = False  # that host only; else its subdomains too
    port: int | None = None  # that port only; None: the usual ones
    tls: bool = False  # nothing but TLS, whatever the port

    def covers(self, name: str) -> bool:
        """Say whether it is about the host `name`, whatever the port."""
        return name == self.name or (not self.exact and name.endswith(f".{self.name}"))


def entry_of(text: str) -> Entry:
    """Read an entry as people write it; raise NotAHost."""
    found = _ENTRY.match(text)
    if found is None:
        message = "is no host name; write names only, such as example.org, =id.example.net or example.org:8443"
        raise NotAHost(message)
    try:
        name = name_of(found["name"])
    except Refused as error:
        raise NotAHost(str(error)) from error
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 0 < port <= _LAST_PORT:
        message = f"names the port {port}, which does not exist"
        raise NotAHost(message)
    return Entry(name=name, exact=bool(found["exact"]), port=port)


class HostList:
    """The hosts that may be reached."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        """Read the entries; raise NotAHost."""
        self._entries = tuple(entry_of(entry) for entry in entries)

    def __iter__(self) -> Iterator[Entry]:
        """Go through the entries."""
        return iter(self._entries)

    def __bool__(self) -> bool:
        """Say whether there is any host."""
        return bool(self._entries)

    def plus(self, *entries: str) -> "HostList":
        """Return a list with these besides, which nothing but TLS is carried to; raise NotAHost."""
        longer = HostList(entries)
        besides = (msgspec.structs.replace(entry, tls=True) for entry in longer._entries)
        longer._entries = (*self._entries, *besides)
        return longer

    def admit(self, name: str, port: int) -> Entry:
        """Return the entry that lets `name` (in its one spelling) be reached at `port`; raise Refused."""
        about = [entry for entry in self._entries if entry.covers(name)]
        for entry in about:
            if port == entry.port or (entry.port is None and port in USUAL_PORTS):
                return entry
        if port not in USUAL_PORTS:
            message = f"port {port} of {name} is not listed; without an entry {name}:{port} only 80 and 443 are reached"
            raise Refused(Rule.PORT, message)
        message = f"{name} is not on the list of hosts" + (f" for port {port}" if about else "")
        raise Refused(Rule.HOST_NOT_LISTED, message)
