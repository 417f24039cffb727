"""Questions to people: one answer each, across threads, time-outs, stops and restarts."""

import asyncio
import threading
from collections.abc import Callable
from datetime import datetime

import pytest

from host.errors import ProtocolViolation
from host.gate.desk import Settled as Answered
from host.gate.stages import Parked, Settled
from host.passport import Decision, Effect
from host.record.events import ApprovalAsked, ApprovalReopened, ApprovalSettled, CallRefused
from host.stops import Reason
from lanes.errors import StaleGeneration
from tests.integration.gate.stage import BOUND, GateStage, Probe


def asking(stage: GateStage, name: str = "probe") -> Probe:
    """A probe that is asked about."""
    return stage.probe(name=name, default=Decision.ASK, effect=Effect.SEND)


async def answered(stage: GateStage, task: "asyncio.Task[Settled]", verdict: str, text: str = "") -> Settled:
    """Answer the question that waits and return what became of the call."""
    question = await stage.question()
    await stage.desk.settle(question.id, verdict=verdict, by="operator", text=text)
    return await asyncio.wait_for(task, BOUND)


@pytest.mark.clause("APR-1", "TURN-2")
async def test_a_question_shows_what_is_asked_and_is_durable_before_anybody_is_asked(stage: GateStage) -> None:
    """Who, which tool, exact arguments, what may happen, what the model was doing; then the call runs."""
    probe = asking(stage)
    task = asyncio.create_task(stage.call(arguments={"text": "a  letter"}))
    question = await stage.question()
    (asked,) = stage.events()
    assert isinstance(asked, ApprovalAsked)
    assert (asked.approval, asked.tool, asked.arguments) == (question.id, "probe", {"text": "a  letter", "path": ""})
    assert (asked.effect, asked.question, asked.scopes) == (Effect.SEND, "approval", ("once", "kind"))
    assert asked.what_may_happen
    assert asked.doing == "I look."
    assert datetime.fromisoformat(asked.expires_at).timestamp() == stage.now_us[0] / 1e6 + BOUND
    assert probe.given == []
    assert stage.clock.paused
    settled = await answered(stage, task, "allowed")
    assert settled.ok
    assert (stage.clock.paused, stage.clock.pauses) == (False, 1)
    assert stage.kinds() == ["approval_asked", "approval_settled", "call_started", "call_finished"]


@pytest.mark.clause("APR-2")
async def test_a_refusal_carries_its_reason_to_the_model(stage: GateStage) -> None:
    """The model hears what the person said, and the call does not run."""
    probe = asking(stage)
    settled = await answered(stage, asyncio.create_task(stage.call()), "denied", "not on a Sunday")
    assert (settled.reason, settled.ran) == (Reason.POLICY_VIOLATION, False)
    assert "not on a Sunday" in settled.text
    assert probe.given == []


@pytest.mark.clause("APR-2")
async def test_nobody_answering_is_no_refusal(stage: GateStage) -> None:
    """A time-out has its own verdict, reason and words."""
    stage.timeout_seconds = 0.05
    asking(stage)
    settled = await stage.call()
    assert settled.reason is Reason.APPROVAL_TIMEOUT
    assert "Nobody answered" in settled.text
    assert [event.verdict for event in stage.events() if isinstance(event, ApprovalSettled)] == ["timed_out"]


@pytest.mark.clause("APR-2")
@pytest.mark.parametrize("verdict", ["denied", "timed_out"])
async def test_the_same_intent_gets_the_same_answer_without_a_new_question(stage: GateStage, verdict: str) -> None:
    """By any tool of the same effect on the same target, however it is written; other targets are asked about."""
    stage.timeout_seconds = 0.05 if verdict == "timed_out" else BOUND
    asking(stage)
    other = asking(stage, "other")
    task = asyncio.create_task(stage.call(arguments={"text": "git push"}))
    first = await (answered(stage, task, verdict) if verdict == "denied" else task)
    again = await stage.call("other", {"text": "git  push ", "path": "x"})
    assert (again.reason, again.ran) == (first.reason, False)
    assert "asked about before" in again.text
    assert stage.kinds().count("approval_asked") == 1
    assert isinstance(stage.events()[-1], CallRefused)
    stage.timeout_seconds = BOUND
    task = asyncio.create_task(stage.call("other", {"text": "git fetch"}))
    if verdict == "denied":
        assert (await answered(stage, task, "allowed")).ok
        assert len(other.given) == 1
    else:
        await task
        assert stage.kinds().count("approval_asked") == 2


@pytest.mark.clause("APR-3")
async def test_of_two_answers_at_once_the_first_wins_and_the_other_is_told(stage: GateStage) -> None:
    """Two threads answer; one verdict is journaled, and both learn which one counts."""
    asking(stage)
    task = asyncio.create_task(stage.call())
    question = await stage.question()
    barrier = threading.Barrier(2)
    answers: list[Answered] = []

    def answer(verdict: str) -> None:
        barrier.wait(BOUND)
        answers.append(asyncio.run(stage.desk.settle(question.id, verdict=verdict, by=f"thread {verdict}")))

    threads = [threading.Thread(target=answer, args=(verdict,)) for verdict in ("allowed", "denied")]
    for thread in threads:
        thread.start()
    settled = await asyncio.wait_for(task, BOUND)
    for thread in threads:
        await asyncio.to_thread(thread.join, BOUND)
    (counts,) = [event for event in stage.events() if isinstance(event, ApprovalSettled)]
    assert sorted(answer.settled for answer in answers) == [False, True]
    assert {answer.verdict for answer in answers} == {counts.verdict}
    assert {answer.by for answer in answers} == {f"thread {counts.verdict}"}
    assert settled.ok is (counts.verdict == "allowed")


@pytest.mark.clause("APR-3")
async def test_an_answer_whose_giver_hangs_up_still_reaches_the_call(stage: GateStage) -> None:
    """The waiting call is told by the journal's writer, not by the client that answered."""
    asking(stage)
    task = asyncio.create_task(stage.call())
    question = await stage.question()
    giving = asyncio.create_task(stage.desk.settle(question.id, verdict="allowed", by="operator"))
    await asyncio.wait({giving}, timeout=0)
    giving.cancel()
    assert (await asyncio.wait_for(task, BOUND)).ok


@pytest.mark.clause("APR-3")
async def test_an_answer_of_the_wrong_kind_is_refused_and_the_question_waits_on(stage: GateStage) -> None:
    """Words are no permission."""
    asking(stage)
    task = asyncio.create_task(stage.call())
    question = await stage.question()
    with pytest.raises(ProtocolViolation, match="allowed or denied"):
        await stage.desk.settle(question.id, verdict="answered", by="operator", text="yes")
    assert (await answered(stage, task, "allowed")).ok


@pytest.mark.clause("APR-3", "STOP-2")
async def test_a_stop_withdraws_the_question(stage: GateStage) -> None:
    """A cancelled wait leaves nothing behind to be answered; a later answer changes nothing."""
    probe = asking(stage)
    task = asyncio.create_task(stage.call())
    question = await stage.question()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    late = await stage.desk.settle(question.id, verdict="allowed", by="operator")
    assert (late.settled, late.verdict) == (False, "withdrawn")
    assert stage.record.waiting_questions() == []
    assert probe.given == []


@pytest.mark.clause("STOP-2", "APR-3")
async def test_a_lane_that_was_given_up_withdraws_nothing(stage: GateStage) -> None:
    """The turn of a host that closes is resumed, and its question with it."""
    asking(stage)
    stale = False

    def admit() -> None:
        if stale:
            raise StaleGeneration("chat", 1)

    task = asyncio.create_task(stage.call(admit=admit))
    question = await stage.question()
    stale = True
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await stage.record.commit(lambda _: None)  # what was posted before is durable now
    assert [row.id for row in stage.record.waiting_questions()] == [question.id]


@pytest.mark.clause("STOP-1")
async def test_withdrawing_a_turn_s_questions_tells_who_waits(stage: GateStage) -> None:
    """A question of a stopped turn ends as withdrawn, from any thread, and the call is refused as interrupted."""
    asking(stage)
    task = asyncio.create_task(stage.call())
    await stage.question()
    await asyncio.to_thread(stage.desk.withdraw_turn, "t1")
    settled = await asyncio.wait_for(task, BOUND)
    assert (settled.reason, settled.ran) == (Reason.INTERRUPTED, False)


@pytest.mark.clause("APR-3", "APR-4", "REC-1")
async def test_a_question_survives_a_restart_with_the_time_it_had_left(stage: GateStage) -> None:
    """The clock stands still while the host is down; the resumed call takes the same question up and runs once."""
    stage.timeout_seconds = 300.0
    probe = asking(stage)
    task = asyncio.create_task(stage.call(admit=_gone_after_asking(stage)))
    question = await stage.question()
    task.cancel()
    await asyncio.wait({task})
    stage.now_us[0] += 100_000_000
    stage.record.post(ApprovalReopened(turn="t1", approval=question.id, expires_at=question.expires_at)).result()
    stage.now_us[0] += 86_400_000_000  # a day later
    stage.restart()
    (reopened,) = stage.record.waiting_questions()
    left = datetime.fromisoformat(reopened.expires_at).timestamp() - stage.now_us[0] / 1e6
    assert reopened.id == question.id
    assert left == pytest.approx(200, abs=0.01)
    task = asyncio.create_task(stage.call(again="1.0", resumed=True))
    assert (await answered(stage, task, "allowed")).ok
    assert len(probe.given) == 1
    assert stage.kinds().count("approval_asked") == 1


@pytest.mark.clause("APR-3", "REC-1")
async def test_an_answer_given_before_the_restart_holds_after_it(stage: GateStage) -> None:
    """A call whose question was settled when the host went down is not asked about again."""
    probe = asking(stage)
    task = asyncio.create_task(stage.call(admit=_gone_after_asking(stage)))
    question = await stage.question()
    task.cancel()
    await asyncio.wait({task})
    await stage.desk.settle(question.id, verdict="allowed", by="operator")
    stage.restart()
    assert (await stage.call(again="1.0", resumed=True)).ok
    assert len(probe.given) == 1


@pytest.mark.clause("APR-4")
async def test_a_parked_call_waits_without_end_and_goes_on_with_its_answer(stage: GateStage) -> None:
    """Taken up before its answer it parks again on the same question; with the answer it runs."""
    probe = asking(stage)
    with pytest.raises(Parked) as parked:
        await stage.call(unattended=True)
    stage.now_us[0] += 10**12
    stage.restart()
    with pytest.raises(Parked) as again:
        await stage.call(again="1.0", unattended=True, resumed=True)
    assert again.value.approval == parked.value.approval
    await stage.desk.settle(parked.value.approval, verdict="allowed", by="operator")
    assert (await stage.call(again="1.0", unattended=True, resumed=True)).ok
    assert len(probe.given) == 1
    assert stage.kinds().count("approval_asked") == 1


@pytest.mark.clause("APR-3", "BUD-1")
async def test_a_person_s_words_are_the_result_of_asking_and_the_wait_is_free(stage: GateStage) -> None:
    """`ask_person` waits over the desk; the turn's clock and the call's seconds stand still meanwhile."""
    task = asyncio.create_task(stage.call("ask_person", {"question": "Red or blue?"}))
    question = await stage.question()
    assert question.question == "answer"
    assert stage.clock.paused
    settled = await answered(stage, task, "answered", "blue")
    assert (settled.ok, settled.text) == (True, "blue")
    assert not stage.clock.paused


@pytest.mark.clause("APR-2")
@pytest.mark.parametrize(
    ("verdict", "reason", "said"),
    [
        ("denied", Reason.POLICY_VIOLATION, "declined to answer. They said: none of your business"),
        ("timed_out", Reason.APPROVAL_TIMEOUT, "Nobody answered"),
    ],
)
async def test_a_question_without_words_for_an_answer_says_which_it_was(
    stage: GateStage, verdict: str, reason: Reason, said: str
) -> None:
    """Declining and not answering are told apart."""
    stage.timeout_seconds = 0.05 if verdict == "timed_out" else BOUND
    task = asyncio.create_task(stage.call("ask_person", {"question": "How old are you?"}))
    settled = await (answered(stage, task, verdict, "none of your business") if verdict == "denied" else task)
    assert (settled.ok, settled.reason) == (False, reason)
    assert said in settled.text


@pytest.mark.clause("APR-4", "REC-1")
async def test_an_unattended_question_for_words_parks_and_its_answer_arrives(stage: GateStage) -> None:
    """The repeated run finds the question it asked before."""
    with pytest.raises(Parked) as parked:
        await stage.call("ask_person", {"question": "Red or blue?"}, unattended=True)
    await stage.desk.settle(parked.value.approval, verdict="answered", by="operator", text="red")
    stage.restart()
    settled = await stage.call("ask_person", {"question": "Red or blue?"}, again="1.0", unattended=True, resumed=True)
    assert (settled.ok, settled.text) == (True, "red")
    assert stage.kinds().count("approval_asked") == 1


def _gone_after_asking(stage: GateStage) -> Callable[[], None]:
    """An `admit` of a lane that is given up once its question is asked."""

    def admit() -> None:
        if stage.record.waiting_questions():
            raise StaleGeneration("chat", 1)

    return admit
