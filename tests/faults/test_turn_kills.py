"""A kill at each named instant of a turn: one final event, no effect twice, nothing lost (REC-1, REC-5)."""

import collections
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from host.faults import POINTS
from host.record.codec import GroupCodec
from host.record.events import GroupEvent
from memory.journal import Journal
from tests.scripted_model import Call, Reply, ScriptedModel

PLAN = [
    Reply(calls=[Call("write_file", {"path": "a.txt", "content": "written"})]),
    Reply(calls=[Call("shell", {"command": "echo once >> log.txt"})]),
    Reply(text="both are done"),
]
PASSINGS = {  # where a point is passed several times, the interesting ones
    "journal.before_commit": (1, 3, 5, 8, 10),
    "journal.after_commit": (1, 3, 5, 8, 10),
    "turn.before_request": (1, 3),
    "turn.after_response": (1, 2, 3),
    "call.before_run": (1, 2),
    "call.after_effect": (1, 2),
}
ELSEWHERE = {"approval.assisted"}  # not passed in a group without an aux model: tests/faults/test_assisted_kills.py
ROWS = [(point, passing) for point in POINTS if point not in ELSEWHERE for passing in PASSINGS.get(point, (1,))]


def plan(request: dict[str, Any], _index: int) -> Reply:
    """Return the step that follows from the request alone, so that a repeated request gets the same answer."""
    done = [message for message in request["messages"] if message["role"] == "tool"]
    return PLAN[len(done)]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """The model of the plan."""
    with ScriptedModel() as server:
        server.respond(plan)
        yield server


def run(root: Path, model: ScriptedModel, faults: str) -> "subprocess.CompletedProcess[str]":
    """Run the group's process to its end, or to its kill."""
    return subprocess.run(
        [sys.executable, "-m", "tests.faults.group_process", str(root), model.base_url],
        env={"PATH": os.environ["PATH"], "ELIS_FAULTS": faults},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.clause("REC-1", "REC-5", "REC-6")
@pytest.mark.parametrize(("point", "passing"), ROWS)
def test_a_turn_survives_a_kill_at(point: str, passing: int, tmp_path: Path, model: ScriptedModel) -> None:
    """Killed once at the point, started again, the turn ends once and each effect stands once."""
    faults = f"{point}=kill@{passing}"
    first = run(tmp_path, model, faults)
    assert first.returncode == -9, first.stderr
    second = run(tmp_path, model, faults)
    assert second.returncode == 0, second.stderr
    ended = json.loads(second.stdout)["data"]
    reader = Journal[GroupEvent].reader(tmp_path / "groups" / "main" / "journal.db", GroupCodec())
    kinds = collections.Counter(event.kind for event in reader.read(limit=10_000))
    assert reader.verify().ok
    reader.close()
    assert (kinds["turn_ended"], kinds["turn_started"], kinds["message_received"]) == (1, 1, 1)
    workspace = tmp_path / "groups" / "main" / "workspace"
    assert (workspace / "a.txt").read_text() == "written"
    if (point, passing) == ("call.after_effect", 2):
        assert ended["reason"] == "unknown"  # the command ran, its end was not seen, and it was not run again
        assert (workspace / "log.txt").read_text() == "once\n"
    elif (point, passing) == ("call.before_run", 2):
        assert ended["reason"] == "unknown"  # it was about to run, and nobody can tell that it had not
        assert not (workspace / "log.txt").exists()
    else:
        assert ended["outcome"] == "success"
        assert (workspace / "log.txt").read_text() == "once\n"
