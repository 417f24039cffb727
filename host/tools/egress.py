"""A group's way out: its list of hosts, the proxy that holds to it, and the doors of single calls (BOX-2, BOX-6).

The proxy, and nothing else, connects to the outside on behalf of the group's tools: commands reach it through the door
of their sandbox, `http` through a pair of sockets, so that there is one wall. What is asked about lies above, in the
gate; what becomes of a connection is told to whoever made this.
"""

import copy
import functools
import os
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import httpx2
import msgspec

from browser.errors import ProxyStopped, Refused
from browser.exchange import Client
from browser.hosts import HostList, name_of
from browser.network import Network
from browser.proxy import Door, OnConnection, Proxy
from host.errors import Unsupported
from host.passport import Destination

USUAL_PORT: Final = 443
_PLAIN_PORT: Final = 80


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """How the world is reached and whom it is believed; a test has a small world of its own."""

    network: Network = Network()
    trust: Callable[[], ssl.SSLContext] = functools.cache(httpx2.create_ssl_context)  # reading it takes long
    variables: Callable[[], Mapping[str, str]] = lambda: os.environ  # by which pip is told its package index


class Egress:
    """The way out of one group. Thread-safe; nothing runs before the first door."""

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        group: str,
        on_connection: OnConnection,
        outside: Outside | None = None,
        setting: str = "",
    ) -> None:
        """`hosts` have passed the rules of the settings; `setting` is the key they stand at, by default the group's."""
        outside = outside or Outside()
        self.setting = setting or f"[groups.{group}.sandbox] network"
        self._advice = f"The list is {self.setting} in elis.toml; the person who runs the host can add to it."
        self.trust = outside.trust
        self.variables = outside.variables()
        self._hosts = HostList(hosts)
        self._proxy = Proxy(on_connection, network=outside.network)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The list, as people write it."""
        return tuple(
            f"{'=' if entry.exact else ''}{entry.name}{f':{entry.port}' if entry.port else ''}" for entry in self._hosts
        )

    def lists(self, destination: Destination) -> bool:
        """Say whether the list has the destination; raise browser's Refused for what is never reached by name."""
        name = name_of(destination.host)
        try:
            self._hosts.admit(name, destination.port)
        except Refused:
            return False
        return True

    def only(self, hosts: Sequence[str], *, advice: str) -> "Egress":
        """Return the way out to these hosts and no others, through the same proxy; `advice` is for who is refused."""
        narrower = copy.copy(self)
        narrower._advice, narrower._hosts = advice, HostList(hosts)  # noqa: SLF001 - another of this class
        return narrower

    def door(self, caller: str, also: Sequence[str] = ()) -> Door:
        """Return the way out of one call, to the listed hosts and by TLS to `also`; raise Unsupported when closed."""
        hosts = self._hosts.plus(*also)
        try:
            return self._proxy.door(Client(caller=caller, hosts=hosts, advice=self._advice))
        except ProxyStopped as error:
            raise Unsupported(str(error)) from error

    def end(self, turn: str) -> None:
        """End what calls of a turn have open, without waiting: what an abandoned lane may have left behind."""
        for door in self._proxy.doors():
            if door.client.caller.startswith(f"{turn}:"):
                door.close(0)

    def close(self) -> None:
        """End every connection and the proxy."""
        self._proxy.stop()


def unlisted(door: Door) -> tuple[Destination, ...]:
    """Return where a door did not lead because nothing lists it; over port 80 it was plain HTTP that was wanted."""
    return tuple(
        Destination(scheme="http" if port == _PLAIN_PORT else "https", host=host, port=port)
        for host, port in door.unlisted()
    )


class WayOut(msgspec.Struct, frozen=True, kw_only=True):
    """The way out of one call."""

    egress: Egress
    caller: str  # the call's idempotency key
    also: tuple[str, ...] = ()  # hosts that a person admitted for this call, beside the list

    def door(self) -> Door:
        """Return the call's door; close it when the call ends."""
        return self.egress.door(self.caller, self.also)

    def lists(self, destination: Destination) -> bool:
        """Say whether this call may go there without a further word; False also for what is never reached."""
        try:
            return f"={destination.authority}" in self.also or self.egress.lists(destination)
        except Refused:
            return False
