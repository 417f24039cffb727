"""A group with tool servers: plain programs and the official SDK's, run in the sandbox by the system's Python."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from host.config.settings import FolderSettings, GroupSettings, PolicySettings, ServerSettings
from host.groups.port import EventView
from host.passport import Decision
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply, ScriptedModel

HERE = Path(__file__).parent
PROGRAM = (HERE / "program.py").read_text()
PYTHON = "python"  # the folder in which a Python that is not the system's is seen
ALLOWED = {"destroy": Decision.ALLOW}


class Served:
    """A group with the tool servers that a test describes."""

    def __init__(self, stage: Stage, top: Path) -> None:
        self.stage = stage
        self.programs = top / "programs"
        self.shared = top / "shared"
        for folder in (self.programs, self.shared):
            folder.mkdir()
        (self.programs / "program.py").write_text(PROGRAM)
        base = Path(sys.base_prefix)
        self.own_python = base == Path("/usr")
        self.folders = {
            "programs": FolderSettings(path=str(self.programs), mode="read"),
            "shared": FolderSettings(path=str(self.shared), mode="write"),
        }
        if not self.own_python:
            self.folders[PYTHON] = FolderSettings(path=str(base), mode="read")
        self.allow(ALLOWED)

    def allow(self, choices: dict[str, Decision], **changes: Any) -> None:
        """Set what the group may do."""
        self.stage.settings = GroupSettings(folders=self.folders, policy=PolicySettings(choices=choices), **changes)

    @property
    def python(self) -> tuple[str, ...]:
        """The Python of these tests as it is seen in the sandbox."""
        name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return (f"/usr/bin/{name}",) if self.own_python else (f"/workspace/{PYTHON}/bin/{name}",)

    @property
    def libraries(self) -> dict[str, str]:
        """What a Python needs that was not built for the place where the sandbox shows it."""
        return {} if self.own_python else {"LD_LIBRARY_PATH": f"/workspace/{PYTHON}/lib"}

    def server(self, name: str = "odd", script: dict[str, Any] | None = None, **changes: Any) -> None:
        """Add a server that does what `script` says."""
        command = (*self.python, "/workspace/programs/program.py", json.dumps(script or {}))
        own = () if self.own_python else (PYTHON,)
        usual = ServerSettings(groups=("main",), command=command, folders=("programs", *own))
        folders = (*usual.folders, *changes.pop("folders", ()))
        env = {**self.libraries, **changes.pop("env", {})}
        self.stage.servers[name] = msgspec.structs.replace(usual, folders=folders, env=env, **changes)

    async def ask(self, *calls: Call) -> list[dict[str, Any]]:
        """Let the model make these calls, one a step; return how each ended."""
        ended = await self.turn(*calls)
        return await self.results(ended.turn)

    async def turn(self, *calls: Call) -> EventView:
        """Let the model make these calls, one a step; return the turn's final event."""
        self.stage.model.script(*(Reply(calls=[call]) for call in calls), Reply(text="done"))
        return await self.stage.ask()

    async def results(self, turn: str) -> list[dict[str, Any]]:
        """Return the finished and refused calls of a turn."""
        kinds = {"call_finished", "call_refused"}
        return [event.data for event in await self.stage.group.turn_events(turn) if event.kind in kinds]

    async def events(self, kind: str) -> list[EventView]:
        """Return all events of a kind."""
        return [event for event in await self.stage.group.events(0, 5000) if event.kind == kind]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A group whose policy lets tools of tool servers run."""
    model = ScriptedModel()
    model.start()
    made = Served(Stage(tmp_path / "home", model), tmp_path)
    yield made
    made.stage.close()
    model.stop()
