"""A kill while an approved parked turn waits behind a running one: each is done once, by its own turn (REC-1)."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from host.groups.port import EventView
from tests.scripted_model import Call, Hang, Reply, ScriptedModel, Step

ROOT = Path(__file__).parents[2]


def run(root: Path, model: ScriptedModel, what: str) -> "subprocess.CompletedProcess[str]":
    """Run the group's process."""
    return subprocess.run(
        [sys.executable, "-m", "tests.faults.parked_process", str(root), model.base_url, what],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
    )


@pytest.mark.clause("REC-1", "LANE-2", "APR-4")
def test_an_approved_parked_turn_is_not_steered_into_another_after_a_kill(tmp_path: Path) -> None:
    """Its message was a turn's already: it goes on as that turn, and its words reach no other."""
    killed = False

    def answer(request: dict[str, Any], _index: int) -> Step:
        last = [message for message in request["messages"] if not str(message["content"]).startswith("[")][-1]
        if last["role"] == "tool":
            return Reply(text="it is done")
        if "alone" in str(last["content"]):
            return Reply(calls=[Call("shell", {"command": "echo once >> log.txt"})])
        return Reply(text="that was it") if killed else Hang()

    with ScriptedModel() as model:
        model.respond(answer)
        first = run(tmp_path, model, "kill")
        assert first.returncode == -9, first.stderr
        killed = True
        second = run(tmp_path, model, "finish")
    assert second.returncode == 0, second.stderr
    events = msgspec.json.decode(second.stdout, type=list[EventView])
    started = {event.data["message"]: event.turn for event in events if event.kind == "turn_started"}
    assert len(started) == 2
    assert [event for event in events if event.kind == "message_entered"] == []
    placed = [event for event in events if event.kind == "message_placed"]
    assert {event.data["disposition"] for event in placed} == {"started", "queued"}
    assert [event.data["outcome"] for event in events if event.kind == "turn_ended"] == ["success", "success"]
    assert (tmp_path / "groups" / "main" / "workspace" / "log.txt").read_text() == "once\n"
