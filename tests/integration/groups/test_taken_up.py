"""A call that is taken up again is the call that was asked for, and what ran is never said to be not done (REC-1).

Settings change while the host is down; a model writes a lent value itself instead of its handle.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from host.config.settings import ApprovalSettings, GroupSettings, ModelSettings, PolicySettings, SecretSettings
from host.passport import Decision
from host.turn.state import BROKEN_OFF
from tests.integration.groups.stage import BOUND, Stage
from tests.scripted_model import Call, Reply, ScriptedModel

VALUE = "hunter2-horse-battery"
HANDLE = "«secret:db»"
LONG = Call("shell", {"command": "echo once >> log.txt; cat pipe"})


def lend(stage: Stage, folder: Path, value: str, *tools: str) -> None:
    """Give the group a secret `db` for these tools."""
    file = folder / "value"
    file.write_text(value)
    file.chmod(0o600)
    stage.secrets = {"db": SecretSettings(ref=f"file:{file}", tools=tools)}


def make_pipe(stage: Stage) -> Path:
    """A pipe in the workspace that a command can wait at."""
    stage.workspace.mkdir(parents=True)
    pipe = stage.workspace / "pipe"
    os.mkfifo(pipe)
    return pipe


@contextlib.asynccontextmanager
async def running(pipe: Path) -> AsyncGenerator[None]:
    """Wait until the command has come to its pipe; it waits there for as long as this lasts."""
    async with asyncio.timeout(BOUND):
        with await asyncio.to_thread(pipe.open, "wb"):
            yield


def with_choice(decision: Decision, tool: str = "execute") -> GroupSettings:
    """Settings with one choice of the person."""
    return GroupSettings(policy=PolicySettings(choices={tool: decision}))


async def call_events(stage: Stage, turn: str) -> dict[str, dict[str, Any]]:
    """The data of the latest event of each kind of a turn."""
    return {event.kind: event.data for event in await stage.group.turn_events(turn)}


def told(stage: Stage) -> str:
    """What the model was told last of a call."""
    messages = stage.model.requests[-1].json["messages"]
    return next(str(message["content"]) for message in reversed(messages) if message["role"] == "tool")


def journal_holds(stage: Stage, value: str) -> bool:
    """Whether the value stands in the journal's files as it is."""
    stage.close()
    return any(value.encode() in file.read_bytes() for file in (stage.root / "groups" / "main").glob("journal.db*"))


@pytest.mark.clause("REC-1", "APR-3")
@pytest.mark.parametrize("now", [Decision.ASK, Decision.DENY, Decision.ALLOW])
async def test_a_command_that_was_running_is_told_as_unknown_whatever_is_chosen_meanwhile(
    stage: Stage, now: Decision
) -> None:
    """No question is asked about it, and no rule calls it refused; the account has it as failed, not as not done."""
    stage.settings = with_choice(Decision.ALLOW)
    stage.model.script(Reply(calls=[LONG]), Reply(text="I see"))
    pipe = make_pipe(stage)
    placement = await stage.say()
    async with running(pipe):
        stage.close()
    stage.settings = with_choice(now)
    ended = await stage.ended(placement)
    kinds = await stage.kinds(placement.turn)
    assert not {"approval_asked", "call_refused", "call_repeated"} & set(kinds)
    assert (ended.data["reason"], ended.data["not_attempted"]) == ("unknown", ())
    assert "outcome is unknown" in told(stage)


@pytest.mark.clause("REC-1", "APR-6")
async def test_a_command_that_the_aux_model_let_run_is_not_asked_about_when_that_is_switched_off(stage: Stage) -> None:
    """Its yes is spent: the command was started under it."""
    with ScriptedModel() as aux:
        aux.script(Reply(text="allow"))
        stage.aux = ModelSettings(provider="openai", base_url=aux.base_url, model="tiny")
        stage.settings = GroupSettings(approvals=ApprovalSettings(assisted=True))
        pipe = make_pipe(stage)
        command = "mkdir made && cat pipe"
        stage.model.script(Reply(calls=[Call("shell", {"command": command})]), Reply(text="I see"))
        placement = await stage.say()
        async with running(pipe):
            stage.close()
    stage.settings = GroupSettings()
    await stage.ended(placement)
    assert not {"approval_asked", "call_refused"} & set(await stage.kinds(placement.turn))
    assert "outcome is unknown" in told(stage)


@pytest.mark.clause("REC-1", "REPLY-6")
async def test_later_turns_hear_that_a_call_of_a_stopped_turn_had_begun(stage: Stage) -> None:
    """Whether its lane could still note that it was broken off or was given up, it is not said to be not run."""
    stage.settings = with_choice(Decision.ALLOW)
    stage.model.script(Reply(calls=[LONG]), Reply(text="later"))
    pipe = make_pipe(stage)
    placement = await stage.say()
    async with running(pipe):
        await stage.group.stop("", all_lanes=True, by="test")
        await stage.ended(placement)
    await stage.idle()
    stage.close()
    await stage.ask("and now?")
    history = json.dumps(stage.model.requests[-1].json["messages"])
    assert "broken off" in history or BROKEN_OFF in history
    assert "was not run" not in history


@pytest.mark.clause("MASK-1", "REC-1", "REC-6", "SEC-2")
async def test_a_value_that_a_model_wrote_itself_is_its_handle_before_and_after_a_restart(
    stage: Stage, tmp_path: Path
) -> None:
    """The same call is taken up: its outcome is unknown, and its key belongs to no other."""
    lend(stage, tmp_path, VALUE, "shell")
    stage.settings = with_choice(Decision.ALLOW)
    command = f"echo {VALUE} > seen.txt; cat pipe"
    pipe = make_pipe(stage)
    stage.model.script(Reply(calls=[Call("shell", {"command": command})]), Reply(text="I see"))
    placement = await stage.say()
    started = await stage.until(lambda event: event.kind == "call_started")
    assert started.data["arguments"]["command"] == command.replace(VALUE, HANDLE)
    async with running(pipe):
        stage.close()
    await stage.ended(placement)
    assert "outcome is unknown" in told(stage)
    assert VALUE not in json.dumps(stage.model.requests[-1].json)
    assert not journal_holds(stage, VALUE)


@pytest.mark.clause("MASK-1", "SEC-2", "APR-4")
@pytest.mark.parametrize("unattended", [False, True])
async def test_a_value_written_for_a_tool_that_may_have_it_is_asked_about_as_its_handle_and_used(
    stage: Stage, tmp_path: Path, unattended: bool
) -> None:
    """Watched or parked, approved once, it runs with the value."""
    lend(stage, tmp_path, VALUE, "shell")
    stage.model.script(Reply(calls=[Call("shell", {"command": f"echo {VALUE} > seen.txt"})]), Reply(text="done"))
    placement = await stage.say(unattended=unattended)
    question = await stage.question()
    assert question.arguments["command"] == f"echo {HANDLE} > seen.txt"
    if unattended:
        await stage.until(lambda event: event.kind == "turn_parked")
    await stage.group.settle(question.id, verdict="allowed", by="test", text="")
    assert (await stage.ended(placement)).data["outcome"] == "success"
    assert (stage.workspace / "seen.txt").read_text() == f"{VALUE}\n"
    assert not journal_holds(stage, VALUE)


@pytest.mark.clause("MASK-1", "SEC-2", "APR-4")
@pytest.mark.parametrize("unattended", [False, True])
async def test_a_value_written_for_a_tool_that_may_not_have_it_is_refused_before_anybody_is_asked(
    stage: Stage, tmp_path: Path, unattended: bool
) -> None:
    """At once, with the cause; nobody approves in vain."""
    lend(stage, tmp_path, VALUE, "http")
    stage.model.script(Reply(calls=[Call("shell", {"command": f"grep -c {VALUE} a > n"})]), Reply(text="I see"))
    placement = await stage.say(unattended=unattended)
    await stage.ended(placement)
    events = await call_events(stage, placement.turn)
    assert not {"approval_asked", "turn_parked", "call_started"} & set(events)
    assert events["call_refused"]["rule"] == "lending"
    assert "its settings name: http" in told(stage)


@pytest.mark.clause("MASK-1", "TURN-3")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_value_that_looks_like_a_name_and_its_value_breaks_no_call(
    stage: Stage, tmp_path: Path, provider: str
) -> None:
    """Neither the call, nor what the journal has of it, nor what the model is told of its past."""
    lend(stage, tmp_path, "path:config-prod.txt", "http")
    stage.model_changes = {"provider": provider}
    stage.workspace.mkdir(parents=True)
    (stage.workspace / "config-prod.txt").write_text("hello\n")
    stage.model.script(Reply(calls=[Call("read_file", {"path": "config-prod.txt"})]), Reply(text="read"))
    ended = await stage.ask()
    assert ended.data["outcome"] == "success"
    events = await stage.group.turn_events(ended.turn)
    (written,) = [call for event in events for call in event.data.get("calls", ())]
    assert json.loads(written["arguments"]) == {"path": "config-prod.txt"}
    history = json.dumps(stage.model.requests[-1].json["messages"])
    assert "config-prod.txt" in history
    assert "unreadable_arguments" not in history


@pytest.mark.clause("MASK-1", "TURN-4")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_number_that_equals_a_value_is_its_handle_and_the_model_is_told(
    stage: Stage, tmp_path: Path, provider: str
) -> None:
    """The same in the call that is judged, in the journal and in the model's past; it is JSON everywhere."""
    lend(stage, tmp_path, "4711", "http")
    stage.model_changes = {"provider": provider}
    stage.model.script(Reply(calls=[Call("read_file", {"path": "a", "start_line": 4711})]), Reply(text="I see"))
    ended = await stage.ask()
    events = await call_events(stage, ended.turn)
    assert (events["call_refused"]["rule"], events["call_refused"]["reason"]) == ("arguments", "protocol_violation")
    assert "handle" in events["call_refused"]["result"]
    history = json.dumps(stage.model.requests[-1].json["messages"], ensure_ascii=False)
    assert "unreadable_arguments" not in history
    assert HANDLE in history
    assert not journal_holds(stage, '4711,"')


@pytest.mark.clause("SEC-2", "MASK-1")
async def test_a_question_to_a_person_may_hold_a_secret_that_its_tool_is_not_lent(stage: Stage) -> None:
    """What the model wrote as a value is its handle, and people are shown handles."""
    file = stage.root / "value"
    file.write_text(VALUE)
    file.chmod(0o600)
    stage.secrets = {"db": SecretSettings(ref=f"file:{file}", tools=("http",))}
    stage.model.script(Reply(calls=[Call("ask_person", {"question": f"Is it {VALUE}?"})]), Reply(text="then not"))
    placement = await stage.say()
    question = await stage.question()
    assert question.arguments["question"] == "Is it «secret:db»?"
    await stage.group.settle(question.id, verdict="answered", by="operator", text="no")
    assert (await stage.ended(placement)).data["outcome"] == "success"
