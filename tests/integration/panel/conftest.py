"""A panel on a free loopback port, in front of groups in memory."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from host.panel.app import build_app
from host.panel.listen import check_listen
from host.panel.server import PanelServer
from host.panel.sessions import Sessions
from host.record.host_record import HostMemory
from tests.integration.panel.fake_directory import FakeDirectory
from tests.integration.panel.fake_group import FakeGroup

TOKEN = "test-token-that-opens-the-api"
BOUND_SECONDS = 10.0


def now_us() -> int:
    """Return the time."""
    return time.time_ns() // 1000


class Panel:
    """A running panel with what stands behind it."""

    def __init__(self, directory: FakeDirectory, record: HostMemory) -> None:
        self.directory = directory
        self.record = record
        self.sessions = Sessions(record, now_us)
        self.rests: list[float] = []  # seconds that answers were kept back for
        self.go_on = asyncio.Event()  # while it is not set, answers that are kept back stay back
        self.go_on.set()
        self.server: PanelServer | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """The panel's origin."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def main(self) -> FakeGroup:
        """The group that most tests talk to."""
        return self.directory.groups["main"]

    async def start(self) -> None:
        """Listen on the port of before, or on a free one; sessions come from the record."""
        site = check_listen(f"127.0.0.1:{self.port}")
        self.sessions = Sessions(self.record, now_us)
        await self.sessions.restore()
        app = build_app(
            self.directory,
            self.sessions,
            token=TOKEN,
            site=site,
            record=self.record,
            now_us=now_us,
            host_name="home",
            version="0.1.0",
            rest=self._rest,
        )
        self.server = PanelServer(app, site, drain_seconds=2)
        await self.server.start()
        self.port = int(self.server.address.rpartition(":")[2])

    async def stop(self) -> None:
        """Stop listening."""
        if self.server is not None:
            await self.server.stop()
            self.server = None

    def link(self) -> str:
        """Return a fresh login link."""
        return f"{self.url}/login?code={self.sessions.invite().code}"

    async def _rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        async with asyncio.timeout(BOUND_SECONDS):
            await self.go_on.wait()


@asynccontextmanager
async def running_panel(*names: str) -> AsyncGenerator[Panel]:
    """Run a panel in front of the named groups."""
    panel = Panel(FakeDirectory(*(FakeGroup(name) for name in names or ("main",))), HostMemory(now_us))
    await panel.start()
    try:
        yield panel
    finally:
        await panel.stop()


@pytest.fixture
async def panel() -> AsyncGenerator[Panel]:
    """A panel of a test's own."""
    async with running_panel() as running:
        yield running
