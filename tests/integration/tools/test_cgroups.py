"""Which control groups are used, on trees like the kernel's, and on the kernel's own."""

from pathlib import Path

import pytest

from host.tools import cgroups
from host.tools.limits import Limits

from .conftest import names

LIMITS = Limits(memory_bytes=1 << 30, processes=50)


def _second(top: Path, folder: str, controllers: str = "cpu memory pids") -> Path:
    """Make a group of version 2 with files like the kernel's."""
    place = top / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / "cgroup.controllers").write_text(controllers)
    return place


def _newest(parent: Path) -> Path:
    """Return the group made last; the one of the trial stays here, for its files are real ones."""
    return max(parent.glob("elis-box-*"), key=lambda folder: int(folder.name.rpartition("-")[2]))


@pytest.mark.clause("BOX-1")
def test_version_2_is_found_at_the_nearest_group_that_has_both_controllers(tmp_path: Path) -> None:
    """The own group first, then those above it."""
    _second(tmp_path, ".")
    above = _second(tmp_path, "user.slice")
    _second(tmp_path, "user.slice/elis.service", "cpu")
    groups = cgroups.find(tmp_path, "0::/user.slice/elis.service\n")
    assert groups is not None
    assert groups.version == "control groups, version 2"
    group = groups.make(LIMITS)
    group.add(4711)
    folder = _newest(above)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "memory.max": str(1 << 30),
        "pids.max": "50",
        "cgroup.procs": "4711",
    }
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 5\noom 1\noom_kill 1\n")
    (folder / "pids.events").write_text("max 3\n")
    assert group.reached() == (
        "the memory limit of 1024 MiB was reached, a process was ended",
        "the limit of 50 processes was reached",
    )


@pytest.mark.clause("BOX-1")
def test_version_1_is_used_where_version_2_has_no_controllers(tmp_path: Path) -> None:
    """Each controller in its own tree; a container sees its group at the mount whatever its path says."""
    _second(tmp_path, "unified", "")
    (tmp_path / "memory" / "own").mkdir(parents=True)
    (tmp_path / "pids").mkdir()
    groups = cgroups.find(tmp_path, "9:pids:/not/seen/here\n4:memory:/own\n0::/\n")
    assert groups is not None
    assert groups.version == "control groups, version 1"
    groups.make(LIMITS).add(4711)
    memory = _newest(tmp_path / "memory" / "own")
    assert (memory / "memory.limit_in_bytes").read_text() == str(1 << 30)
    assert (memory / "cgroup.procs").read_text() == "4711"
    assert (_newest(tmp_path / "pids") / "pids.max").read_text() == "50"


@pytest.mark.clause("BOX-1")
def test_without_control_groups_there_are_none(tmp_path: Path) -> None:
    """Then limits are set per process, and a sampler watches."""
    assert cgroups.find(tmp_path, "0::/\n") is None
    assert cgroups.find(tmp_path, "") is None


def test_what_a_killed_host_left_is_removed(tmp_path: Path) -> None:
    """The groups of a process that is there no more, and no others."""
    _second(tmp_path, ".")
    for name in ("elis-box-999999999-1", "elis-box-1-1", "other"):
        (tmp_path / name).mkdir()
    cgroups.find(tmp_path, "0::/\n")
    assert "elis-box-999999999-1" not in names(tmp_path)
    assert {"elis-box-1-1", "other"} <= set(names(tmp_path))


def test_groups_of_this_machine_are_made_and_removed() -> None:
    """Where it has some that this user may make."""
    groups = cgroups.find()
    if groups is None:
        pytest.skip("needs control groups that this user may make")
    group = groups.make(LIMITS)
    assert group.reached() == ()
    group.remove()
    groups.make(LIMITS).remove()
