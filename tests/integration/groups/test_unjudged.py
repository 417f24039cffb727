"""A command without a verdict, through the whole gate: asked about in every mode, and the group lives on (POL-5)."""

import psutil
import pytest

from host.config.settings import GroupSettings, PolicySettings
from tests.integration.gate.test_judging import child, children
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply


def judge(stage: Stage) -> psutil.Process:
    """Return the process that judges for the group."""
    assert stage.group
    return child()


@pytest.mark.clause("POL-5", "POL-4")
async def test_a_command_whose_judge_hangs_is_asked_about_also_when_everything_may_run(stage: Stage) -> None:
    """The floor cannot be ruled out; the next command is judged again, and the child ends with the group."""
    stage.settings = GroupSettings(policy=PolicySettings(everything="allow"))
    look = Call("shell", {"command": "ls"})
    stage.model.script(Reply(calls=[look]), Reply(text="done"))
    assert (await stage.ask()).data["outcome"] == "success"
    first = judge(stage)
    first.suspend()
    stage.model.script(Reply(calls=[look]), Reply(calls=[look]), Reply(text="done"))
    placement = await stage.say()
    question = await stage.question()
    assert question.scopes == ("once",)
    assert "judging it took too long" in question.what_may_happen
    assert not first.is_running()
    await stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    ended = await stage.ended(placement)
    assert ended.data["outcome"] == "success"
    kinds = await stage.kinds(ended.turn)
    assert (kinds.count("call_finished"), kinds.count("approval_asked")) == (2, 1)
    assert (await stage.group.check_commands(("ls", "rm -rf /")))[1].rule == "floor:wipes"
    stage.close()
    assert children() == []
