"""Runs a program that knows a secret: no shell, a built environment, an empty or given input, bounded time and output.

What the program writes may be the secret, so it is returned and never logged. Holds the calling thread.
"""

import contextlib
import errno
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO, Final

import msgspec

_MOST_BYTES: Final = 64 * 1024  # of output or of errors; four times the longest secret
_CHUNK: Final = 16 * 1024
_NOT_STARTED: Final = frozenset({126, 127})
_GONE_SECONDS: Final = 2.0  # SIGKILL takes milliseconds; longer only where a disk or device hangs


class TooSlow(Exception):
    """The program did not end in time and was ended."""


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended, and what it wrote."""

    code: int  # -N for a signal N
    out: bytes
    err: bytes
    cut: bool  # it wrote more than is taken, and was ended


def run(argv: Sequence[str], environment: Mapping[str, str], seconds: float, given: bytes = b"") -> Finished:
    """Run `argv` with `given` (less than a pipe holds) as its input; raise OSError and TooSlow.

    It ends with the calling thread, and so with a host that is killed, where util-linux is there to see to it.
    """
    process = subprocess.Popen(
        [*_tie(), *argv],
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        cwd="/",
        start_new_session=True,
    )
    over = False
    try:
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(given)
        finished = _attend(process, time.monotonic() + seconds)
        over = not finished.cut
    finally:
        if not over:
            _end(process)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if finished.code in _NOT_STARTED and finished.err.startswith(b"setpriv: failed to execute"):
        raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC), argv[0])
    return finished


def _tie() -> list[str]:
    program = shutil.which("setpriv", path="/usr/bin:/bin")
    return [program, "--pdeathsig", "KILL", "--"] if program else []


def _attend(process: "subprocess.Popen[bytes]", until: float) -> Finished:
    """Read until the program has ended: something that it left behind may hold its output open for ever."""
    assert process.stdout is not None  # noqa: S101 - asked for
    assert process.stderr is not None  # noqa: S101 - asked for
    streams: dict[int, IO[bytes]] = {stream.fileno(): stream for stream in (process.stdout, process.stderr)}
    wrote = {descriptor: bytearray() for descriptor in streams}
    handle = os.pidfd_open(process.pid)
    poll = select.poll()
    try:
        for descriptor in (handle, *streams):
            poll.register(descriptor, select.POLLIN)
        ended = False
        while not ended:
            ready = poll.poll(max(0.0, until - time.monotonic()) * 1000)
            if not ready:
                raise TooSlow
            ended = any(descriptor == handle for descriptor, _ in ready)
            for descriptor in list(streams):
                if ended or any(descriptor == other for other, _ in ready):
                    _take(descriptor, wrote[descriptor], drain=ended)
            for descriptor, events in ready:
                if descriptor != handle and events & select.POLLHUP and not events & select.POLLIN:
                    poll.unregister(descriptor)
            if any(len(data) >= _MOST_BYTES for data in wrote.values()):
                return _finished(process, wrote, cut=True)
    finally:
        os.close(handle)
    process.wait()
    return _finished(process, wrote, cut=False)


def _take(descriptor: int, data: bytearray, *, drain: bool) -> None:
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(descriptor, _CHUNK):
            data += chunk
            if not drain or len(data) >= _MOST_BYTES:
                return


def _finished(process: "subprocess.Popen[bytes]", wrote: Mapping[int, bytearray], *, cut: bool) -> Finished:
    out, err = (bytes(data) for data in wrote.values())
    return Finished(code=0 if cut else process.returncode, out=out, err=err, cut=cut)


def _end(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GONE_SECONDS)
