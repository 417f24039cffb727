"""A host in memory: the directory that the panel asks for groups."""

from pathlib import Path

from host.errors import NotFound, ResourceBusy, SettingsError
from host.groups.port import GroupPort
from host.panel.directory import GroupStarting, HostView, NewGroup, ServiceView
from host.vault.safe import Safe, SecretStatus
from tests.integration.panel.fake_group import FakeGroup
from tests.integration.panel.hand_written import now


class FakeDirectory:
    """A host in memory."""

    def __init__(self, *groups: FakeGroup) -> None:
        self.groups = {group.name: group for group in groups}
        self.starting: set[str] = set()
        self.broken: dict[str, Exception] = {}
        self.removed: list[tuple[str, bool]] = []
        self.stopping = False
        self.safe = Safe({}, {}, base=Path("/"))

    def names(self) -> tuple[str, ...]:
        """Return all names."""
        return (*self.groups, *self.starting, *self.broken)

    def group(self, name: str) -> GroupPort:
        """Return a group's port."""
        if name in self.starting:
            raise GroupStarting
        if name in self.broken:
            raise self.broken[name]
        if name not in self.groups:
            message = f"there is no group {name!r}"
            raise NotFound(message)
        return self.groups[name]

    async def add(self, new: NewGroup) -> None:
        """Add a group."""
        if not new.name.isidentifier():
            message = f"[groups.{new.name}]: a group's name is made of letters, digits and dashes"
            raise SettingsError(message)
        if new.name in self.groups:
            message = f"the group {new.name!r} exists"
            raise ResourceBusy(message)
        self.groups[new.name] = FakeGroup(new.name)

    async def remove(self, name: str, *, delete: bool) -> None:
        """Remove a group."""
        self.group(name)
        del self.groups[name]
        self.removed.append((name, delete))

    async def secrets(self) -> tuple[SecretStatus, ...]:
        """Return what the safe says."""
        return self.safe.status()

    async def set_secret(self, name: str, value: str) -> SecretStatus:
        """Store in the safe."""
        return self.safe.put(name, value)

    async def status(self) -> HostView:
        """Return the host at a glance."""
        return HostView(
            name="home",
            version="0.1.0",
            pid=4000,
            started_at=now(),
            address="127.0.0.1:8700",
            default_group="main",
            services=(ServiceView(name="ray", state="running"),),
        )

    def request_shutdown(self) -> None:
        """Note that the host is to end."""
        self.stopping = True
