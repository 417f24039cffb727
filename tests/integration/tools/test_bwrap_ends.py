"""Nothing of a command in bubblewrap stays, however it ends: by itself, by a Stop, with its lane (BOX-1, STOP-1)."""

import asyncio
import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from host.errors import Unsupported
from host.tools.bwrap import BwrapSandbox
from host.tools.finished import Finished

from .commands import BOUND_SECONDS, run
from .processes import appeared, gone


@pytest.mark.clause("BOX-1")
async def test_what_a_command_leaves_running_ends_with_it(sandbox: BwrapSandbox) -> None:
    """However it detached itself, and without waiting for it."""
    began = time.monotonic()
    finished = await run(sandbox, "setsid nohup sleep 63 & disown; (sleep 63 &) ; echo done")
    assert finished.output.endswith("done\n")
    assert time.monotonic() - began < 15
    assert gone("sleep", "63")


async def test_a_failing_listener_ends_the_command(sandbox: BwrapSandbox) -> None:
    """And its error is heard by who waits."""

    def listen(text: str) -> None:
        message = f"cannot take {text!r}"
        raise LookupError(message)

    with pytest.raises(LookupError, match="cannot take"):
        await sandbox.run("echo x; sleep 61", cwd=".", timeout_seconds=20, environment={}, on_output=listen)
    assert gone("sleep", "61")


@pytest.mark.clause("BOX-1", "STOP-1")
@pytest.mark.usefixtures("open_descriptors")
async def test_a_cancelled_command_is_gone_with_everything_it_started(sandbox: BwrapSandbox) -> None:
    """Detached children included; nothing is left open."""
    for _ in range(5):
        begun = asyncio.Event()
        command = "setsid nohup sleep 64 & (setsid sleep 64 &) ; trap '' TERM INT HUP; echo begun; sleep 64"
        running = asyncio.ensure_future(
            sandbox.run(command, cwd=".", timeout_seconds=60, environment={}, on_output=functools.partial(_set, begun))
        )
        async with asyncio.timeout(BOUND_SECONDS):
            await begun.wait()
        began = time.monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert time.monotonic() - began < 1
        assert gone("sleep", "64")


@pytest.mark.clause("BOX-1")
async def test_another_thread_can_end_all_commands(sandbox: BwrapSandbox) -> None:
    """As the control does when a lane no longer answers."""
    begun = asyncio.Event()
    running = asyncio.ensure_future(
        sandbox.run("echo x; sleep 65", cwd=".", timeout_seconds=60, environment={}, on_output=lambda _: begun.set())
    )
    async with asyncio.timeout(BOUND_SECONDS):
        await begun.wait()
        await asyncio.to_thread(sandbox.kill_all)
        finished = await _refused_or_finished(running)
    assert finished != 0
    assert gone("sleep", "65")
    sandbox.kill_all()


@pytest.mark.clause("BOX-1")
def test_commands_run_from_a_lane_s_thread_and_end_with_it(sandbox: BwrapSandbox) -> None:
    """The signal of a parent's death follows the thread: other threads' ends do not matter, its own does."""
    begun: Future[None] = Future()
    result: Future[Finished] = Future()
    go_on = threading.Event()

    async def work(command: str, heard: Callable[[str], None]) -> Finished:
        return await sandbox.run(command, cwd=".", timeout_seconds=60, environment={}, on_output=heard)

    def lane() -> None:
        short = threading.Thread(target=lambda: asyncio.run(work("true", lambda _: None)))
        short.start()
        short.join()
        result.set_result(asyncio.run(work("echo survived", lambda _: None)))
        loop = asyncio.new_event_loop()
        waiting = loop.create_task(work("echo x; sleep 66", lambda _: None if begun.done() else begun.set_result(None)))
        begun.add_done_callback(lambda _: loop.stop())
        loop.run_forever()  # and leaves the task where it is, as an abandoned lane does
        go_on.wait(BOUND_SECONDS)
        abandoned.append((loop, waiting))

    abandoned: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Finished]]] = []
    thread = threading.Thread(target=lane)
    thread.start()
    assert result.result(BOUND_SECONDS).output == "survived\n"
    begun.result(BOUND_SECONDS)
    assert appeared("sleep", "66")
    go_on.set()
    thread.join(BOUND_SECONDS)
    assert gone("sleep", "66")
    loop, waiting = abandoned[0]
    waiting.cancel()
    loop.run_until_complete(asyncio.wait([waiting]))
    loop.close()


@pytest.mark.clause("BOX-1")
@pytest.mark.usefixtures("open_descriptors")
async def test_many_commands_leave_nothing_behind(sandbox: BwrapSandbox) -> None:
    """No descriptors, no control groups, no processes; several at once do not mix."""
    results = await asyncio.gather(*(run(sandbox, f"echo {number} > f{number}; cat f{number}") for number in range(6)))
    assert [finished.output for finished in results] == [f"{number}\n" for number in range(6)]
    await run(sandbox, "true")


def _set(event: asyncio.Event, _text: str) -> None:
    event.set()


async def _refused_or_finished(running: "asyncio.Future[Finished]") -> int:
    try:
        return (await running).exit_code
    except Unsupported:
        return -1
