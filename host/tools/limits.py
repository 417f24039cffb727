"""The limits under which a command runs, and the part of them that the kernel keeps per process.

Memory and processes of the command as a whole need control groups (`host.tools.cgroups`); without them RLIMIT_DATA
bounds each process and a sampler watches the sum (`host.tools.sampler`).
"""

import resource
from dataclasses import dataclass
from typing import Final

_MIB: Final = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What one command may use."""

    memory_bytes: int = 2048 * _MIB  # in all; a compiler or a small data set fits, the host keeps running
    processes: int = 256  # at once, threads counted where the kernel counts them
    file_bytes: int = 1024 * _MIB  # of one written file
    temporary_bytes: int = 256 * _MIB  # in /tmp, and again in /dev/shm
    open_files: int = 1024  # per process

    def sentence(self) -> str:
        """Name the limits for people."""
        return (
            f"{self.memory_bytes // _MIB} MiB of memory, {self.processes} processes, "
            f"{self.file_bytes // _MIB} MiB a file, {self.temporary_bytes // _MIB} MiB in /tmp"
        )


def reached_by(size: int, count: int, limits: Limits) -> str:
    """Say which limit `count` processes of `size` bytes together run into; empty for none."""
    if size > limits.memory_bytes:
        return f"the memory limit of {limits.memory_bytes // _MIB} MiB was reached, the command was ended"
    if count > limits.processes:
        return f"the limit of {limits.processes} processes was reached, the command was ended"
    return ""


def confine(pid: int, limits: Limits, cpu_seconds: int, *, alone: bool = True) -> None:
    """Set the limits of the process `pid` (0: this one), which all it starts inherit; raise OSError.

    RLIMIT_AS is left alone: programs that reserve address space (node, Java) fail under it. RLIMIT_NPROC does
    nothing for root, and holds for everybody else; it counts all processes of a user, so where the user is not
    `alone` in a namespace of its own it is not set.
    """
    for what, most in (
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        *(((resource.RLIMIT_NPROC, limits.processes),) if alone else ()),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.prlimit(pid, what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901 - never raised, only lowered
        resource.prlimit(pid, what, (most, most))
