"""The life of the embedded model's process: bounded at its start and its stop, and never longer than its parent's."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from host.errors import ModelUnavailable, Unsupported
from host.services.child import EmbeddedModel

BOUND_SECONDS = 60.0


@pytest.mark.clause("OPS-1")
@pytest.mark.parametrize("ready", [False, True], ids=["while it loads", "while it serves"])
def test_it_ends_with_its_parent(*, ready: bool) -> None:
    """Closing its stdin, which is what a parent's death does, is enough at any instant."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "host.services.embedded_model"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"ELIS_EMBEDDED_KEY": "k"},
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        if ready:
            assert b"base_url" in process.stdout.readline()
        process.stdin.close()
        began = time.monotonic()
        process.wait(BOUND_SECONDS)
        assert process.returncode in (0, -signal.SIGIO)
        assert ready or process.stdout.read() == b""  # it never got as far as serving
        assert time.monotonic() - began < BOUND_SECONDS


@pytest.mark.clause("OPS-1")
@pytest.mark.parametrize(
    ("script", "error", "says"),
    [
        ('print(\'{"error": "no model file"}\')', Unsupported, "no model file"),
        ("raise SystemExit(9)", ModelUnavailable, "before it was ready"),
        ("import sys; sys.stdin.read()", ModelUnavailable, "not ready within 0.2 s"),
    ],
    ids=["never", "dies", "hangs"],
)
async def test_a_process_that_does_not_get_ready_is_told_and_leaves_nothing(
    script: str, error: type[Exception], says: str
) -> None:
    """The start is bounded."""
    running = EmbeddedModel(
        command=(sys.executable, "-I", "-c", script), ready_seconds=0.2 if "stdin" in script else 30
    )
    with pytest.raises(error, match=says):
        await running.start()
    assert running.pid is None
    with pytest.raises(ModelUnavailable):
        _ = running.base_url


@pytest.mark.clause("OPS-1")
async def test_the_pauses_between_restarts_grow() -> None:
    """A model that dies again and again does not take the machine with it."""
    ready = 'import sys; print(\'{"base_url": "http://127.0.0.1:1/v1"}\')'
    pauses: list[float] = []
    enough = asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 4:
            enough.set()
            await asyncio.Event().wait()

    running = EmbeddedModel(command=(sys.executable, "-I", "-c", ready), pause=pause)
    await running.start()
    await asyncio.wait_for(enough.wait(), BOUND_SECONDS)
    await running.stop()
    assert pauses == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.clause("OPS-1")
async def test_a_process_that_will_not_go_is_killed() -> None:
    """Closing stdin and asking are tried first; the end comes in bounded time."""
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        'print(\'{"base_url": "http://127.0.0.1:1/v1"}\', flush=True)\nwhile True: time.sleep(60)'
    )
    running = EmbeddedModel(command=(sys.executable, "-I", "-c", stubborn), stop_seconds=0.2)
    await running.start()
    pid = running.pid
    assert pid is not None
    await running.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
