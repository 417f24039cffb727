"""Idempotency keys and replay rules: nothing with effect runs twice (REC-1, REC-6)."""

import asyncio

import pytest

from host.gate.stages import Settled
from host.passport import Decision, Effect, Replay
from host.record.events import CallFinished, CallRefused
from host.stops import Reason
from host.tools.tool import Scope, ToolResult
from lanes.errors import StaleGeneration
from tests.integration.gate.stage import BOUND, GateStage, Words


async def torn(stage: GateStage, **arguments: str) -> None:
    """A call that was started when its host went down."""
    running = asyncio.Event()
    stale = False

    def admit() -> None:
        if stale:
            raise StaleGeneration("chat", 1)

    async def work(_: Words, __: Scope) -> ToolResult:
        running.set()
        await asyncio.Event().wait()
        return ToolResult(text="")

    usual = stage.tools["probe"]
    stage.probe(work, replay=usual.passport.replay, effect=usual.passport.effect)
    task = asyncio.create_task(stage.call(arguments=arguments, admit=admit))
    await asyncio.wait_for(running.wait(), BOUND)
    stale = True
    task.cancel()
    await asyncio.wait({task})
    stage.tools["probe"] = usual
    stage.restart()


@pytest.mark.clause("REC-1")
@pytest.mark.parametrize("replay", [Replay.PURE, Replay.IDEMPOTENT])
async def test_a_started_call_that_may_be_repeated_is_run_again_under_its_key(stage: GateStage, replay: Replay) -> None:
    """Recovery says so in the journal, and the call starts only once."""
    keys: list[str] = []

    async def work(_: Words, scope: Scope) -> ToolResult:
        keys.append(scope.key)
        return ToolResult(text="done")

    stage.probe(work, replay=replay)
    await torn(stage, text="a")
    settled = await stage.call(arguments={"text": "a"}, again="1.0", resumed=True)
    assert (settled.ok, settled.text) == (True, "done")
    assert keys == ["t1:1.0"]
    assert stage.kinds() == ["call_started", "call_repeated", "call_finished"]


@pytest.mark.clause("REC-1")
@pytest.mark.parametrize("resumed", [True, False])
async def test_a_started_call_with_effect_is_not_run_again_and_its_outcome_is_unknown(
    stage: GateStage, resumed: bool
) -> None:
    """The model is told so, and how to find out."""
    probe = stage.probe(effect=Effect.EXECUTE, default=Decision.ALLOW, replay=Replay.EFFECT)
    await torn(stage, text="a")
    settled = await stage.call(arguments={"text": "a"}, again="1.0", resumed=resumed)
    assert (settled.ok, settled.ran, settled.reason) == (False, True, Reason.UNKNOWN)
    assert "unknown" in settled.text
    assert "Find out" in settled.text
    assert probe.given == []
    assert stage.kinds() == ["call_started", "call_finished"]


@pytest.mark.clause("REC-6")
async def test_the_same_key_with_the_same_input_gives_the_recorded_result(stage: GateStage) -> None:
    """A finished call is answered from the record, also after a restart."""
    probe = stage.probe(effect=Effect.WRITE)
    first = await stage.call(arguments={"text": "a"})
    stage.restart()
    again = await stage.call(arguments={"text": "a"}, again="1.0", resumed=True)
    assert (again.ok, again.text) == (first.ok, first.text)
    assert len(probe.given) == 1
    last = stage.events()[-1]
    assert isinstance(last, CallFinished)
    assert last.recorded


@pytest.mark.clause("REC-6")
@pytest.mark.parametrize(("tool", "text"), [("probe", "b"), ("other", "a")])
async def test_the_same_key_with_other_input_is_refused(stage: GateStage, tool: str, text: str) -> None:
    """Other arguments, or the same ones for another tool, are another call; what was done stays on record."""
    probe, other = stage.probe(), stage.probe(name="other")
    await stage.call(arguments={"text": "a"})
    settled = await stage.call(tool, {"text": text}, again="1.0")
    assert (settled.ok, settled.ran, settled.reason) == (False, False, Reason.PROTOCOL_VIOLATION)
    assert (len(probe.given), len(other.given)) == (1, 0)
    row = stage.record.call_of("t1:1.0")
    assert row is not None
    assert (row.state, row.ok) == ("finished", True)


@pytest.mark.clause("REC-6", "TURN-2")
async def test_a_call_that_was_refused_stays_refused_with_its_one_event(stage: GateStage) -> None:
    """Passing it again after a restart adds nothing to the journal."""

    async def refused(**about: object) -> Settled:
        return await stage.call("read_file", {"path": "../x"}, **about)

    first = await refused()
    stage.restart()
    again = await refused(again="1.0", resumed=True)
    assert again.text == first.text
    assert [type(event) for event in stage.events()] == [CallRefused]


@pytest.mark.clause("REC-1", "PATH-2")
@pytest.mark.parametrize("before", ["old", None])
async def test_a_write_whose_end_was_not_recorded_does_not_go_over_a_person_s_work(
    stage: GateStage, before: str | None
) -> None:
    """The host went down after the effect and before its record; the model is told to look."""
    file = stage.workspace / "a"
    if before is not None:
        file.write_text(before)

    def crash(point: str) -> None:
        if point == "call.after_effect":
            raise StaleGeneration("chat", 1)

    stage.fault = crash
    asked = {"path": "a", "content": "new"}
    with pytest.raises(StaleGeneration):
        await stage.call("write_file", asked)
    assert file.read_text() == "new"
    file.write_text("a person's work")
    stage.fault = lambda _point: None
    stage.restart()
    settled = await stage.call("write_file", asked, again="1.0", resumed=True)
    assert (settled.ok, settled.reason) == (False, Reason.TOOL_FAILED)
    assert "Read it again first" in settled.text
    assert file.read_text() == "a person's work"
    assert stage.kinds() == ["call_started", "call_repeated", "call_finished"]
