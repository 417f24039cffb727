"""The processes that the agent starts at the far end, each with the modules that were sent, and what they leave behind.

A command could end its own warden, for both belong to the same account. What falls to the agent then is ended by it,
and by a later agent what carries the mark of the same workspace: then this one was ended too.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from host.tools.far.loading import BOOT, OPTIONS, SOURCES, payload
from host.tools.far.parentage import end_below

MARK: Final = "ELIS_WORKSPACE"
_ENDING_SECONDS: Final = 5.0


class Children:
    """The living children of the agent."""

    def __init__(self, mark: str) -> None:
        """Let every process carry `mark`."""
        self.mark: Final = {MARK: mark}
        self._lock = threading.Lock()
        self._living: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, entry: str, descriptors: Sequence[int], *arguments: str) -> "subprocess.Popen[bytes]":
        """Start `main` of the module `entry`, which inherits `descriptors`; raise OSError."""
        argv = [sys.executable, *OPTIONS, "-c", BOOT, *arguments]
        with self._lock:  # nobody may take one that is not listed yet for something that was left behind
            child = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self.mark,
                pass_fds=descriptors,
                start_new_session=True,
            )
            self._living[child.pid] = child
        with contextlib.suppress(BrokenPipeError):
            say(child, payload(SOURCES, entry))
        return child

    def end(self, child: "subprocess.Popen[bytes]") -> None:
        """See to it that a child is gone, which is asked to end by the close of its standard input."""
        hush(child)
        try:
            child.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        with self._lock:
            self._living.pop(child.pid, None)
            if child.returncode != 0:
                end_below(set(self._living), lambda _pid, _status: None)
        if child.stdout is not None:
            child.stdout.close()

    def end_leftovers(self) -> None:
        """End what an earlier agent of the same workspace left: all that carries the mark."""
        name, value = next(iter(self.mark.items()))
        carried = f"{name}={value}".encode()
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal() and int(folder.name) != os.getpid():
                with contextlib.suppress(OSError):  # somebody else's, or gone meanwhile
                    if carried in (folder / "environ").read_bytes().split(b"\0"):
                        os.kill(int(folder.name), signal.SIGKILL)


def say(child: "subprocess.Popen[bytes]", data: bytes) -> None:
    """Write to a child; raise BrokenPipeError when it is gone."""
    assert child.stdin is not None  # noqa: S101 - it was asked for
    child.stdin.write(data)
    child.stdin.flush()


def hush(child: "subprocess.Popen[bytes]") -> None:
    """Close the standard input of a child, from any thread, any number of times."""
    if child.stdin is not None:
        with contextlib.suppress(OSError):
            child.stdin.close()
