"""The gate from end to end: what each stage lets through, refuses and writes down."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from typing import Any

import pytest

from host.config.settings import PolicySettings, SecretSettings
from host.errors import AuditFailure, ResourceBusy, ToolFailed
from host.gate.stages import Parked
from host.passport import Decision, Effect
from host.record.events import CallFinished, CallRefused, CallStarted
from host.stops import Reason
from host.tools.tool import Scope, ToolResult
from lanes.errors import StaleGeneration
from tests.integration.gate.stage import GateStage, Words


@pytest.mark.clause("PASS-1", "TURN-2")
async def test_a_call_that_may_run_is_durable_before_and_after(stage: GateStage) -> None:
    """Its start is journaled before the tool runs, its end before anything that comes of it."""
    seen: list[list[str]] = []

    async def work(arguments: Words, _: Scope) -> ToolResult:
        seen.append(stage.kinds())
        return ToolResult(text=f"did {arguments.text}")

    stage.probe(work, effect=Effect.WRITE)
    settled = await stage.call(arguments={"text": "a", "path": "notes"})
    assert seen == [["call_started"]]
    assert stage.kinds() == ["call_started", "call_finished"]
    assert (settled.ok, settled.ran, settled.changed_state, settled.text) == (True, True, True, "did a")
    started, finished = stage.events()
    assert isinstance(started, CallStarted)
    assert isinstance(finished, CallFinished)
    assert (started.arguments, started.target) == ({"text": "a", "path": "notes"}, "a")
    assert (finished.result, finished.target) == ("did a", "a")


REFUSALS: list[tuple[str, dict[str, Any], str, str, Reason]] = [
    ("no_tool", {}, "registry", "unknown-tool", Reason.PROTOCOL_VIOLATION),
    ("read_file", {"path": 1}, "registry", "arguments", Reason.PROTOCOL_VIOLATION),
    ("probe", {"text": "«masked:token»"}, "registry", "mask", Reason.SECRET_MISSING),
    ("denied", {"text": "a"}, "policy", "tool:denied", Reason.POLICY_VIOLATION),
    ("spending", {"text": "a"}, "policy", "class:spend", Reason.POLICY_VIOLATION),
    ("read_file", {"path": "../secrets"}, "paths", "workspace", Reason.PATH_VIOLATION),
    ("read_file", {"path": "/etc/passwd"}, "paths", "workspace", Reason.PATH_VIOLATION),
    ("read_file", {"path": "leak"}, "paths", "workspace", Reason.PATH_VIOLATION),
    ("probe", {"text": "«secret:nobody»"}, "secrets", "secret", Reason.SECRET_MISSING),
    ("probe", {"text": "«secret:gone»"}, "secrets", "secret", Reason.SECRET_MISSING),
    ("probe", {"text": "«secret:others»"}, "secrets", "lending", Reason.POLICY_VIOLATION),
    ("probe", {"text": "«secret:provider»"}, "secrets", "lending", Reason.POLICY_VIOLATION),
]


@pytest.mark.clause("TURN-4", "POL-1", "PATH-1", "SEC-2", "SEC-3", "MASK-1")
@pytest.mark.parametrize(("tool", "arguments", "at", "rule", "reason"), REFUSALS)
async def test_each_stage_refuses_with_its_reason_and_one_event(
    stage: GateStage, tool: str, arguments: dict[str, Any], at: str, rule: str, reason: Reason
) -> None:
    """A refusal runs nothing, is journaled once, and tells the model what and why."""
    (stage.workspace / "leak").symlink_to("/etc/passwd")
    stage.environment.update(PROVIDER="sk-of-the-host-1")
    stage.reserved = ("env:PROVIDER",)
    stage.secrets.update(
        gone=SecretSettings(ref="env:GONE", tools=("probe",)),
        others=SecretSettings(ref="env:PROVIDER", tools=("other",)),
        provider=SecretSettings(ref="env:PROVIDER", tools=("probe",)),
    )
    choices = {"denied": Decision.DENY, "spend": Decision.DENY, "spending": Decision.ALLOW}
    stage.policy = PolicySettings(choices=choices)
    probes = [stage.probe(), stage.probe(name="denied"), stage.probe(name="spending", effect=Effect.SPEND)]
    settled = await stage.call(tool, arguments)
    assert (settled.ok, settled.ran, settled.reason) == (False, False, reason)
    assert settled.misasked is (at == "registry")
    (refused,) = stage.events()
    assert isinstance(refused, CallRefused)
    assert (refused.stage, refused.rule, refused.reason) == (at, rule, reason)
    assert refused.result == settled.text
    assert settled.text
    assert not any(probe.given for probe in probes)


@pytest.mark.clause("POL-3")
async def test_a_call_for_nobody_known_is_refused_even_if_it_only_reads(stage: GateStage) -> None:
    """Fail closed where it is not known for whom the call is made."""
    stage.probe()
    settled = await stage.call(principal="")
    assert (settled.reason, settled.ran) == (Reason.POLICY_VIOLATION, False)


async def _busy(_: Words, __: Scope) -> ToolResult:
    message = "somebody else has it; try later"
    raise ResourceBusy(message)


async def _bug(_: Words, __: Scope) -> ToolResult:
    message = "no such index"
    raise IndexError(message)


async def _own_timeout(_: Words, __: Scope) -> ToolResult:
    raise TimeoutError


async def _for_ever(_: Words, __: Scope) -> ToolResult:
    await asyncio.Event().wait()
    return ToolResult(text="")


async def _nothing(_: Words, __: Scope) -> ToolResult:
    return ToolResult(text=" \n")


async def _not_ok(_: Words, __: Scope) -> ToolResult:
    return ToolResult(text="exit 3", ok=False, reason=Reason.TOOL_FAILED, detail="exit 3")


@pytest.mark.clause("REPLY-4", "REC-1")
@pytest.mark.parametrize(
    ("work", "reason", "said"),
    [
        (_busy, Reason.RESOURCE_BUSY, "somebody else has it"),
        (_bug, Reason.UNKNOWN, "IndexError: no such index"),
        (_own_timeout, Reason.UNKNOWN, "TimeoutError"),
        (_for_ever, Reason.TIMED_OUT, "ended after 0.05 seconds"),
        (_nothing, Reason.SILENT_FAILURE, "gave nothing"),
        (_not_ok, Reason.TOOL_FAILED, "exit 3"),
    ],
)
async def test_each_way_to_fail_is_a_result_with_its_reason(
    stage: GateStage, work: Callable[..., Any], reason: Reason, said: str
) -> None:
    """An error, a bug, a time-out and an empty success end the call, not the turn."""
    stage.probe(work, timeout_seconds=0.05)
    settled = await stage.call()
    assert (settled.ok, settled.ran, settled.reason) == (False, True, reason)
    assert said in settled.text
    finished = stage.events()[-1]
    assert isinstance(finished, CallFinished)
    assert (finished.ok, finished.reason) == (False, reason)
    assert not settled.changed_state


@pytest.mark.clause("REPLY-4")
async def test_an_empty_result_is_a_success_where_nothing_was_promised(stage: GateStage) -> None:
    """Only a passport that promises content makes emptiness a failure."""
    stage.probe(_nothing, promises_content=False)
    assert (await stage.call()).ok


@pytest.mark.clause("MASK-1")
async def test_a_bug_is_logged_without_the_secret_it_quotes(stage: GateStage, caplog: pytest.LogCaptureFixture) -> None:
    """The log tells what went wrong, with the handle where the value stood."""

    async def work(arguments: Words, _: Scope) -> ToolResult:
        raise ValueError(arguments.text)

    stage.environment["KEY"] = "s3cr3t-Value-42"
    stage.secrets["api"] = SecretSettings(ref="env:KEY", tools=("probe",))
    stage.probe(work)
    with caplog.at_level(logging.ERROR):
        settled = await stage.call(arguments={"text": "«secret:api»"})
    assert "ValueError: «secret:api»" in settled.text
    assert "ValueError: «secret:api»" in caplog.text
    assert "s3cr3t" not in caplog.text + settled.text


async def test_a_file_name_that_is_no_utf_8_does_not_end_the_turn_that_lists_it(stage: GateStage) -> None:
    """The model, the journal and the next call have it in the shown form."""
    (stage.workspace / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    listed = await stage.call("list_files")
    assert listed.text == "/workspace: 2 entries:\n.elis/\ncaf\\xe9.txt 4"
    read = await stage.call("read_file", {"path": "caf\\xe9.txt"})
    assert (read.ok, read.text) == (True, "caf\\xe9.txt, 1 line:\ntext")
    assert [event.result for event in stage.events() if isinstance(event, CallFinished)] == [listed.text, read.text]


@pytest.mark.clause("TURN-2")
@pytest.mark.parametrize("error", [None, ToolFailed("caf\udce9 \ud800"), ValueError("caf\udce9 \ud800")])
async def test_whatever_a_tool_gives_back_can_be_journaled(stage: GateStage, error: Exception | None) -> None:
    """As a result, a failure or a bug; the model is told what stands in the journal."""

    async def work(_: Words, __: Scope) -> ToolResult:
        if error is not None:
            raise error
        return ToolResult(text="caf\udce9 \ud800", ok=False, reason=Reason.TOOL_FAILED, detail="caf\udce9 \ud800")

    stage.probe(work)
    settled = await stage.call()
    assert "caf\\xe9 \\ud800" in settled.text
    finished = stage.events()[-1]
    assert isinstance(finished, CallFinished)
    assert finished.result == settled.text
    assert "caf\\xe9 \\ud800" in finished.detail


@pytest.mark.clause("TURN-2")
async def test_a_refusal_can_be_journaled_whatever_was_asked_for(stage: GateStage) -> None:
    """Also the name of a tool that there is not."""
    settled = await stage.call("caf\udce9", again="1.0")
    (refused,) = stage.events()
    assert isinstance(refused, CallRefused)
    assert (refused.tool, refused.result) == ("caf\\xe9", settled.text)


@pytest.mark.clause("STOP-2", "REC-1")
async def test_a_call_that_is_cancelled_while_it_runs_is_recorded_as_interrupted(stage: GateStage) -> None:
    """Cancellation goes through untouched, and the journal says that the call was broken off."""
    running = asyncio.Event()

    async def work(_: Words, __: Scope) -> ToolResult:
        running.set()
        return await _for_ever(_, __)

    stage.probe(work)
    task = asyncio.create_task(stage.call())
    await asyncio.wait_for(running.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await stage.record.commit(lambda _: None)  # what was posted before is durable now
    finished = stage.events()[-1]
    assert isinstance(finished, CallFinished)
    assert (finished.ok, finished.reason) == (False, Reason.INTERRUPTED)


@pytest.mark.clause("STOP-2", "LANE-4")
async def test_a_lane_that_was_given_up_writes_nothing_more(stage: GateStage) -> None:
    """A stale lane's call keeps only its start, for whoever resumes the turn."""
    stale = False

    def admit() -> None:
        if stale:
            raise StaleGeneration("chat", 1)

    async def work(_: Words, __: Scope) -> ToolResult:
        nonlocal stale
        stale = True
        return ToolResult(text="done")

    stage.probe(work)
    with contextlib.suppress(StaleGeneration):
        await stage.call(admit=admit)
    await stage.record.commit(lambda _: None)  # what was posted before is durable now
    assert stage.kinds() == ["call_started"]


@pytest.mark.clause("TURN-2")
async def test_a_journal_that_cannot_be_written_ends_more_than_the_call(stage: GateStage) -> None:
    """AuditFailure from inside a tool's question is the turn's, not a result for the model."""

    async def work(_: Words, scope: Scope) -> ToolResult:
        stage.record.close()
        return ToolResult(text=await scope.ask("what now?"))

    stage.probe(work)
    with pytest.raises(AuditFailure):
        await stage.call()


@pytest.mark.clause("SEC-2", "JRN-4")
async def test_a_tool_gets_the_value_and_everybody_else_the_handle(stage: GateStage) -> None:
    """The handle is found anywhere in a string; result and journal hold it again, in any encoding."""
    stage.environment["KEY"] = "s3cr3t-Value/42+x=="
    stage.secrets["api"] = SecretSettings(ref="env:KEY", tools=("probe",))

    async def work(arguments: Words, _: Scope) -> ToolResult:
        return ToolResult(text=f"sent {arguments.text}, hex {arguments.text.encode().hex()}")

    probe = stage.probe(work)
    settled = await stage.call(arguments={"text": "Bearer «secret:api»!"})
    assert probe.given == [Words(text="Bearer s3cr3t-Value/42+x==!")]
    assert settled.text.startswith("sent Bearer «secret:api»!, hex ")
    written = repr(stage.events()) + (stage.root / "journal.db").read_bytes().decode("latin-1")
    assert "s3cr3t" not in written
    assert b"s3cr3t".hex() not in written
    assert "«secret:api»" in repr(stage.events()[0])


@pytest.mark.clause("SEC-2")
async def test_a_secret_that_is_missing_names_reference_and_cause_and_what_there_is(stage: GateStage) -> None:
    """The call does not run, and the model can say what is wrong."""
    stage.secrets["api"] = SecretSettings(ref="env:KEY", tools=("probe",))
    stage.probe()
    gone = await stage.call(arguments={"text": "«secret:api»"})
    unknown = await stage.call(arguments={"text": "«secret:github»"})
    assert "env:KEY" in gone.text
    assert "not set" in gone.text
    assert "«secret:api»" in unknown.text


@pytest.mark.clause("SEC-2", "SEC-3")
async def test_a_value_of_the_host_under_another_name_is_not_lent(stage: GateStage) -> None:
    """Neither the same value behind another reference, nor the host's own files."""
    own = stage.root / "token"
    own.write_text("host-token-1")
    own.chmod(0o600)
    (stage.root / "copy").symlink_to(own)
    stage.environment.update(PROVIDER="sk-of-the-host-1", COPY="sk-of-the-host-1")
    stage.reserved = ("env:PROVIDER",)
    for name, reference in (("copied", "env:COPY"), ("token", "file:token"), ("linked", "file:copy")):
        stage.secrets[name] = SecretSettings(ref=reference, tools=("probe",))
    probe = stage.probe()
    for name in ("copied", "token", "linked"):
        settled = await stage.call(arguments={"text": f"«secret:{name}»"})
        assert settled.reason is Reason.POLICY_VIOLATION, name
        assert "host's own" in settled.text
    assert probe.given == []


@pytest.mark.clause("APR-4", "POL-2")
async def test_an_unattended_question_parks_at_once_or_is_denied_at_once(stage: GateStage) -> None:
    """It never waits, and is never taken as consent."""
    probe = stage.probe(default=Decision.ASK)
    with pytest.raises(Parked) as parked:
        await stage.call(unattended=True)
    (question,) = stage.record.waiting_questions()
    assert (question.id, question.timeout_seconds, question.expires_at) == (parked.value.approval, -1, "")
    stage.policy = PolicySettings(unattended="deny")
    stage.restart()
    settled = await stage.call(unattended=True)
    assert settled.reason is Reason.POLICY_VIOLATION
    assert "nobody watches" in settled.text
    assert probe.given == []
