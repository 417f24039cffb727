"""What becomes of a lane's thread that does not let go: it is replaced at once, and got rid of (STOP-2)."""

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from lanes.errors import StaleGeneration
from lanes.lane import Lane, Token

BOUND_SECONDS = 20.0
Work = Callable[[Token], Coroutine[Any, Any, None]]


def abandon(lane: Lane, make: Callable[[threading.Event], Work]) -> threading.Thread:
    """Start work, wait until it has set its event, replace the lane, and return the abandoned thread."""
    begun = threading.Event()
    run = lane.start(make(begun), "work")
    name = f"lane-{lane.name}-{lane.generation}"
    assert begun.wait(BOUND_SECONDS)
    thread = next(thread for thread in threading.enumerate() if thread.name == name)
    generation = lane.replace()
    assert isinstance(run.done.exception(0), StaleGeneration)
    with pytest.raises(StaleGeneration):
        run.token.check()
    assert generation == run.token.generation + 1
    return thread


def busy(begun: threading.Event) -> Work:
    """A loop in Python that never ends."""

    async def work(_token: Token) -> None:
        begun.set()
        while True:
            pass

    return work


def stubborn(begun: threading.Event) -> Work:
    """A loop that catches whatever comes, three times."""

    async def work(_token: Token) -> None:
        caught = 0
        while caught < 3:
            try:
                begun.set()
                while True:
                    pass
            except BaseException:  # noqa: BLE001 — that is the badness under test
                caught += 1

    return work


def asleep(begun: threading.Event) -> Work:
    """A call that blocks the loop for half a second, which nothing can interrupt."""

    async def work(_token: Token) -> None:
        begun.set()
        time.sleep(0.5)  # noqa: ASYNC251 — the blocked loop is what is tested
        await asyncio.get_running_loop().create_future()

    return work


def deaf(begun: threading.Event) -> Work:
    """A coroutine that takes no notice of being cancelled."""

    async def work(_token: Token) -> None:
        begun.set()
        while True:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                continue

    return work


@pytest.mark.clause("STOP-2")
@pytest.mark.parametrize("make", [busy, stubborn, asleep, deaf])
def test_a_lane_that_does_not_let_go_is_replaced_and_works_on(make: Callable[[threading.Event], Work]) -> None:
    """The new generation works while the old thread may still be there; then that ends too."""
    lane = Lane("chat")

    async def prompt(token: Token) -> None:
        token.check()

    old = abandon(lane, make)
    run = lane.start(prompt, "prompt")
    assert run.done.exception(BOUND_SECONDS) is None
    assert run.token.generation == 2
    old.join(BOUND_SECONDS)
    assert not old.is_alive()
    assert lane.close(BOUND_SECONDS)


@pytest.mark.clause("STOP-2")
def test_replacing_does_not_wait_for_a_thread_that_is_blocked_in_c() -> None:
    """The old thread is still in its call when the new lane answers; it is counted until it ends."""
    lane = Lane("chat")
    release = threading.Event()

    def blocked(begun: threading.Event) -> Work:
        async def work(_token: Token) -> None:
            begun.set()
            release.wait(BOUND_SECONDS)

        return work

    old = abandon(lane, blocked)
    answered = threading.Event()
    lane.call_soon(answered.set)
    assert answered.wait(BOUND_SECONDS)
    assert old.is_alive()
    assert lane.abandoned == 1
    release.set()
    old.join(BOUND_SECONDS)
    assert not old.is_alive()
    assert lane.abandoned == 0
    assert lane.close(BOUND_SECONDS)


@pytest.mark.clause("STOP-2")
def test_fifty_abandoned_busy_loops_do_not_pile_up() -> None:
    """Each is interrupted; afterwards no thread of the lane is left."""
    lane = Lane("chat")
    abandoned = [abandon(lane, busy) for _ in range(50)]
    assert lane.generation == 51
    for thread in abandoned:
        thread.join(BOUND_SECONDS)
    assert sum(thread.is_alive() for thread in abandoned) == 0
    assert lane.close(BOUND_SECONDS)
    left = [thread for thread in threading.enumerate() if thread.name.startswith("lane-chat-")]
    for thread in left:  # the undertaker notices in a moment that nothing is left to see to
        thread.join(BOUND_SECONDS)
    assert [thread.name for thread in left if thread.is_alive()] == []


@pytest.mark.clause("STOP-2")
def test_an_interrupted_thread_leaves_no_lock_taken() -> None:
    """Threads that take a condition again and again, whose `__enter__` is Python, are interrupted; it stays usable."""
    lane = Lane("chat")
    condition = threading.Condition()

    def grabbing(begun: threading.Event) -> Work:
        async def work(_token: Token) -> None:
            begun.set()
            while True:
                for _ in range(5):
                    with condition:
                        pass
                for _ in range(20):
                    pass

        return work

    for _ in range(50):
        thread = abandon(lane, grabbing)
        thread.join(BOUND_SECONDS)
        assert not thread.is_alive()
        assert condition.acquire(timeout=BOUND_SECONDS)
        condition.release()
    assert lane.close(BOUND_SECONDS)


@pytest.mark.clause("STOP-2")
def test_interrupting_threads_while_the_garbage_collector_runs_does_not_stop_the_process() -> None:
    """A collection inside the look at other threads' frames would deadlock the interpreter; so it is kept out."""
    program = """
        import gc, threading, time
        from lanes.lane import Lane

        async def busy(token):
            begun.release()
            while True:
                pass

        def idle():
            pass

        def short_lived_threads():
            while True:
                thread = threading.Thread(target=idle)
                thread.start()
                thread.join()

        begun = threading.Semaphore(0)
        gc.callbacks.append(lambda phase, info: time.sleep(0.0001))
        gc.set_threshold(1)
        threading.Thread(target=short_lived_threads, daemon=True).start()
        lane = Lane("chat")
        for _ in range(30):
            lane.start(busy, "busy")
            begun.acquire()
            lane.replace()
        print("generation", lane.generation)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=2 * BOUND_SECONDS,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "generation 31\n")


@pytest.mark.clause("STOP-2")
def test_the_other_runs_of_an_abandoned_lane_still_clean_up() -> None:
    """A run that waits beside the busy one is cancelled before the thread ends."""
    lane = Lane("background")
    cleaned = threading.Event()

    async def wait(_token: Token) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0)
            cleaned.set()

    lane.start(wait, "waits")
    old = abandon(lane, busy)
    old.join(BOUND_SECONDS)
    assert not old.is_alive()
    assert cleaned.is_set()
    assert lane.close(BOUND_SECONDS)


@pytest.mark.clause("STOP-2")
def test_a_child_tied_to_its_thread_outlives_the_run_and_dies_with_an_abandoned_lane() -> None:
    """PDEATHSIG follows the thread: the lane's thread lives on between runs, and takes the child along at its end."""
    lane = Lane("chat")
    children: list[subprocess.Popen[bytes]] = []

    async def spawn(_token: Token) -> None:
        command = ["bwrap", "--die-with-parent", "--ro-bind", "/", "/", "sh", "-c", "echo up; exec sleep 600"]
        children.append(subprocess.Popen(command, stdout=subprocess.PIPE))  # noqa: ASYNC220 — tied to this very thread

    assert lane.start(spawn, "spawn").done.exception(BOUND_SECONDS) is None
    with children[0] as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        old = abandon(lane, busy)
        old.join(BOUND_SECONDS)
        assert child.wait(BOUND_SECONDS) != 0
    assert lane.close(BOUND_SECONDS)
