"""Lanes that share one connection to another machine: stopped, held or gone, each costs the others nothing (BOX-3)."""

import asyncio
import gc
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from host.tools.finished import Finished
from host.tools.jail import Jail, Present
from host.tools.seen import ChangedSince
from host.tools.ssh.files import RemoteFiles
from host.tools.ssh.link import Link
from host.tools.ssh.sandbox import SshSandbox

from .far_machine import BOUND, HOST, FarMachine, halt, machine, until

__all__ = ["machine"]

NEWER = "somebody's newer work"


def anything(_shown: str, _present: Present | None) -> None:
    """Admit every write."""


@pytest.fixture
def far(machine: FarMachine, tmp_path: Path) -> Path:
    """A root of this test's own at the far end."""
    root = machine.top / tmp_path.name
    root.mkdir()
    return root


@pytest.fixture
def sandbox(machine: FarMachine, far: Path, tmp_path: Path) -> Iterator[SshSandbox]:
    """The back end of a group whose files lie there."""
    (tmp_path / "ws").mkdir()
    jail = Jail.open(tmp_path / "ws", {})
    made = SshSandbox(jail.roots[0], HOST, str(far), search_path=str(machine.programs))
    yield made
    made.files.close()
    jail.close()


async def begun(files: RemoteFiles, path: str) -> "asyncio.Task[object]":
    """Begin a write over a connection that stands; it was sent when this returns."""
    task: asyncio.Task[object] = asyncio.create_task(files.write(path, b"stopped", key=path, admit=anything))
    for _ in range(5):
        await asyncio.sleep(0)
    return task


async def stopped(task: "asyncio.Task[object]") -> None:
    """Stop a call, and see that it was."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.clause("BOX-3")
async def test_a_write_that_was_stopped_after_it_was_sent_is_not_carried_out_later(
    sandbox: SshSandbox, far: Path, machine: FarMachine
) -> None:
    """However slow the far end is to read it; what somebody wrote since stays."""
    await sandbox.files.check("x")
    (agent,) = machine.agents()
    names = [f"late{number}" for number in range(10)]
    for name in names:
        halt(agent)
        task = await begun(sandbox.files, name)
        await stopped(task)
        (far / name).write_text(NEWER)
        agent.resume()
        await sandbox.files.write("after", name.encode(), key=f"after {name}", admit=anything)
    await sandbox.run("true", cwd=".", timeout_seconds=BOUND, environment={})
    assert {(far / name).read_text() for name in names} == {NEWER}


@pytest.mark.clause("BOX-3")
async def test_a_write_that_is_stopped_while_the_host_is_asked_is_not_admitted(sandbox: SshSandbox, far: Path) -> None:
    """The answer that was meant for it says no, or is not given."""
    await sandbox.files.check("x")
    loop, asked, answer = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def admit(_shown: str, _present: Present | None) -> None:
        loop.call_soon_threadsafe(asked.set)
        assert answer.wait(BOUND)

    task: asyncio.Task[object] = asyncio.create_task(sandbox.files.write("doc", b"stopped", key="k", admit=admit))
    await asyncio.wait_for(asked.wait(), BOUND)
    await stopped(task)
    answer.set()
    await sandbox.files.write("after", b"", key="after", admit=anything)
    assert not (far / "doc").exists()


@pytest.mark.clause("BOX-3")
async def test_a_write_that_was_admitted_when_it_is_stopped_is_waited_for(
    sandbox: SshSandbox, far: Path, machine: FarMachine
) -> None:
    """So that nothing is written after the call has ended; and what changed since the admission is left alone."""
    await sandbox.files.check("x")
    (far / "doc").write_text("before")
    (agent,) = machine.agents()
    loop, asked = asyncio.get_running_loop(), asyncio.Event()

    def admit(_shown: str, _present: Present | None) -> None:
        halt(agent)
        loop.call_soon_threadsafe(asked.set)

    task: asyncio.Task[object] = asyncio.create_task(sandbox.files.write("doc", b"stopped", key="k", admit=admit))
    await asyncio.wait_for(asked.wait(), BOUND)
    (far / "doc").write_text(NEWER)
    agent.resume()
    await stopped(task)
    assert (far / "doc").read_text() == NEWER


@pytest.mark.clause("BOX-3", "PASS-2")
async def test_what_changes_between_admission_and_write_is_not_written_over(sandbox: SshSandbox, far: Path) -> None:
    """The far end looks again at the last moment, and asks nobody then."""
    (far / "doc").write_text("before")

    def admit(_shown: str, _present: Present | None) -> None:
        (far / "doc").write_text(NEWER)

    with pytest.raises(ChangedSince, match="read it again"):
        await sandbox.files.write("doc", b"mine", key="k", admit=admit)
    assert (far / "doc").read_text() == NEWER


@pytest.mark.clause("BOX-3")
async def test_a_lane_that_is_held_holds_up_no_write_of_another(sandbox: SshSandbox, far: Path) -> None:
    """Neither its loop nor the look of its write does."""
    await sandbox.files.check("x")
    begin, release = threading.Event(), threading.Event()

    def lane() -> None:
        async def write() -> None:
            task = await begun(sandbox.files, "held")
            begin.set()
            release.wait(BOUND)
            await task

        asyncio.run(write())

    held = threading.Thread(target=lane)
    held.start()
    try:
        await asyncio.to_thread(begin.wait, BOUND)
        await until(lambda: {path.name for path in far.iterdir()} - {".elis"})  # it is at work there
        await asyncio.wait_for(sandbox.files.write("free", b"", key="free", admit=anything), BOUND / 4)
    finally:
        release.set()
        held.join(BOUND)
    assert (far / "held").read_text() == "stopped"


@pytest.mark.clause("BOX-3")
async def test_a_lane_whose_loop_has_closed_takes_nobody_elses_command_with_it(sandbox: SshSandbox, far: Path) -> None:
    """A write of its own and a command with output were on their way."""
    command = asyncio.create_task(
        sandbox.run("until [ -e go ]; do :; done; echo fine", cwd=".", timeout_seconds=BOUND, environment={})
    )
    await sandbox.files.check("x")

    def lane() -> None:
        loop = asyncio.new_event_loop()

        async def begin() -> list["asyncio.Task[object]"]:
            loud: asyncio.Task[object] = asyncio.create_task(
                sandbox.run("seq 100000", cwd=".", timeout_seconds=BOUND, environment={})
            )
            return [loud, await begun(sandbox.files, "gone")]

        loop.set_exception_handler(lambda _loop, _context: None)  # tasks that are left behind are what this is about
        loop.run_until_complete(begin())
        loop.close()

    await asyncio.to_thread(lane)
    await sandbox.files.write("go", b"", key="go", admit=anything)
    finished = await command
    assert isinstance(finished, Finished)
    assert (finished.exit_code, finished.output) == (0, "fine\n")


class _Collecting(Mapping[str, object]):
    """What is asked; while it is read, everything that nobody holds any more is cleaned up."""

    def __getitem__(self, key: str) -> object:
        return {"path": "x", "writing": False}[key]

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[str]:
        gc.collect()
        return iter(("path", "writing"))


@pytest.mark.clause("BOX-3", "STOP-2")
async def test_what_a_lost_coroutine_cleans_up_in_the_middle_of_a_request_holds_nobody_up(
    machine: FarMachine, far: Path, tmp_path: Path
) -> None:
    """The collector runs its end in whatever thread asks for memory, also in one that is about to send."""
    (tmp_path / "ws").mkdir()
    jail = Jail.open(tmp_path / "ws", {})
    link = Link(HOST, str(far), jail.roots[0], search_path=str(machine.programs), silence_seconds=BOUND)
    connection = await link.ready()

    def lost() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(link.ask("check", path="x", writing=False))
        loop.set_exception_handler(lambda _loop, _context: None)
        for _ in range(3):
            loop.call_soon(loop.stop)
            loop.run_forever()
        assert not task.done()
        loop.close()

    gc.disable()
    try:
        await asyncio.to_thread(lost)
        await link.ask("check", path="x", writing=False)  # what was asked before is answered now: nobody holds the task
        asking = asyncio.to_thread(connection.ask, "check", _Collecting(), b"", None)
        _, future = await asyncio.wait_for(asking, BOUND / 4)
    finally:
        gc.enable()
    answer, _ = await asyncio.wait_for(asyncio.wrap_future(future), BOUND)
    assert "failed" not in answer
    link.close()
    jail.close()
