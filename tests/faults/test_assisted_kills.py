"""A kill around the aux model's word: one that was durable counts once, one that was not counts for nothing (REC-1)."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from host.groups.port import EventView
from tests.scripted_model import Call, Hang, Reply, ScriptedModel

ROOT = Path(__file__).parents[2]
BOUND = 60.0  # seconds
MAKE = Call("shell", {"command": "mkdir made"})  # fails when it is run twice


@pytest.fixture
def servers() -> Iterator[tuple[ScriptedModel, ScriptedModel]]:
    """The model of the turns, which asks for one command, and the aux model."""
    with ScriptedModel() as model, ScriptedModel() as aux:
        model.when(lambda request: request["messages"][-2]["role"] == "tool", Reply(text="that was it"))
        model.when(lambda _: True, Reply(calls=[MAKE]))
        yield model, aux


def process(root: Path, servers: tuple[ScriptedModel, ScriptedModel], faults: str = "") -> "subprocess.Popen[str]":
    """Start the group's process."""
    urls = [server.base_url for server in servers]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.assisted_process", str(root), *urls],
        env={"PATH": os.environ["PATH"], "ELIS_FAULTS": faults},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def finished(root: Path, servers: tuple[ScriptedModel, ScriptedModel]) -> list[EventView]:
    """Start it again and return the turn's events."""
    child = process(root, servers)
    out, err = child.communicate(timeout=BOUND)
    assert child.returncode == 0, err
    return msgspec.json.decode(out, type=list[EventView])


def made(root: Path) -> bool:
    """Whether the command was run."""
    return (root / "groups" / "main" / "workspace" / "made").is_dir()


@pytest.mark.clause("APR-6", "REC-1", "REC-5")
def test_a_yes_that_was_durable_counts_after_a_kill_and_is_not_asked_for_again(
    tmp_path: Path, servers: tuple[ScriptedModel, ScriptedModel]
) -> None:
    """The call had not started; it runs once, and no person is asked."""
    servers[1].script(Reply(text="allow"))
    child = process(tmp_path, servers, "approval.assisted=kill")
    _, err = child.communicate(timeout=BOUND)
    assert child.returncode == -signal.SIGKILL, err
    assert not made(tmp_path)
    events = finished(tmp_path, servers)
    kinds = [event.kind for event in events]
    assert made(tmp_path)
    assert [event.data["ok"] for event in events if event.kind == "call_finished"] == [True]
    assert (kinds.count("approval_assisted"), kinds.count("call_started")) == (1, 1)
    assert "approval_asked" not in kinds
    assert len(servers[1].requests) == 1


@pytest.mark.clause("APR-6", "REC-1", "BUD-3")
def test_a_kill_while_the_aux_model_thinks_counts_as_nothing(
    tmp_path: Path, servers: tuple[ScriptedModel, ScriptedModel]
) -> None:
    """It had begun to say allow; it is charged and asked again, and what it passes then the person decides."""
    servers[1].script(Hang(2, Reply(text="allow")), Reply(text="pass"))
    child = process(tmp_path, servers)
    servers[1].wait_requests(1, BOUND)
    child.kill()
    child.communicate(timeout=BOUND)
    events = finished(tmp_path, servers)
    assert not made(tmp_path)
    assert [event.data["verdict"] for event in events if event.kind == "approval_assisted"] == ["passed"]
    (broken,) = [event.data for event in events if event.kind == "attempt_failed"]
    assert (broken["purpose"], broken["reason"]) == ("assist", "interrupted")
    assert broken["tokens_in"] > 0
    assert [event.data["rule"].partition(":")[0] for event in events if event.kind == "call_refused"] == ["approval"]
