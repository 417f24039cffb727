"""Started, killed, and then the rules changed: what ran is never reported as refused (REC-1, APR-3).

The child of `test_gate_points` dies right after its tool's effect. The next process has other rules, and the replay
rule of the passport says what becomes of the call; nobody is asked about it any more.
"""

from pathlib import Path

import pytest

from host.config.settings import PolicySettings
from host.passport import Decision, Replay
from host.record.events import CallFinished
from host.stops import Reason
from tests.faults.test_gate_points import effects, killed, staged
from tests.integration.gate.stage import GateStage

RULES = [Replay.PURE, Replay.IDEMPOTENT, Replay.EFFECT]
CHANGES = ["as before", "asks", "denies", "tool gone"]
ROWS = [(change, replay) for change in CHANGES for replay in RULES]


def changed(folder: Path, change: str, replay: Replay, *, asks: bool = False) -> GateStage:
    """The gate of the next process."""
    stage = staged(folder, replay=replay, asks=asks)
    match change:
        case "asks":
            stage.policy = PolicySettings(choices={"execute": Decision.ASK})
        case "denies":
            stage.policy = PolicySettings(choices={"execute": Decision.DENY})
        case "tool gone":
            del stage.tools["probe"]
        case _:
            pass
    return stage


@pytest.mark.clause("REC-1", "REC-5", "APR-3")
@pytest.mark.parametrize(("change", "replay"), ROWS)
async def test_a_started_call_follows_its_replay_rule_whatever_the_rules_say_now(
    tmp_path: Path, change: str, replay: Replay
) -> None:
    """It is run again only where its passport and the rules of now both let it; else its outcome is unknown."""
    killed(tmp_path, "call.after_effect", replay=replay)
    stage = changed(tmp_path, change, replay)
    settled = await stage.call(again="1.0", resumed=True)
    again = change == "as before" and replay is not Replay.EFFECT
    assert effects(tmp_path) == 1 + again
    if again:
        assert (settled.ok, settled.ran) == (True, True)
        assert stage.kinds() == ["call_started", "call_repeated", "call_finished"]
    else:
        assert (settled.ok, settled.ran, settled.reason) == (False, True, Reason.UNKNOWN)
        assert "outcome is unknown" in settled.text
        assert "not done" not in settled.text
        assert stage.kinds() == ["call_started", "call_finished"]
        ended = stage.events()[-1]
        assert isinstance(ended, CallFinished)
        assert (ended.tool, ended.effect) == ("probe", "execute")
    stage.close()


@pytest.mark.clause("REC-1", "APR-3")
@pytest.mark.parametrize(("change", "times"), [("asks", 2), ("denies", 1)])
async def test_a_person_s_yes_to_the_call_holds_for_its_second_run_unless_that_is_denied_now(
    tmp_path: Path, change: str, times: int
) -> None:
    """They said yes to this very call; they are not asked again, and a denial since then holds."""
    killed(tmp_path, "call.after_effect", replay=Replay.IDEMPOTENT, asks=True)
    stage = changed(tmp_path, change, Replay.IDEMPOTENT, asks=True)
    settled = await stage.call(again="1.0", resumed=True)
    assert effects(tmp_path) == times
    assert settled.ran
    assert stage.kinds().count("approval_asked") == 1
    assert "call_refused" not in stage.kinds()
    stage.close()
