"""Disks that fail for real: full, limited, read-only. Nothing confirmed is lost, and the journal goes on afterwards."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.memory.said import BOUND_SECONDS

FULL = [sys.executable, "-m", "tests.integration.memory.full"]


def in_a_namespace(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script where it may mount; skip where this machine does not let anybody."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is missing, so no small file system can be mounted")
    space = [unshare, "--user", "--map-root-user", "--mount", "sh", "-euc"]
    probe = subprocess.run(
        [*space, "mount -t tmpfs none /mnt"], capture_output=True, check=False, timeout=BOUND_SECONDS
    )
    if probe.returncode:
        pytest.skip("mounting in a user namespace is not allowed here, so no small file system can be made")
    command = [*space, script, "sh", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=BOUND_SECONDS)


def show(report: dict[str, Any]) -> None:
    """Assert what must hold whatever filled the disk."""
    assert report["unwritable"], report
    assert report["confirmed"] > 50
    assert report["readable"] == report["confirmed"]
    assert report["later"] == report["confirmed"] + 1
    assert report["ok"]


@pytest.mark.clause("JRN-1", "OPS-5")
def test_a_file_size_limit_fails_the_batch_and_nothing_else(tmp_path: Path) -> None:
    """Writes that the kernel refuses end in JournalUnwritable; with the limit lifted, the same journal writes on."""
    command = [*FULL, str(tmp_path / "journal.db"), "limit"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=BOUND_SECONDS)
    show(json.loads(done.stdout))


@pytest.mark.clause("JRN-1", "OPS-5")
def test_a_full_disk_is_named_with_the_way_out(tmp_path: Path) -> None:
    """On a file system without room the error says to free some, and it helps."""
    script = (
        f'mount -t tmpfs -o size=4m none "$1"; exec {sys.executable} -m tests.integration.memory.full "$1/j.db" ballast'
    )
    report = json.loads(in_a_namespace(script, str(tmp_path)).stdout)
    show(report)
    assert "free some space" in report["message"]


@pytest.mark.clause("OPS-5")
def test_a_read_only_disk_refuses_writers_and_serves_readers(tmp_path: Path) -> None:
    """Opening for writing says what is wrong, reading works as ever."""
    script = (
        f'mount -t tmpfs none "$1"; {sys.executable} -m tests.integration.memory.scribe "$1/j.db" --count 5; '
        f'mount -o remount,ro "$1"; exec {sys.executable} -m tests.integration.memory.frozen "$1/j.db"'
    )
    lines = in_a_namespace(script, str(tmp_path)).stdout.splitlines()
    assert lines[-1] == "20 events, ok, found 4"
    assert lines[-2].startswith("JournalUnwritable")
