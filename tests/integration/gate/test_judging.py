"""The process that judges shell texts: kept, restarted, ended, and never a yes where it gives no verdict (POL-5).

This file run as a program is a host that dies in the middle of a verdict.
"""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from host.faults import Fault, Faults
from host.gate.judging import Judging
from host.passport import Effect
from host.policy.shell.analysis import Analysis, analyse

BOUND = 20.0  # seconds; the one bound on every wait
PROGRAM = "host.policy.shell.judging_child"


def children(process: psutil.Process | None = None) -> list[psutil.Process]:
    """Return the processes that judge for a process, by default this one."""
    found = (process or psutil.Process()).children()
    return [child for child in found if PROGRAM in child.cmdline()]


def child() -> psutil.Process:
    """Return the one process that judges for this one."""
    (one,) = children()
    return one


class Interfering:
    """Does something once, while a text is with the child."""

    def __init__(self) -> None:
        self.once: Callable[[], object] | None = None

    def __call__(self, point: str) -> None:
        """Do it."""
        assert point == "command.judging"
        if self.once is not None:
            act, self.once = self.once, None
            act()


@pytest.fixture
def interfering() -> Interfering:
    """What happens in the middle of a verdict."""
    return Interfering()


@pytest.fixture
def judging(interfering: Interfering) -> Iterator[Judging]:
    """A judge with more time than any text needs."""
    made = Judging(interfering, seconds=BOUND)
    yield made
    made.close()


def asks(analysis: Analysis, why: str) -> None:
    """Hold a verdict against the one that a text without a verdict gets."""
    assert (analysis.effect, analysis.rule, analysis.commands) == (Effect.EXECUTE, "unclear", ())
    assert why in analysis.unclear


@pytest.mark.clause("POL-5")
@pytest.mark.parametrize(
    "text",
    [
        "ls -l | sort", "rm -rf /", "sudo apt-get install x", "$(x) y", "echo ünïcödé 🎉", "x=1 make > out", "", "\0",
        "cat <<E\nü $x\nE", "curl https://example.org | sh", "echo \ufff9\ufffa\ufffb", "ssh host rm x", "a | " * 900,
        "touch x\n" * 12_000, "\ud800",
    ],
)  # fmt: skip
async def test_the_verdict_is_the_same_as_in_this_process(judging: Judging, text: str) -> None:
    """Every part of it comes back whole, whatever its length."""
    assert await judging.judge(text) == analyse(text)


async def test_one_child_judges_all_and_begins_with_the_first(judging: Judging) -> None:
    """Also for many at once, from the loop and from threads; it ends with its owner."""
    assert children() == []
    texts = [f"touch {number}" for number in range(200)]
    assert await asyncio.gather(*map(judging.judge, texts)) == [analyse(text) for text in texts]
    one = child()
    assert (await asyncio.to_thread(judging.wait, "ls")).effect is Effect.READ
    assert child() == one
    judging.close()
    assert children() == []
    asks(await judging.judge("ls"), "being closed")


@pytest.mark.clause("POL-5", "SEC-3")
async def test_the_child_has_nothing_of_the_hosts_environment_and_no_file_of_its_own(
    judging: Judging, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It inherits one socket; what the host has open, and its variables, stay with the host."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-5f8a9b1c2d3e4f60")
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        await judging.judge("ls")
        one = child()
        assert set(one.environ()) == {"PYTHONPATH"}
        assert one.open_files() == []


@pytest.mark.clause("POL-5")
async def test_a_child_killed_over_a_text_makes_it_a_question_and_the_next_is_judged(
    judging: Judging, interfering: Interfering, caplog: pytest.LogCaptureFixture
) -> None:
    """Never an allow, and nobody waits for ever."""
    await judging.judge("ls")
    one = child()
    one.suspend()  # so that it cannot be faster than the kill
    interfering.once = one.kill
    with caplog.at_level(logging.WARNING):
        asks(await asyncio.wait_for(judging.judge("ls"), BOUND), "ended over it")
    assert "no verdict on a shell text" in caplog.text
    assert await judging.judge("ls") == analyse("ls")
    assert child() != one


@pytest.mark.clause("POL-5")
async def test_a_child_that_hangs_over_a_text_is_ended_and_makes_it_a_question(interfering: Interfering) -> None:
    """Within the time; the loop turns meanwhile, and texts that wait behind it are judged after it."""
    judging = Judging(interfering, seconds=0.5)
    try:
        await judging.judge("ls")
        one = child()
        one.suspend()
        hanging, behind = asyncio.create_task(judging.judge("ls")), asyncio.create_task(judging.judge("ls -l"))
        turns = 0
        while not hanging.done():
            turns += 1
            await asyncio.sleep(0.01)
        asks(await hanging, "took too long")
        assert turns > 5
        assert await asyncio.wait_for(behind, BOUND) == analyse("ls -l")
        assert not one.is_running()
    finally:
        judging.close()


async def test_a_child_that_died_while_nobody_asked_is_no_loss(judging: Judging) -> None:
    """The next text gets another one, and its verdict."""
    await judging.judge("ls")
    one = child()
    one.kill()
    one.wait(BOUND)
    assert await judging.judge("ls") == analyse("ls")


async def test_a_caller_that_is_stopped_leaves_the_others_their_verdicts(
    judging: Judging, interfering: Interfering
) -> None:
    """A lane's Stop waits for no verdict."""
    await judging.judge("ls")
    one = child()
    one.suspend()
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    interfering.once = lambda: loop.call_soon_threadsafe(asked.set)
    first = asyncio.create_task(judging.judge("touch a"))
    await asyncio.wait_for(asked.wait(), BOUND)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    one.resume()
    assert await asyncio.wait_for(judging.judge("touch b"), BOUND) == analyse("touch b")
    assert child() == one


async def test_what_is_queued_when_the_group_is_closed_starts_no_child(interfering: Interfering) -> None:
    """Nor does anybody wait for its verdict, or for that of the text before."""
    judging = Judging(interfering, seconds=BOUND * 2)
    await judging.judge("ls")
    one = child()
    one.suspend()
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    interfering.once = lambda: loop.call_soon_threadsafe(asked.set)
    queued = [asyncio.create_task(judging.judge("ls")) for _ in range(3)]
    await asyncio.wait_for(asked.wait(), BOUND)
    judging.close(0)
    first, *behind = await asyncio.wait_for(asyncio.gather(*queued), BOUND)
    asks(first, "ended over it")
    for each in behind:
        asks(each, "being closed")
    assert not one.is_running()
    assert children() == []


async def test_a_child_that_does_not_start_is_tried_once_for_all_who_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them would wait as long for nothing; who asks later gets another try."""
    program, tries, gate = tmp_path / "python", tmp_path / "tries", tmp_path / "gate"
    os.mkfifo(gate)
    program.write_text(f"#!/bin/sh\necho >> {tries}\nread word < {gate}\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    judging = Judging()
    waiting = [asyncio.create_task(judging.judge("ls")) for _ in range(4)]
    await asyncio.sleep(0)
    await asyncio.to_thread(gate.write_text, "go\n")
    for each in await asyncio.wait_for(asyncio.gather(*waiting), BOUND):
        asks(each, "does not start")
    assert tries.read_text() == "\n"
    monkeypatch.undo()
    assert await asyncio.wait_for(judging.judge("ls"), BOUND) == analyse("ls")
    judging.close()


@pytest.mark.parametrize("stopped", [False, True])
def test_a_host_that_is_killed_over_a_verdict_leaves_no_child(stopped: bool) -> None:
    """Not even one that is stopped, and so hears nothing of a closed socket."""
    command = [sys.executable, "-m", "tests.integration.gate.test_judging", str(int(stopped))]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        number = int(host.stdout.readline())
        assert host.wait(BOUND) == -signal.SIGKILL
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(number).wait(BOUND)


def _dying(*, stopped: bool) -> None:
    faults = Faults({"command.judging": Fault("kill", passing=2)})
    judging = Judging(faults, seconds=BOUND)
    judging.wait("ls")
    one = child()
    if stopped:
        one.suspend()
    sys.stdout.write(f"{one.pid}\n")
    sys.stdout.flush()
    judging.wait("ls")


if __name__ == "__main__":
    _dying(stopped=sys.argv[1] == "1")
