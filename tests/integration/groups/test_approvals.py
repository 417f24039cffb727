"""Questions to a person: answered, refused, left alone, parked, and the same intent asked again (APR-1 to APR-4)."""

import asyncio

import pytest

from host.config.settings import ApprovalSettings, BudgetSettings, GroupSettings, PolicySettings
from host.passport import Decision
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply

TOUCH = Call("shell", {"command": "echo hi > made.txt"})


@pytest.mark.clause("APR-1", "APR-3")
async def test_a_shell_command_asks_and_runs_when_allowed(stage: Stage) -> None:
    """The question shows tool, arguments, what may happen and what the model was doing."""
    stage.model.script(Reply(text="I make the file.", calls=[TOUCH]), Reply(text="made"))
    placement = await stage.say()
    question = await stage.question()
    assert (question.tool, question.arguments["command"]) == ("shell", "echo hi > made.txt")
    assert question.what_may_happen
    assert question.doing == "I make the file."
    assert question.scopes == ("once", "target", "kind")
    settled = await stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    again = await stage.group.settle(question.id, verdict="denied", by="other", text="")
    assert (settled.settled, again.settled, again.verdict) == (True, False, "allowed")
    assert (await stage.ended(placement)).data["outcome"] == "success"
    assert (stage.workspace / "made.txt").read_text() == "hi\n"


@pytest.mark.clause("APR-2")
async def test_a_refusal_reaches_the_model_with_its_reason_and_covers_the_same_intent(stage: Stage) -> None:
    """The same command again in that turn is not asked about again."""
    stage.model.script(Reply(calls=[TOUCH]), Reply(calls=[TOUCH]), Reply(text="It was not done."))
    placement = await stage.say()
    question = await stage.question()
    await stage.group.settle(question.id, verdict="denied", by="operator", text="use another name")
    ended = await stage.ended(placement)
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "policy_violation")
    events = await stage.group.turn_events(placement.turn)
    refused = [event.data for event in events if event.kind == "call_refused"]
    assert "use another name" in refused[0]["result"]
    assert refused[1]["rule"] == "same-intent"
    assert sum(event.kind == "approval_asked" for event in events) == 1
    assert not (stage.workspace / "made.txt").exists()


@pytest.mark.clause("APR-2")
async def test_nobody_answering_is_its_own_reason(stage: Stage) -> None:
    """A time-out is no refusal."""
    stage.settings = GroupSettings(approvals=ApprovalSettings(timeout_seconds=0.2))
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="Nobody answered."))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "approval_timeout")
    events = await stage.group.turn_events(ended.turn)
    assert [e.data["verdict"] for e in events if e.kind == "approval_settled"] == ["timed_out"]
    assert "Nobody answered" in next(e.data["result"] for e in events if e.kind == "call_refused")


@pytest.mark.clause("BUD-1")
async def test_waiting_for_a_person_costs_no_seconds_of_the_turn(stage: Stage) -> None:
    """A wait longer than the turn's limit does not end it."""
    stage.settings = GroupSettings(budget=BudgetSettings(seconds=3))
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="made"))
    placement = await stage.say()
    question = await stage.question()
    await asyncio.sleep(3.5)  # the real clock has to pass the limit
    await stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    ended = await stage.ended(placement)
    assert ended.data["outcome"] == "success"
    assert ended.data["seconds"] < 3


@pytest.mark.clause("APR-4")
async def test_an_unattended_question_parks_the_turn_and_frees_the_lane(stage: Stage) -> None:
    """Another message runs meanwhile; the answer lets the parked turn go on."""
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="meanwhile"), Reply(text="made after all"))
    parked = await stage.say("make it", unattended=True)
    await stage.until(lambda event: event.kind == "turn_parked")
    assert (await stage.ask("something else")).data["reply"] == "meanwhile"
    (question,) = await stage.group.approvals()
    assert question.expires_at == ""
    await stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    ended = await stage.ended(parked)
    assert (ended.data["outcome"], ended.data["reply"]) == ("success", "made after all")
    assert (stage.workspace / "made.txt").exists()


@pytest.mark.clause("APR-4")
async def test_an_unattended_question_is_denied_at_once_where_the_group_says_so(stage: Stage) -> None:
    """It never burns the time-out and is never taken as consent."""
    stage.settings = GroupSettings(policy=PolicySettings(unattended="deny"))
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="not done"))
    ended = await stage.ask(unattended=True)
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "policy_violation")
    assert "approval_asked" not in await stage.kinds(ended.turn)


@pytest.mark.clause("APR-4", "APR-2")
async def test_two_refusals_end_a_turn_that_nobody_watches(stage: Stage) -> None:
    """The model was told to stop trying; a watched turn goes on."""
    stage.settings = GroupSettings(policy=PolicySettings(unattended="deny", choices={"write": Decision.DENY}))
    write, shell = Call("write_file", {"path": "a", "content": "x"}), Call("shell", {"command": "touch a"})
    stage.model.script(Reply(calls=[write]), Reply(calls=[shell]))
    ended = await stage.ask(unattended=True)
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "policy_violation")
    assert "nobody watches" in ended.data["detail"]
    assert (await stage.kinds(ended.turn)).count("request_sent") == 2
    stage.model.script(Reply(calls=[write]), Reply(calls=[write]), Reply(text="I could not."))
    watched = await stage.ask()
    assert watched.data["reply"] == "I could not."


@pytest.mark.clause("POL-1", "POL-2")
async def test_a_denied_class_is_refused_and_an_asked_one_asks(stage: Stage) -> None:
    """A deny by class stands over an allow by tool."""
    choices = {"write": Decision.DENY, "write_file": Decision.ALLOW, "read": Decision.ASK}
    stage.settings = GroupSettings(policy=PolicySettings(choices=choices))
    stage.model.script(
        Reply(calls=[Call("write_file", {"path": "a", "content": "x"})]),
        Reply(calls=[Call("list_files", {})]),
        Reply(text="listed"),
    )
    placement = await stage.say()
    question = await stage.question()
    assert question.tool == "list_files"
    await stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    ended = await stage.ended(placement)
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "policy_violation")


@pytest.mark.clause("POL-4")
async def test_let_it_run_runs_commands_and_leaves_the_floor_and_the_denials(stage: Stage) -> None:
    """No question comes up; what is on the floor or denied is refused with its rule."""
    policy = PolicySettings(everything="allow", deny_commands=("git push *",))
    stage.settings = GroupSettings(policy=policy)
    floor, denied = Call("shell", {"command": "cd / && rm -rf *"}), Call("shell", {"command": "bash -c 'git push -f'"})
    stage.model.script(Reply(calls=[TOUCH, floor, denied]), Reply(text="made"))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reason"]) == ("partial", "policy_violation")
    assert (stage.workspace / "made.txt").read_text() == "hi\n"
    events = await stage.group.turn_events(ended.turn)
    refused = [event.data for event in events if event.kind == "call_refused"]
    assert [data["rule"] for data in refused] == ["floor:wipes", "deny_commands:git push *"]
    assert "removes all of a root" in refused[0]["result"]
    assert "the rule deny_commands:git push *, which stands in the group's policy" in refused[1]["result"]
    assert "approval_asked" not in {event.kind for event in events}


@pytest.mark.clause("POL-4", "POL-9")
async def test_let_it_run_lets_no_denied_command_through_by_another_spelling(stage: Stage) -> None:
    """Options, a launcher, an alias of git's: nothing of it runs, and nobody is asked."""
    commands = ["rm -r -f keep", "setarch x86_64 rm keep -fr", "find keep -exec rm -fr {} +", "git -c alias.p=push p"]
    stage.settings = GroupSettings(policy=PolicySettings(everything="allow", deny_commands=("rm -rf *", "git push *")))
    kept = stage.workspace / "keep" / "a"
    kept.parent.mkdir(parents=True)
    kept.touch()
    stage.model.script(Reply(calls=[Call("shell", {"command": each}) for each in commands]), Reply(text="done"))
    events = await stage.group.turn_events((await stage.ask()).turn)
    refused = [event.data["rule"] for event in events if event.kind == "call_refused"]
    assert refused == [*["deny_commands:rm -rf *"] * 3, "deny_commands:git push *"]
    assert kept.exists()
    assert "approval_asked" not in {event.kind for event in events}


@pytest.mark.clause("POL-3", "POL-4")
async def test_what_may_be_denied_is_asked_about_for_once_also_when_everything_may_run(stage: Stage) -> None:
    """The question says which rule it is, and a yes holds for this call only."""
    stage.settings = GroupSettings(policy=PolicySettings(everything="allow", deny_commands=("git push *",)))
    stage.model.script(Reply(calls=[Call("shell", {"command": "git p origin"})]), Reply(text="done"))
    placement = await stage.say()
    question = await stage.question()
    asked = await stage.until(lambda event: event.kind == "approval_asked", placement.after_seq)
    assert "deny_commands: git push *" in asked.data["what_may_happen"]
    assert list(asked.data["scopes"]) == ["once"]
    await stage.group.settle(question.id, verdict="denied", by="operator", text="")
    assert (await stage.ended(placement)).data["reason"] == "policy_violation"


@pytest.mark.clause("POL-5", "LOOP-1")
async def test_a_command_that_only_reads_runs_unasked_and_counts_as_read(stage: Stage) -> None:
    """Its event has the class read; a deny of reading holds for it too."""
    stage.model.script(Reply(calls=[Call("shell", {"command": "ls -a | wc -l"})]), Reply(text="counted"))
    ended = await stage.ask()
    assert ended.data["outcome"] == "success"
    events = await stage.group.turn_events(ended.turn)
    assert [event.data["effect"] for event in events if event.kind == "call_finished"] == ["read"]


@pytest.mark.clause("APR-3")
async def test_a_question_survives_a_restart_with_the_time_it_had_left(stage: Stage) -> None:
    """The group is closed and opened again; the same question waits, and its answer counts."""
    stage.model.script(Reply(calls=[TOUCH]), Reply(text="made"))
    placement = await stage.say()
    question = await stage.question()
    stage.close()
    (reopened,) = await stage.group.approvals()
    assert (reopened.id, reopened.turn) == (question.id, placement.turn)
    await stage.until(lambda event: event.kind == "approval_reopened")
    await stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    ended = await stage.ended(placement)
    assert ended.data["outcome"] == "success"
    assert (await stage.kinds(placement.turn)).count("approval_asked") == 1


@pytest.mark.clause("TURN-4")
async def test_a_person_is_asked_for_words_and_the_next_message_is_the_answer(stage: Stage) -> None:
    """The words are the call's result and do not enter the turn twice."""
    stage.model.script(Reply(calls=[Call("ask_person", {"question": "Which colour?"})]), Reply(text="blue it is"))
    placement = await stage.say("paint it")
    question = await stage.question()
    assert (question.question, question.arguments["question"]) == ("answer", "Which colour?")
    answer = await stage.say("blue")
    assert (answer.disposition, answer.turn) == ("steered", placement.turn)
    ended = await stage.ended(placement)
    assert ended.data["reply"] == "blue it is"
    assert stage.model.requests[1].body.count(b"blue") == 1
