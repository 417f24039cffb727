"""What is ended before Ray starts: Ray's own processes in our folder, and nobody else's."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from host.groups.ray_folder import RayFolder

SLEEP = shutil.which("sleep") or "/bin/sleep"
WAIT = "import sys; sys.stdin.read()"
Start = Callable[..., psutil.Process]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RayFolder]:
    """Return the folder of a home that is nobody's, with a log in it."""
    found = RayFolder(tmp_path)
    (found.path / "session_x" / "logs").mkdir(parents=True)
    (found.path / "session_x" / "logs" / "raylet.out").write_text("")
    yield found
    shutil.rmtree(found.path, ignore_errors=True)


@pytest.fixture
def start() -> Iterator[Start]:
    """Return what starts a process; all are ended afterwards."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*words: str, executable: str = "", **more: object) -> psutil.Process:
        process = subprocess.Popen(words, executable=executable or words[0], stdin=subprocess.PIPE, **more)  # type: ignore[call-overload]
        started.append(process)
        return psutil.Process(process.pid)

    yield run
    for process in started:
        process.kill()
        process.communicate()


def runs(process: psutil.Process) -> bool:
    """Say whether a process still runs."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def program(tmp_path: Path, name: str) -> str:
    """Return a program of that name that sleeps; its last argument is how long."""
    copy = tmp_path / name
    shutil.copy(SLEEP, copy)
    return str(copy)


def test_whoever_only_names_the_folder_is_left_alone(folder: RayFolder, start: Start, tmp_path: Path) -> None:
    """A person who reads Ray's logs, an editor, a shell in the folder, a script of one's own."""
    log = str(folder.path / "session_x" / "logs" / "raylet.out")
    script = tmp_path / "viewer.py"
    script.write_text(WAIT)
    innocent = [
        start("tail", "-f", log, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL),
        start(sys.executable, str(script), f"--session-dir={folder.path}/session_x"),
        start(sys.executable, "-c", WAIT, log, cwd=folder.path),
        start(program(tmp_path, "raylet"), "600", executable=program(tmp_path, "raylet")),
    ]
    with Path(log).open("ab") as out:
        innocent.append(start(sys.executable, "-c", WAIT, stdout=out, stderr=out))
        folder.sweep()
    assert [process.cmdline() for process in innocent if not runs(process)] == []


def test_rays_own_processes_in_the_folder_are_ended(folder: RayFolder, start: Start, tmp_path: Path) -> None:
    """Its servers, its modules, and workers that write `ray::` over their arguments."""
    session = folder.path / "session_x"
    module = tmp_path / "site-packages" / "ray" / "_private" / "log_monitor.py"
    module.parent.mkdir(parents=True)
    module.write_text(WAIT)
    shell = "trap '' USR1; read forever #"
    raylet = program(tmp_path, "raylet")
    shutil.copy(shutil.which("sh") or "/bin/sh", raylet)
    with (session / "logs" / "raylet.out").open("ab") as out:
        rays = [
            start(raylet, "-c", shell, f"--raylet_socket_name={session}/sockets/raylet"),
            start(sys.executable, "-u", str(module), f"--session-dir={session}"),
            start("ray::GroupActor", "-c", WAIT, executable=sys.executable, stdout=out, stderr=out),
        ]
        assert all(runs(process) for process in rays)
        assert {process.pid for process in folder.processes()} == {process.pid for process in rays}
        folder.sweep()
    assert [process.cmdline() for process in rays if runs(process)] == []
    assert folder.path.is_dir()
    assert list(folder.path.iterdir()) == []


def test_another_homes_ray_is_left_alone(folder: RayFolder, start: Start, tmp_path: Path) -> None:
    """Also where its folder's name begins with ours."""
    raylet = program(tmp_path, "raylet")
    shutil.copy(shutil.which("sh") or "/bin/sh", raylet)
    other = start(raylet, "-c", "read forever #", f"--raylet_socket_name={folder.path}0/session/sockets/raylet")
    folder.sweep()
    assert runs(other)


@pytest.mark.skipif(os.geteuid() != 0, reason="a process of another user needs root")
def test_a_process_of_another_user_is_left_alone(folder: RayFolder, start: Start, tmp_path: Path) -> None:
    """Whatever it calls itself."""
    log = folder.path / "session_x" / "logs" / "raylet.out"
    with log.open("ab") as out:
        other = start("ray::X", "600", executable=SLEEP, stdout=out, stderr=out, user=65534)
        folder.sweep()
    assert runs(other)
