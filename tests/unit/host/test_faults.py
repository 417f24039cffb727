"""Fault points act when armed, and only then."""

import subprocess
import sys
from pathlib import Path

import pytest

from host.errors import SettingsError
from host.faults import POINTS, Fault, Faults, parse


@pytest.mark.clause("REC-5")
def test_an_unarmed_point_does_nothing() -> None:
    """Production runs pass every point."""
    faults = Faults({})
    for point in POINTS:
        faults(point)


def test_the_variable_is_read_strictly() -> None:
    """Unknown points and actions are refused with the known ones named."""
    assert parse("turn.chat=busy:2, call.before_run=kill@3") == {
        "turn.chat": Fault("busy", 2.0),
        "call.before_run": Fault("kill", 0.0, 3),
    }
    with pytest.raises(SettingsError, match=r"journal\.before_commit"):
        parse("nowhere=kill")
    with pytest.raises(SettingsError, match="NAME=kill"):
        parse("turn.chat=explode")


@pytest.mark.clause("REC-5")
def test_a_kill_happens_once_for_a_folder_of_marks(tmp_path: Path) -> None:
    """The restarted process gets past the point that killed the first."""
    program = (
        "import sys; from pathlib import Path; from host.faults import Fault, Faults\n"
        "faults = Faults({'turn.chat': Fault('kill', passing=2)}, Path(sys.argv[1]))\n"
        "faults('turn.chat'); print('one', flush=True); faults('turn.chat'); print('two', flush=True)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "marks")]
    first = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (first.returncode, first.stdout) == (-9, "one\n")
    assert (second.returncode, second.stdout) == (0, "one\ntwo\n")
