"""A box that was started: the descriptors handed to bubblewrap, the first process inside, and the end of it all.

`host.tools.bwrap` starts it; this module owns what must be given back, and knows no arguments and no limits.
"""

import os
import signal
import threading
import time
from contextlib import ExitStack, suppress
from typing import Final

import msgspec

from browser.proxy import Door
from host.tools.cgroups import Group
from host.tools.child import Child, readable_within

_PART: Final = 4096
_DOOR_SECONDS: Final = 0.01  # until what a command had open is closed; a Stop has 25 ms for all of it


class Running:
    """A started box: bubblewrap itself, and the first process inside, whose death ends all the others."""

    def __init__(self, child: Child, pid: int, *, status: int, gate: int, door: Door | None = None) -> None:
        """Take bubblewrap and the process `pid` that it named (0: none), held at the pipe `gate`, and its way out."""
        self.door = door
        self.child = child
        self.pid = pid
        self.group: Group | None = None
        self._status = status
        self._gate = gate
        self._handle = os.pidfd_open(pid) if pid else -1  # bubblewrap has not reaped it: the id is still its own
        self._told = b""
        self._released = False
        self._lock = threading.RLock()  # another thread may kill while this one releases; re-entrant as in InUse

    def go(self) -> None:
        """Let the command begin: a byte for bubblewrap, a line for the shell inside."""
        with suppress(BrokenPipeError):  # it failed in its set-up
            os.write(self._gate, b"-go\n")

    def kill(self) -> None:
        """End everything in the box, and bubblewrap itself.

        Nothing is waited for between the two: the first signal ends the whole process namespace by itself, and a Stop
        has 25 ms for all of it (STOP-2).
        """
        with self._lock:
            if self._released:
                return
            if self._handle >= 0:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._handle, signal.SIGKILL)
                self.child.kill()
            else:
                self.child.kill_group()  # it named no process inside, but may have made one
            if self.door is not None:
                self.door.close(0)

    def finished(self) -> bool:
        """Say whether bubblewrap reports an exit code of the command: the box was built and the command ran."""
        with suppress(BlockingIOError):
            while part := os.read(self._status, 4096):
                self._told += part
        return b'"exit-code"' in self._told

    def release(self) -> None:
        """Give back what the box held; the processes are gone."""
        with self._lock:
            self._released = True
            self.child.close()
            if self._handle >= 0:
                os.close(self._handle)
        if self.group is not None:
            self.group.remove()
        if self.door is not None:
            self.door.close(_DOOR_SECONDS)


class Descriptors:
    """The descriptors made for one bubblewrap; closed with the stack at the latest."""

    def __init__(self, closing: ExitStack) -> None:
        """Close with `closing`."""
        self._kept: list[int] = []
        self._passed: list[int] = []
        closing.callback(self._close)

    @property
    def passed(self) -> tuple[int, ...]:
        """Those that the child inherits."""
        return tuple(self._passed)

    def own(self, descriptor: int, *, passed: bool = False) -> int:
        """Take a descriptor over."""
        (self._passed if passed else self._kept).append(descriptor)
        return descriptor

    def telling(self) -> tuple[int, int]:
        """Make a pipe on which bubblewrap tells something; return our end, which never blocks, and its end."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(reading, False)
        return self.own(reading), self.own(writing, passed=True)

    def data(self, data: bytes) -> int:
        """Return a descriptor from which bubblewrap can read `data`."""
        descriptor = self.own(os.memfd_create("elis-box", os.MFD_CLOEXEC), passed=True)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def close_passed(self) -> None:
        """Close our side of what the child has inherited, so that its end is seen."""
        for descriptor in self._passed:
            os.close(descriptor)
        self._passed = []

    def _close(self) -> None:
        self.close_passed()
        for descriptor in self._kept:
            os.close(descriptor)


class _Info(msgspec.Struct):
    """What bubblewrap writes to --info-fd, as far as it matters."""

    child_pid: int = msgspec.field(name="child-pid")


def pid_told(info: int, seconds: float) -> int:
    """Wait for the id of the first process in the box; return 0 when bubblewrap ended without one, or took too long.

    It holds the thread: bubblewrap needs three milliseconds, and a cancellation in between would have nothing to kill.
    """
    told = b""
    until = time.monotonic() + seconds
    while readable_within(info, until - time.monotonic()):
        part = os.read(info, _PART)
        told += part
        if not part:
            return 0
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(told, type=_Info).child_pid
    return 0
