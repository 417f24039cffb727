"""A real group that may reach one domain of a small world which has another host too."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from host.config.settings import GroupSettings, PolicySettings, SandboxSettings
from host.groups.port import EventView
from host.passport import Decision
from host.tools.egress import Outside
from tests.integration.browser.world import ADDRESS, Site, World, certified
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply

LISTED = "https://api.example.org/"
UNLISTED = "https://other.example.com/"


class Out(NamedTuple):
    """A group in a small world."""

    stage: Stage
    world: World
    site: Site

    def settle(
        self, policy: dict[str, Decision] | None = None, network: tuple[str, ...] = ("example.org",), **changes: Any
    ) -> None:
        """Set what the group may do, and its list of hosts."""
        self.stage.settings = GroupSettings(
            policy=PolicySettings(choices=policy or {}, **changes), sandbox=SandboxSettings(network=network)
        )

    async def ask(self, *calls: Call) -> EventView:
        """Let the model make these calls in one step, and return how the turn ended."""
        self.stage.model.script(Reply(calls=calls), Reply(text="done"))
        return await self.stage.ask()

    async def result(self, turn: str, number: int = 0) -> dict[str, Any]:
        """Return a finished or refused call of a turn."""
        kinds = {"call_finished", "call_refused"}
        return [event.data for event in await self.stage.group.turn_events(turn) if event.kind in kinds][number]

    async def connections(self, turn: str) -> list[dict[str, Any]]:
        """Return the connections of a turn."""
        return [e.data for e in await self.stage.group.turn_events(turn) if e.kind == "egress_connection"]


@contextmanager
def outside(stage: Stage, folder: Path) -> Generator[Out]:
    """Give a group that may reach example.org in a world that has other.example.com too."""
    server, trust, certificate = certified(folder, "*.example.org", "other.example.com")
    with World() as world:
        site = Site()
        world.serve(443, site.handle, server)
        world.serve(80, site.handle)
        world.names |= {"api.example.org": [ADDRESS], "www.example.org": [ADDRESS], "other.example.com": [ADDRESS]}
        stage.outside = Outside(network=world.network(), trust=lambda: trust)
        stage.workspace.mkdir(parents=True)
        (stage.workspace / "ca.pem").write_bytes(certificate.read_bytes())
        made = Out(stage, world, site)
        made.settle()
        yield made
        stage.close()
