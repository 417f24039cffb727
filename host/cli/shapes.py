"""Answers of the API that no record of `host.groups.port` describes, as far as the command line reads them.

Unknown fields are ignored, so that a newer host can say more.
"""

import msgspec

from host.groups.port import GroupView


class ServiceState(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the host."""

    name: str
    state: str
    detail: str = ""


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The host itself."""

    name: str
    version: str
    pid: int
    started_at: str
    address: str
    default_group: str
    services: tuple[ServiceState, ...]


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A group in the overview."""

    view: GroupView


class HostState(msgspec.Struct, frozen=True, kw_only=True):
    """The host with its groups (GET /status)."""

    host: HostFacts
    groups: tuple[Card, ...]


class LoginLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that signs one browser in, once."""

    url: str
    expires_at: str
