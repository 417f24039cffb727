"""Runs on a lane: how they start, end, are cancelled, and what whoever waits for them is told."""

import asyncio
import functools
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator

import pytest

from lanes.errors import CalledFromInside, LaneClosed, RunAborted, RunCancelled, StaleGeneration
from lanes.lane import Lane, Run, Token

BOUND_SECONDS = 20.0


@pytest.fixture
def lane() -> Iterator[Lane]:
    """A lane that is closed afterwards."""
    lane = Lane("chat")
    yield lane
    assert lane.close(BOUND_SECONDS)


@pytest.fixture
def block(lane: Lane) -> Iterator[Callable[[], threading.Event]]:
    """Block the lane's loop in C until the returned event is set; all are set at the end."""
    releases: list[threading.Event] = []

    def block_now() -> threading.Event:
        blocked, release = threading.Event(), threading.Event()
        releases.append(release)

        def hold() -> None:
            blocked.set()
            release.wait(BOUND_SECONDS)

        lane.call_soon(hold)
        assert blocked.wait(BOUND_SECONDS)
        return release

    yield block_now
    for release in releases:
        release.set()


def failure(run: Run) -> BaseException | None:
    """How the run ended."""
    return run.done.exception(BOUND_SECONDS)


async def for_ever(_token: Token) -> None:
    """Wait until cancelled."""
    await asyncio.get_running_loop().create_future()


def test_a_run_has_the_lanes_own_daemon_thread_named_after_lane_and_generation(lane: Lane) -> None:
    """People who look at the process see which thread is which."""
    seen: list[threading.Thread] = []

    async def look(token: Token) -> None:
        token.check()
        seen.append(threading.current_thread())

    run = lane.start(look, "look")
    assert failure(run) is None
    assert (run.token.lane, run.token.generation) == ("chat", 1)
    assert lane.replace() == 2
    assert failure(lane.start(look, "look")) is None
    assert [thread.name for thread in seen] == ["lane-chat-1", "lane-chat-2"]
    assert all(thread.daemon for thread in seen)


def test_the_exception_of_a_run_reaches_whoever_waits_for_it(lane: Lane) -> None:
    """Nothing is swallowed, and the lane goes on."""

    async def fail(_token: Token) -> None:
        message = "this and nothing else"
        raise ValueError(message)

    error = failure(lane.start(fail, "fail"))
    assert isinstance(error, ValueError)
    assert str(error) == "this and nothing else"


@pytest.mark.parametrize("deadly", [SystemExit, KeyboardInterrupt])
def test_work_that_tries_to_end_the_interpreter_ends_only_its_run(lane: Lane, deadly: type[BaseException]) -> None:
    """The lane goes on, and the waiter gets an ordinary exception with the cause."""

    async def leave(_token: Token) -> None:
        raise deadly

    def leave_the_loop() -> None:
        raise deadly

    error = failure(lane.start(leave, "leave"))
    assert isinstance(error, RunAborted)
    assert isinstance(error.__cause__, deadly)
    lane.call_soon(leave_the_loop)
    bystander = lane.start(for_ever, "bystander")
    bystander.cancel()
    assert isinstance(failure(bystander), RunCancelled)
    assert lane.generation == 1


def test_several_runs_of_one_lane_go_on_at_once(lane: Lane) -> None:
    """Each waits for all others to have begun, so in series they would never end."""
    begun = 0
    all_begun = asyncio.Event()

    async def meet(_token: Token) -> None:
        nonlocal begun
        begun += 1
        if begun == 5:
            all_begun.set()
        await all_begun.wait()

    runs = [lane.start(meet, f"run {number}") for number in range(5)]
    assert [failure(run) for run in runs] == [None] * 5
    assert lane.runs == ()


@pytest.mark.clause("STOP-2")
def test_cancel_ends_a_run_that_waits_and_lets_it_clean_up(lane: Lane) -> None:
    """The coroutine sees the cancellation where it waits."""
    begun, cleaned = threading.Event(), threading.Event()

    async def wait(token: Token) -> None:
        begun.set()
        try:
            await for_ever(token)
        finally:
            cleaned.set()

    run = lane.start(wait, "wait")
    assert begun.wait(BOUND_SECONDS)
    run.cancel()
    error = failure(run)
    assert isinstance(error, RunCancelled)
    assert error.started
    assert cleaned.is_set()


@pytest.mark.clause("STOP-2")
def test_a_cancel_before_the_coroutine_began_is_not_lost(lane: Lane, block: Callable[[], threading.Event]) -> None:
    """Start and Stop come while the loop is blocked: the work never begins."""
    called: list[Token] = []

    async def work(token: Token) -> None:
        called.append(token)

    release = block()
    run = lane.start(work, "work")
    assert not run.done.done()
    run.cancel()
    release.set()
    error = failure(run)
    assert isinstance(error, RunCancelled)
    assert not error.started
    assert not run.started
    assert called == []


def test_a_run_started_while_the_loop_is_blocked_begins_when_it_turns_again(
    lane: Lane, block: Callable[[], threading.Event]
) -> None:
    """`start` does not wait for the loop."""

    async def nothing(_token: Token) -> None:
        pass

    release = block()
    run = lane.start(nothing, "nothing")
    assert lane.runs == (run,)
    assert not run.started
    release.set()
    assert failure(run) is None


def test_a_waiter_that_gives_up_does_not_cancel_the_run(lane: Lane) -> None:
    """`done` belongs to the lane alone."""
    go_on = asyncio.Event()

    async def wait(_token: Token) -> None:
        await go_on.wait()

    run = lane.start(wait, "wait")

    async def give_up() -> None:
        await asyncio.wait_for(asyncio.wrap_future(run.done), 0)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert not run.done.cancel()
    lane.call_soon(go_on.set)
    assert failure(run) is None


@pytest.mark.clause("STOP-2")
def test_replacing_a_lane_makes_every_run_and_token_stale_at_once(lane: Lane) -> None:
    """Seen from the earliest moment that anybody hears of the replacement."""
    heard: list[str] = []

    def hear(run: Run, _done: object) -> None:
        with pytest.raises(StaleGeneration) as refusal:
            run.token.check()
        heard.append(f"{refusal.value.lane} {refusal.value.generation}")

    cleaned = threading.Semaphore(0)

    async def wait(token: Token) -> None:
        try:
            await for_ever(token)
        finally:
            cleaned.release()

    runs = [lane.start(wait, f"run {number}") for number in range(3)]
    settled = lane.start(settle_at_once, "so that the others have begun")
    assert failure(settled) is None
    for run in runs:
        run.token.check()
        run.done.add_done_callback(functools.partial(hear, run))
    assert lane.replace() == 2
    assert [type(failure(run)) for run in runs] == [StaleGeneration] * 3
    assert heard == ["chat 1"] * 3
    assert all(cleaned.acquire(timeout=BOUND_SECONDS) for _ in runs)
    with pytest.raises(StaleGeneration):
        settled.token.check()


async def settle_at_once(token: Token) -> None:
    """End at once."""
    token.check()


@pytest.mark.clause("STOP-2")
def test_work_that_had_not_begun_when_its_lane_was_replaced_never_begins(
    lane: Lane, block: Callable[[], threading.Event]
) -> None:
    """Its waiter is told at once, and nothing happens later."""
    called: list[Token] = []

    async def work(token: Token) -> None:
        called.append(token)

    release = block()
    thread = next(thread for thread in threading.enumerate() if thread.name == "lane-chat-1")
    run = lane.start(work, "work")
    lane.replace()
    assert isinstance(failure(run), StaleGeneration)
    release.set()
    thread.join(BOUND_SECONDS)
    assert not thread.is_alive()
    assert called == []


def test_two_stops_at_a_time_replace_a_lane_once(lane: Lane) -> None:
    """Each names the generation that it wants gone."""
    start = threading.Barrier(8)
    answers: list[int] = []

    def stop() -> None:
        start.wait(BOUND_SECONDS)
        answers.append(lane.replace(1))

    threads = [threading.Thread(target=stop) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_SECONDS)
    assert answers == [2] * 8
    assert lane.generation == 2


def test_a_replacement_is_told_with_the_new_generation() -> None:
    """So that it can be journaled."""
    told: list[tuple[str, int]] = []
    lane = Lane("browser", generation=7, on_replaced=lambda name, generation: told.append((name, generation)))
    lane.replace()
    assert told == [("browser", 8)]
    assert lane.close(BOUND_SECONDS)


def test_a_lane_is_not_replaced_or_closed_from_its_own_thread(lane: Lane) -> None:
    """It would interrupt, or wait for, itself."""

    async def saw_off_the_branch(_token: Token) -> None:
        with pytest.raises(CalledFromInside):
            lane.replace()
        with pytest.raises(CalledFromInside):
            lane.close(0)

    assert failure(lane.start(saw_off_the_branch, "saw")) is None
    assert lane.generation == 1


def test_closing_cancels_the_runs_and_lets_them_record_their_end() -> None:
    """Tokens stay good until the thread has ended; then nothing more is taken."""
    lane = Lane("chat")
    recorded: list[str] = []

    async def wait(token: Token) -> None:
        try:
            await for_ever(token)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            token.check()
            recorded.append("end")
            raise

    runs = [lane.start(wait, "one"), lane.start(wait, "two")]
    assert failure(lane.start(settle_at_once, "so that the others have begun")) is None
    assert lane.close(BOUND_SECONDS)
    assert [type(failure(run)) for run in runs] == [RunCancelled] * 2
    assert recorded == ["end", "end"]
    assert lane.close(BOUND_SECONDS)
    with pytest.raises(LaneClosed):
        lane.start(wait, "three")
    with pytest.raises(LaneClosed):
        lane.call_soon(lambda: None)
    with pytest.raises(LaneClosed):
        lane.replace()


def test_closing_a_blocked_lane_says_that_its_thread_did_not_end(
    lane: Lane, block: Callable[[], threading.Event]
) -> None:
    """It is abandoned then, and whoever waits for its runs is told."""
    block()
    run = lane.start(for_ever, "never begins")
    assert not lane.close(0)
    assert isinstance(failure(run), StaleGeneration)
    with pytest.raises(StaleGeneration):
        run.token.check()
    assert not lane.close(0)


def test_a_process_with_busy_blocked_and_waiting_lanes_exits() -> None:
    """No lane keeps the interpreter from ending, abandoned or not."""
    program = """
        import asyncio, threading, time
        from lanes.lane import Lane

        async def busy(token):
            begun.release()
            while True:
                pass

        async def blocked(token):
            begun.release()
            time.sleep(3600)

        async def waiting(token):
            begun.release()
            await asyncio.sleep(3600)

        begun = threading.Semaphore(0)
        for work in (busy, blocked, waiting):
            for abandoned in (True, False):
                lane = Lane(work.__name__)
                lane.start(work, "work")
                begun.acquire()
                if abandoned:
                    lane.replace()
        print("end of the program")
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "end of the program\n", "")
