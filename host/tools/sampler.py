"""Watching the memory and the number of a command's processes where control groups cannot be had (BOX-1).

A look every quarter of a second at /proc: a coarse bound between looks, which RLIMIT_DATA of each process makes finer.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from host.tools.limits import Limits

_EVERY_SECONDS: Final = 0.25
_PARENT_FIELD: Final = 1  # of /proc/PID/stat, counted after the name in brackets
_RESIDENT_FIELD: Final = 21
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


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
        size, count = usage(self._pid)
        if size > self._limits.memory_bytes:
            self._end(f"the memory limit of {self._limits.memory_bytes >> 20} MiB was reached, the command was ended")
        elif count > self._limits.processes:
            self._end(f"the limit of {self._limits.processes} processes was reached, the command was ended")
        else:
            self._next = self._loop.call_later(_EVERY_SECONDS, self._look)

    def _end(self, why: str) -> None:
        self._reached = (why,)
        self._kill()


def usage(pid: int) -> tuple[int, int]:
    """Return the resident bytes and the number of the processes descended from `pid`, itself included."""
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):  # it ended meanwhile
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[_PARENT_FIELD])
                sizes[int(folder.name)] = int(fields[_RESIDENT_FIELD]) * _PAGE_BYTES
    family = {pid}
    for process in parents:
        chain = [process]
        while chain[-1] not in family and chain[-1] in parents and len(chain) <= len(parents):
            chain.append(parents[chain[-1]])
        if chain[-1] in family:
            family.update(chain)
    present = family & sizes.keys()
    return sum(sizes[process] for process in present), len(present)
