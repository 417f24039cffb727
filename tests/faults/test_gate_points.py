"""The fault points of the gate: the process dies there, and what the next one finds is what the passport promises.

The child is this file run as a program: it passes one call through a gate whose armed point kills it. The tool appends
a line, so that an effect that happened twice would show.
"""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from host.faults import Fault, Faults
from host.passport import Decision, Effect, Replay
from host.stops import Reason
from host.tools.tool import Scope, ToolResult
from tests.integration.gate.stage import GateStage, Words

BOUND = 60.0  # seconds


def staged(folder: Path, point: str = "", *, replay: Replay = Replay.EFFECT, asks: bool = False) -> GateStage:
    """A gate with a tool that appends a line to a file."""
    armed = {point: Fault("kill")} if point else {}
    stage = GateStage(folder, fault=Faults(armed))

    async def work(_: Words, __: Scope) -> ToolResult:
        with (folder / "effects").open("a") as file:
            file.write("once\n")
        return ToolResult(text="appended")

    default = Decision.ASK if asks else Decision.ALLOW
    stage.probe(work, effect=Effect.EXECUTE, default=default, replay=replay)
    return stage


async def _pass(stage: GateStage) -> None:
    task = asyncio.create_task(stage.call())
    if stage.tools["probe"].passport.default is Decision.ASK:
        question = await stage.question()
        await stage.desk.settle(question.id, verdict="allowed", by="operator")
    await task


def killed(folder: Path, point: str, *, replay: Replay = Replay.EFFECT, asks: bool = False) -> None:
    """Run the child and see it die at the point."""
    command = [sys.executable, "-m", "tests.faults.test_gate_points", str(folder), point, replay.value, str(int(asks))]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, timeout=BOUND, check=False, capture_output=True, env={**os.environ})
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def effects(folder: Path) -> int:
    """How often the effect happened."""
    file = folder / "effects"
    return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.mark.clause("REC-1", "REC-5", "TURN-2")
@pytest.mark.parametrize(("point", "before"), [("call.before_run", 0), ("call.after_effect", 1)])
async def test_an_effect_is_never_repeated_whichever_side_of_it_the_process_died(
    tmp_path: Path, point: str, before: int
) -> None:
    """Before the run and after it look the same in the journal: the outcome is unknown, and the model is told."""
    killed(tmp_path, point)
    assert effects(tmp_path) == before
    stage = staged(tmp_path)
    assert stage.kinds() == ["call_started"]
    settled = await stage.call(again="1.0", resumed=True)
    assert (settled.ok, settled.reason) == (False, Reason.UNKNOWN)
    assert effects(tmp_path) == before
    stage.close()


@pytest.mark.clause("REC-1", "REC-5")
@pytest.mark.parametrize(("point", "before"), [("call.before_run", 0), ("call.after_effect", 1)])
async def test_an_idempotent_call_is_run_again_with_its_key(tmp_path: Path, point: str, before: int) -> None:
    """Recovery runs it once more and the turn gets its result."""
    killed(tmp_path, point, replay=Replay.IDEMPOTENT)
    stage = staged(tmp_path, replay=Replay.IDEMPOTENT)
    settled = await stage.call(again="1.0", resumed=True)
    assert (settled.ok, settled.text) == (True, "appended")
    assert effects(tmp_path) == before + 1
    assert stage.kinds() == ["call_started", "call_repeated", "call_finished"]
    stage.close()


@pytest.mark.clause("APR-3", "REC-1", "REC-5")
async def test_an_answer_that_was_durable_when_the_process_died_is_not_asked_for_again(tmp_path: Path) -> None:
    """The call had not been told; the next process finds the answer and runs it, once."""
    killed(tmp_path, "approval.settled", asks=True)
    assert effects(tmp_path) == 0
    stage = staged(tmp_path, asks=True)
    assert stage.kinds() == ["approval_asked", "approval_settled"]
    settled = await stage.call(again="1.0", resumed=True)
    assert settled.ok
    assert effects(tmp_path) == 1
    assert stage.kinds().count("approval_asked") == 1
    stage.close()


if __name__ == "__main__":
    _folder, _point, _replay, _asks = sys.argv[1:]
    asyncio.run(_pass(staged(Path(_folder), _point, replay=Replay(_replay), asks=_asks == "1")))
