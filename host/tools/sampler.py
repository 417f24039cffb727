"""Watching the memory and the number of a command's processes where control groups cannot be had (BOX-1).

A look every quarter of a second at /proc: a coarse bound between looks, which RLIMIT_DATA of each process makes finer.
Memory that no process maps is not seen; what makes such memory seems absent to the command (`host.tools.seccomp`).
"""

import asyncio
from collections.abc import Callable
from typing import Final

from host.tools.limits import Limits, reached_by
from host.tools.processes import usage

_EVERY_SECONDS: Final = 0.25


class Sampler:
    """Calls `kill` once the processes below `pid` are more, or larger, than the limits."""

    def __init__(self, pid: int, limits: Limits, kill: Callable[[], None]) -> None:
        """Begin on the running loop."""
        self._pid = pid
        self._limits = limits
        self._kill = kill
        self._reached: tuple[str, ...] = ()
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.call_later(_EVERY_SECONDS, self._look)

    def stop(self) -> None:
        """End the watch."""
        self._next.cancel()

    def reached(self) -> tuple[str, ...]:
        """Name the limit that was run into."""
        return self._reached

    def _look(self) -> None:
        reached = reached_by(*usage(self._pid), self._limits)
        if reached:
            self._reached = (reached,)
            self._kill()
        else:
            self._next = self._loop.call_later(_EVERY_SECONDS, self._look)
