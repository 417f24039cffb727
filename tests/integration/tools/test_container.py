"""The back end `container`, by an engine that stands in: what it is told, and that nothing of a command stays."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from host.config.settings import SandboxSettings
from host.errors import Unsupported
from host.tools.container import ContainerSandbox
from host.tools.engines import Container, Engine, Mount, engine_from
from host.tools.finished import Finished
from host.tools.jail import Jail
from host.tools.leftovers import MARK, mark
from host.tools.paths import HOME
from host.tools.sandbox import sandbox_from
from tests.integration.tools.conftest import SMALL, Place

BOUND = 10.0  # seconds; the one bound on every wait
STAND_IN = Path(__file__).with_name("stand_in_engine.py")


class Stand(msgspec.Struct, frozen=True):
    """A machine whose podman is the stand-in."""

    programs: Path
    state: Path
    jail: Jail

    def sandbox(self, image: str = "localhost/tools:1") -> ContainerSandbox:
        """Return the back end."""
        environment = {"PATH": os.environ["PATH"], "CONTAINERS_STAND_IN": str(self.state)}
        path = str(self.programs)
        return ContainerSandbox(self.jail.roots, image, search_path=path, limits=SMALL, environment=environment)

    def said(self) -> dict[str, Any]:
        """Return what the engine was told last."""
        told: dict[str, Any] = json.loads((self.state / "said.json").read_text())
        return told

    def containers(self) -> list[str]:
        """Return the names of the containers that there are."""
        return sorted(record.stem for record in self.state.glob("*.container"))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(BOUND):
            while not holds():
                await asyncio.sleep(0.01)


@pytest.fixture
def stand(place: Place, open_jail: Jail) -> Stand:
    """A podman on a search path of its own."""
    programs, state = place.top / "programs", place.top / "state"
    programs.mkdir()
    state.mkdir()
    podman = programs / "podman"
    podman.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    podman.chmod(0o755)
    return Stand(programs, state, open_jail)


async def run(sandbox: ContainerSandbox, command: str, *, seconds: float = BOUND, **environment: str) -> Finished:
    """Run a command in the workspace."""
    return await sandbox.run(command, cwd=".", timeout_seconds=seconds, environment=environment)


@pytest.mark.clause("BOX-3")
async def test_a_command_gets_its_text_folders_and_variables_and_its_end_is_told(stand: Stand, place: Place) -> None:
    """The text goes another way than the command line, which a process list shows."""
    finished = await run(stand.sandbox(), "echo $WORD > made; cat; echo $HOME; exit 3", WORD="it's")
    assert (finished.exit_code, finished.output, finished.timed_out) == (3, f"{HOME}\n", False)
    assert (place.workspace / "made").read_text() == "it's\n"
    said = stand.said()
    assert "made" not in str(said["rest"]) + str(said["env"])
    assert said["mounts"] == {
        "/workspace": str(place.workspace),
        "/workspace/.elis": str(place.workspace / ".elis"),
        "/workspace/docs": str(place.read),
        "/workspace/out": str(place.write),
    }
    assert [line.endswith(",readonly") for line in said["mount"]] == [False, True, True, False]
    assert stand.containers() == []


@pytest.mark.clause("BOX-3", "POL-5")
async def test_a_command_that_only_reads_gets_nothing_that_it_could_write(stand: Stand) -> None:
    """Whatever it was judged by."""
    await stand.sandbox().run("true", cwd=".", timeout_seconds=BOUND, environment={}, reading=True)
    assert [line.endswith(",readonly") for line in stand.said()["mount"]] == [True] * 4


@pytest.mark.clause("BOX-3")
async def test_a_container_is_confined_by_what_the_engine_is_told(stand: Stand) -> None:
    """Non-root, no capabilities, no new privileges, no network, a read-only system, the same limits as bubblewrap."""
    await run(stand.sandbox(), "true")
    said = stand.said()
    assert (said["network"], said["cap_drop"], said["security_opt"]) == ("none", ["ALL"], "no-new-privileges")
    assert said["read_only"]
    assert said["user"].split(":")[0] not in {"0", "root", ""}
    assert (said["memory"], said["memory_swap"]) == (str(SMALL.memory_bytes), str(SMALL.memory_bytes))
    assert said["pids_limit"] == str(SMALL.processes)
    assert f"fsize={SMALL.file_bytes}:{SMALL.file_bytes}" in said["ulimit"]
    assert f"size={SMALL.temporary_bytes}," in said["tmpfs"]
    assert said["pull"] == "never"


@pytest.mark.clause("BOX-3", "BOX-1")
@pytest.mark.parametrize("way", ["time-out", "stop", "kill_all"])
async def test_whatever_ends_a_command_ends_its_container(stand: Stand, way: str) -> None:
    """Ending the engine's client alone would leave the container running."""
    sandbox = stand.sandbox()
    task = asyncio.create_task(run(sandbox, "sleep 60 & sleep 60", seconds=0.5 if way == "time-out" else BOUND))
    await stand.until(lambda: bool(stand.containers()))
    if way == "stop":
        task.cancel()
    elif way == "kill_all":
        sandbox.kill_all()
    (ended,) = await asyncio.gather(task, return_exceptions=True)
    await stand.until(lambda: not stand.containers())
    assert isinstance(ended, asyncio.CancelledError) == (way == "stop")
    assert way != "time-out" or (isinstance(ended, Finished) and ended.timed_out)


@pytest.mark.clause("BOX-3")
def test_containers_that_outlived_the_host_are_removed_by_their_label(stand: Stand) -> None:
    """Those of this workspace, and no others."""
    own = mark(stand.jail.roots[0])[MARK]
    left = [subprocess.Popen(["sleep", "60"], start_new_session=True) for _ in range(2)]
    for process, label in zip(left, (own, "1:2"), strict=True):
        (stand.state / f"elis-{process.pid}.container").write_text(f"{process.pid} elis.workspace={label}")
    try:
        stand.sandbox().end_leftovers()
        assert left[0].wait(BOUND) == -signal.SIGKILL
        assert left[1].poll() is None
    finally:
        for process in left:
            process.kill()
            process.wait(BOUND)


@pytest.mark.clause("BOX-3", "OPS-2")
async def test_what_the_engine_cannot_run_is_said_with_the_fix(stand: Stand) -> None:
    """In its own words; nothing is pulled, and nothing runs elsewhere."""
    works, missing = stand.sandbox(), stand.sandbox("localhost/none:1")
    assert works.check().ok
    with pytest.raises(Unsupported, match="image not known"):
        await run(missing, "touch ran")
    assert "podman pull" in missing.check().fix
    assert not (Path(stand.jail.roots[0].real_path()) / "ran").exists()


@pytest.mark.clause("BOX-3")
def test_without_an_engine_it_is_unavailable_and_docker_is_not_taken_for_root(place: Place, open_jail: Jail) -> None:
    """Docker could only run as the owner of the workspace, and root is no non-root user."""
    with pytest.raises(Unsupported, match="neither podman nor docker"):
        engine_from(str(place.top), uid=1000)
    docker = place.top / "docker"
    docker.write_text("#!/bin/sh\n")
    docker.chmod(0o755)
    with pytest.raises(Unsupported, match="as non-root"):
        engine_from(str(place.top), uid=0)
    assert engine_from(str(place.top), uid=1000).kind == "docker"
    chosen = sandbox_from(SandboxSettings(backend="container", image="localhost/tools:1"), open_jail.roots)
    assert "container of localhost/tools:1" in chosen.describe()


@pytest.mark.clause("BOX-3")
@pytest.mark.parametrize(
    ("engine", "user"),
    [
        (Engine(kind="docker", program="docker", uid=1001, gid=100), ["--user", "1001:100"]),
        (Engine(kind="podman", program="podman", uid=1001, gid=100), ["--userns", "keep-id", "--user", "1001:100"]),
        (Engine(kind="podman", program="podman", uid=0, gid=0), ["--user", "1000:1000"]),
    ],
)
def test_the_user_inside_owns_the_workspace_and_is_never_root(engine: Engine, user: list[str]) -> None:
    """By mapping where the engine can; a path with commas is one field of a mount."""
    mounts = [Mount(source='/srv/a,readonly"', inside="/workspace", writable=True)]
    argv = engine.run(
        Container(name="n", label="1:2", image="i", cwd="/workspace", mounts=mounts, limits=SMALL, cpu_seconds=1)
    )
    at = argv.index(user[0])
    assert argv[at : at + len(user)] == user
    assert argv[argv.index("--mount") + 1] == 'type=bind,"source=/srv/a,readonly""",target=/workspace'
    assert argv[argv.index("i") :][:2] == ["i", "-c"]
