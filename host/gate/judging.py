"""Where shell texts are judged: a child process of the group's own, so that the parser in C can end no group (POL-5).

It is started with the first text and kept; one thread owns it, talks with it and outlives it, so lanes wait for a
verdict on their loops. A child that died in between is started again. One that dies over a text, or is not done in
time, is ended, and that text counts as one that cannot be told: it is asked about, in every mode, and never allowed.
"""

import asyncio
import contextlib
import logging
import os
import queue
import socket
import sys
import sysconfig
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Final

import msgspec

from host.excerpts import ending
from host.policy.shell.analysis import Analysis, analyse, unconfined, unjudged
from host.policy.shell.judging_child import LENGTH_BYTES, framed
from host.tools.child import Child
from host.tools.output import Output

_LOG: Final = logging.getLogger(__name__)

JUDGING_SECONDS: Final = 3.0  # for one text; 100 KB take 0.05 on a machine that has nothing else to do
START_SECONDS: Final = 15.0  # takes 0.1; longer where the disk is cold
_CLOSE_SECONDS: Final = 2.0  # for the end; a child that is at work then dies with this process at the latest
_GRACE: Final = 2.0  # times as long until the child ends itself: only where this process is not there to do it
_CHUNK: Final = 1 << 16
_SAID_CHARS: Final = 300  # of a dead child's last words in the log
_PACKAGES: Final = Path(__file__).parents[2]  # where `host` is imported from

Judge = Callable[[str], Awaitable[Analysis]]
"""Returns what a shell text would do; never raises for any text."""


async def at_once(text: str) -> Analysis:
    """Judge in this process: for tests, and for whoever has nothing else to lose than this text."""
    return analyse(text)


_CLOSING: Final = "the group is being closed"
_NO_START: Final = "the process that judges commands does not start"


class _NoStart(Exception):
    """There is no child to be had: who waits behind the text it was wanted for would wait as long for nothing."""


class Judging:
    """The child of one group, and the thread that owns it. Methods are safe from any thread."""

    def __init__(
        self,
        fault: Callable[[str], None] = lambda _: None,
        *,
        confined: bool = True,
        seconds: float = JUDGING_SECONDS,
    ) -> None:
        """Start nothing; a text is given `seconds`. `confined` says that a sandbox bounds what commands may read."""
        self._confined = confined
        self._fault = fault
        self._seconds = seconds
        self._lock = threading.Lock()
        self._asked: queue.SimpleQueue[tuple[str, Future[Analysis]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._talk: _Talk | None = None  # of the thread alone, but for the end; as is the next
        self._startless = False  # the last child did not start

    async def judge(self, text: str) -> Analysis:
        """Return what a text would do, without holding the loop."""
        return await asyncio.wrap_future(self._ask(text))

    def wait(self, text: str) -> Analysis:
        """Do the same, holding the calling thread."""
        return self._ask(text).result()

    def close(self, seconds: float = _CLOSE_SECONDS) -> None:
        """End the child; texts that come later are not judged any more."""
        with self._lock:
            self._closed = True
            thread = self._thread
            self._asked.put(None)
        if thread is not None:
            thread.join(seconds)
        if (talk := self._talk) is not None:
            talk.hang_up()  # nobody waits for a start, or for a verdict, any more

    def _ask(self, text: str) -> "Future[Analysis]":
        asked: Future[Analysis] = Future()
        with self._lock:
            if self._closed:
                asked.set_result(unjudged(_CLOSING))
                return asked
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="judging", daemon=True)
                self._thread.start()
            self._asked.put((text, asked))
        return asked

    def _serve(self) -> None:
        try:
            while (taken := self._asked.get()) is not None:
                text, asked = taken
                if asked.set_running_or_notify_cancel():
                    asked.set_result(self._judged(text))
                    self._answer_queued()
        finally:
            self._end()

    def _judged(self, text: str) -> Analysis:
        if self._closed:
            return unjudged(_CLOSING)
        try:
            talk, until = self._ready(), time.monotonic() + self._seconds
            talk.ask(text, until)
            self._fault("command.judging")
            analysis = talk.answer(until)
            return analysis if self._confined else unconfined(analysis)
        except _NoStart as error:
            _LOG.warning("the process that judges shell texts does not start (%s)%s", error.__cause__, self._end())
            self._startless = True
            return unjudged(_NO_START)
        except Exception as error:  # noqa: BLE001 - whatever it is: without a verdict the text is asked about
            late = isinstance(error, TimeoutError)
            _LOG.warning("no verdict on a shell text (%s: %s)%s", type(error).__name__, error, self._end())
            return unjudged("judging it took too long" if late else "the process that judges commands ended over it")

    def _answer_queued(self) -> None:
        """After a start that failed, tell all who wait already: each would wait for another such start else."""
        behind = self._asked.qsize() if self._startless else 0
        self._startless = False
        for _ in range(behind):
            taken = self._asked.get()
            if taken is None:
                self._asked.put(None)
            elif taken[1].set_running_or_notify_cancel():
                taken[1].set_result(unjudged(_NO_START))

    def _ready(self) -> "_Talk":
        """Return a living child; raise _NoStart where there is none to be had."""
        if self._talk is not None and self._talk.gone():
            self._end()
        if self._talk is None:
            try:
                self._talk = _Talk(self._seconds)
                self._talk.await_ready()
            except (OSError, EOFError) as error:
                raise _NoStart from error
        return self._talk

    def _end(self) -> str:
        """End the child; return its last words."""
        talk, self._talk = self._talk, None
        return "" if talk is None else talk.end()


class _Talk:
    """One child, and the socket over which it is talked with."""

    def __init__(self, seconds: float) -> None:
        """Start it; raise OSError."""
        self._own, its = socket.socketpair()
        with its:
            numbers = (str(its.fileno()), str(os.getpid()), f"{seconds * _GRACE:g}")
            argv = [sys.executable, "-P", "-s", "-S", "-B", "-m", "host.policy.shell.judging_child", *numbers]
            try:
                self._child = Child(argv, environment=_environment(), descriptors=[its.fileno()])
            except BaseException:
                self._own.close()
                raise

    def await_ready(self) -> None:
        """Wait for its first word; raise OSError or EOFError."""
        self._received(time.monotonic() + START_SECONDS)

    def ask(self, text: str, until: float) -> None:
        """Hand it a text; raise TimeoutError or another OSError, and then end it."""
        self._own.settimeout(_left(until))
        self._own.sendall(framed(text.encode("utf-8", "replace")))

    def answer(self, until: float) -> Analysis:
        """Return its word on that text; raise TimeoutError, OSError, EOFError or MsgspecError, and then end it."""
        return _analysis_of(self._received(until))

    def gone(self) -> bool:
        """Say whether it has ended by itself."""
        return self._child.gone(0)

    def hang_up(self) -> None:
        """Let whoever waits for its word, in whatever thread, wait no more."""
        with contextlib.suppress(OSError):
            self._own.shutdown(socket.SHUT_RDWR)

    def end(self) -> str:
        """End it, and return its last words."""
        self._own.close()
        output = Output()
        self._child.wait(output, 0, self._child.kill_group)
        self._child.close()
        words = ending(output.text().strip(), _SAID_CHARS)
        return f": {words}" if words else ""

    def _received(self, until: float) -> bytes:
        length = int.from_bytes(self._exactly(LENGTH_BYTES, until))
        return self._exactly(length, until)

    def _exactly(self, size: int, until: float) -> bytes:
        parts: list[bytes] = []
        while size:
            self._own.settimeout(_left(until))
            part = self._own.recv(min(size, _CHUNK))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _left(until: float) -> float:
    return max(until - time.monotonic(), 1e-6)  # 0 would mean not to wait at all, which is another error


_analysis_of: Final = msgspec.msgpack.Decoder(Analysis).decode


def _environment() -> dict[str, str]:
    """Return what the child needs to find its packages and nothing else of the host's."""
    folders = [str(_PACKAGES), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys(folders))}
