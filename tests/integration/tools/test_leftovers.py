"""Programs that outlive the process of their group are found by their mark and ended (BOX-1, OPS-1)."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil
import pytest

from host.tools.jail import Jail
from host.tools.leftovers import end_leftovers, left_running, mark
from host.tools.roots import Root

from .conftest import Place

TRIES: Final = 500  # in a quiet minute every third one leaves something
SECONDS: Final = 30.0


@pytest.fixture
def workspace(place: Place) -> Iterator[Root]:
    """Return the open workspace."""
    jail = Jail.open(place.workspace, {})
    yield jail.roots[0]
    assert end_leftovers(jail.roots[0]) == 0
    jail.close()


def half_started(workspace: Root, milliseconds: float) -> None:
    """Start a real bubblewrap and kill it in its first milliseconds, as the death of its parent does."""
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--", "/bin/true"]
    with subprocess.Popen(argv, env=mark(workspace), stderr=subprocess.DEVNULL) as process:
        time.sleep(milliseconds / 1000)  # the instant is what is tried out here
        process.kill()


@pytest.mark.clause("BOX-1")
def test_a_bubblewrap_killed_in_its_first_millisecond_leaves_nothing(workspace: Root) -> None:
    """Its child, not yet bound to its parent's life, waits for ever for a word of the dead parent."""
    for number in range(TRIES):
        half_started(workspace, 0.2 + number % 40 / 10)
        if number % 10 == 9 and stuck(workspace):
            break
    left = left_running(workspace)
    assert left, "no start was cut off at the dangerous instant"
    assert end_leftovers(workspace) == len(left)
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in left)


def stuck(workspace: Root) -> bool:
    """Say whether something is left that does not end by itself."""
    left = left_running(workspace)
    return bool(left) and bool(psutil.wait_procs(left, timeout=0.2)[1])


@pytest.mark.clause("BOX-1")
def test_another_workspace_is_left_alone(workspace: Root, tmp_path: Path) -> None:
    """Only what carries this workspace's mark is ended, whatever it has become since."""
    (tmp_path / "other").mkdir()
    other = Jail.open(tmp_path / "other", {})
    mine = subprocess.Popen(["/bin/sh", "-c", "exec sleep 60"], env=mark(workspace))
    its = subprocess.Popen(["/bin/sleep", "60"], env=mark(other.roots[0]))
    try:
        assert end_leftovers(workspace) == 1
        assert not psutil.pid_exists(mine.pid)
        assert its.poll() is None
        assert end_leftovers(other.roots[0]) == 1
        assert not psutil.pid_exists(its.pid)
    finally:
        for process in (mine, its):
            process.kill()
            process.wait(SECONDS)
        other.close()
