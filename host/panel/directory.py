"""What the panel and the API may ask of the host: which groups there are, where each one is, how the host is.

The composition root implements it. Groups themselves are reached through `host.groups.port`; nothing here knows Ray,
processes or files.
"""

from typing import Protocol

import msgspec

from host.errors import ResourceBusy
from host.groups.port import GroupPort
from host.vault.safe import SecretStatus


class GroupStarting(ResourceBusy):
    """The group is still starting; try again in a moment."""


class ServiceView(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the host at a glance: Ray, the embedded model, the journal of the host."""

    name: str
    state: str  # starting | running | failed | off
    detail: str = ""  # for a failure: what to do


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """The host at a glance."""

    name: str
    version: str
    pid: int
    started_at: str  # ISO 8601, UTC
    address: str  # where panel and API listen, host:port
    default_group: str
    services: tuple[ServiceView, ...]


class NewGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group to be added."""

    name: str
    model: str = ""  # a key of [models]; empty: the default


class Directory(Protocol):
    """The host's groups and services. Raises ElisError subclasses."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all configured groups, whatever state they are in."""
        ...

    def group(self, name: str) -> GroupPort:
        """Return a way to the group; raise NotFound, GroupStarting, or what keeps it from running."""
        ...

    async def add(self, new: NewGroup) -> None:
        """Write the group into the settings and start it; raise SettingsError, or ResourceBusy if it exists."""
        ...

    async def remove(self, name: str, *, delete: bool) -> None:
        """Stop the group and take it out of the settings; with `delete` its folder goes too. Raises NotFound."""
        ...

    async def secrets(self) -> tuple[SecretStatus, ...]:
        """Return whether each secret of the settings can be had; asks the vaults, so it may take seconds."""
        ...

    async def set_secret(self, name: str, value: str) -> SecretStatus:
        """Store a secret's value; raise NotFound, SecretMissing, or Unsupported where Elis does not write."""
        ...

    async def status(self) -> HostView:
        """Return the host at a glance; answers at once, whatever hangs."""
        ...

    def request_shutdown(self) -> None:
        """Ask the host to stop as SIGTERM would; returns at once."""
        ...
