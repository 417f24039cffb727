"""The sandbox for an ordinary user: the whole of it runs as nobody, in a process of its own (BOX-1)."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from .processes import gone

HERE = Path(__file__).parent
NOBODY = 65534
PACKAGES = (str(HERE.parents[2]), str(Path(msgspec.__file__).parents[1]))


def _as_nobody(*argv: str) -> "subprocess.CompletedProcess[str]":
    """Run a program as nobody, with the packages of this installation and nothing else of the environment."""
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    environment = {"PYTHONPATH": ":".join(PACKAGES), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*become, *argv], env=environment, cwd="/", capture_output=True, text=True, timeout=110, check=False
    )


@pytest.fixture(scope="module")
def report() -> Iterator[dict[str, Any]]:
    """Return what `unprivileged.py` tells when nobody runs it."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to become an ordinary user")
    for python in (sys.executable, "/usr/bin/python3"):  # the first may lie in a home that is closed to nobody
        if _as_nobody(python, "-c", "import msgspec, host.tools.bwrap").returncode == 0:
            break
    else:
        pytest.skip("needs a python and a checkout that every user may read")
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        Path(top).chmod(0o755)
        workspace = Path(top) / "ws"
        workspace.mkdir()
        os.chown(workspace, NOBODY, NOBODY)
        done = _as_nobody(python, str(HERE / "unprivileged.py"), str(workspace))
        assert done.returncode == 0, done.stderr
        assert (workspace / "made").stat().st_uid == NOBODY
        yield msgspec.json.decode(done.stdout)


@pytest.mark.clause("BOX-1")
def test_an_ordinary_user_has_the_same_box(report: dict[str, Any]) -> None:
    """The same names inside, no rights, nothing of the host, no way on."""
    assert report["check"].startswith("bubblewrap works")
    assert report["identity"][:2] == [0, "1000\n1000\n/workspace\nmade\n"]
    assert dict(line.split(":\t") for line in report["status"][1].split("\n") if line) == {
        "CapEff": "0" * 16,
        "CapBnd": "0" * 16,
        "NoNewPrivs": "1",
        "Seccomp": "2",
    }
    assert report["root"][1].split() == [
        "bin",
        "dev",
        "etc",
        "lib",
        "lib64",
        "proc",
        "run",
        "sbin",
        "tmp",
        "usr",
        "workspace",
    ]
    for forbidden in ("etc", "mount", "unshare", "nested", "netlink", "route", "switch"):
        assert report[forbidden][0] != 0, forbidden


@pytest.mark.clause("BOX-1")
def test_an_ordinary_user_s_commands_are_bounded(report: dict[str, Any]) -> None:
    """By control groups if this user may make them, else by RLIMIT_NPROC, RLIMIT_DATA and the sampler."""
    assert ("limits by control groups" in report["check"]) == report["groups"]
    assert int(report["bomb"][1]) < 60
    assert report["memory"][1].count("1\n") < 4
    assert any("memory limit of 256 MiB was reached" in note for note in report["memory"][2])


@pytest.mark.clause("BOX-1")
def test_an_ordinary_user_s_cancelled_command_is_gone(report: dict[str, Any]) -> None:
    """With what it had started."""
    cancelled, seconds = report["cancelled"]
    assert cancelled
    assert seconds < 1
    assert gone("sleep", "67")


@pytest.mark.clause("BOX-2")
def test_an_ordinary_user_s_commands_have_the_one_door(report: dict[str, Any]) -> None:
    """A listed host is reached, another one and a plain address are refused in words."""
    said, verdicts = report["door"]
    assert said.startswith("helloElis did not carry this connection: evil.example is not on the list of hosts")
    assert "203.0.115.7 is an address; hosts are reached by name only" in said
    assert verdicts == ["carried", "refused", "refused"]
