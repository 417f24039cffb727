"""The end of a host that does not wait for what hangs: steps with a bound, and force when all else fails.

The supervisor and the composition root call it; it knows processes and the clock, and nothing of groups or Ray.
"""

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

import psutil

from host.groups.ray_folder import kill
from host.stops import Reason

_LOG: Final = logging.getLogger(__name__)

FORCE_SECONDS: Final = 3.0  # for killing what hangs
_CALM_LOOKS: Final = 3  # with none left, before all are taken for dead
_PAUSE_SECONDS: Final = 0.05
OVERALL_SECONDS: Final = 40.0  # turns get 20 s, the steps after that 17 at most; `elis down` waits for 45


async def within(seconds: float, what: str, work: Awaitable[object]) -> bool:
    """Do one step of the end; say whether it was done. What fails or takes too long is logged and left behind.

    Not asyncio.timeout: that waits for what it cancels, and what hangs may not heed it.
    """
    step = asyncio.ensure_future(work)
    await asyncio.wait({step}, timeout=seconds)
    if not step.done():
        step.cancel()
        _LOG.warning("%s took longer than %.0f s; the end goes on without it", what, seconds)
        return False
    if not step.cancelled() and (error := step.exception()) is not None:
        _LOG.error("%s failed; the end goes on without it", what, exc_info=error)
        return False
    return True


def leave(code: int, others: Callable[[], list[psutil.Process]]) -> NoReturn:
    """Kill the children and `others`, and end this process, whatever its threads are waiting for."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _kill_all(others)
    os._exit(code)


def _kill_all(others: Callable[[], list[psutil.Process]]) -> None:
    """Kill until none is left: a thread that hangs in Ray's start goes on to start one server after the other.

    The raylet is the last of them. Once it is killed there is no time to look again: Ray's library ends a process that
    lost its raylet, with a code of its own.
    """
    until, calm = time.monotonic() + FORCE_SECONDS, 0
    while calm < _CALM_LOOKS and time.monotonic() < until:
        left = [process for process in (*psutil.Process().children(recursive=True), *others()) if _lives(process)]
        last = any(_is_raylet(process) for process in left)
        kill(left)
        if last:
            return
        calm = 0 if left else calm + 1
        time.sleep(_PAUSE_SECONDS)


def _lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def _is_raylet(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.name() == "raylet"
    return False


def watch_over(others: Callable[[], list[psutil.Process]]) -> None:
    """From now on end this process by force when its end takes too long, also while the event loop is blocked."""

    def force() -> None:
        _LOG.error("the end of the host took longer than %.0f s; it is ended by force", OVERALL_SECONDS)
        leave(Reason.UNKNOWN.exit_code, others)

    timer = threading.Timer(OVERALL_SECONDS, force)
    timer.name = "watch over the end"
    timer.daemon = True
    timer.start()
