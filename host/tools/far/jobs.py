"""One request in work at the far end: how it is ended from outside, what it asks back, how much it may send unheard."""

import queue
import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

from host.errors import ToolFailed
from host.tools.far.wire import Message

PIECE_BYTES: Final = 1 << 14  # of output at a time: what is masked in some milliseconds
UNHEARD_PIECES: Final = 16  # 256 KiB on their way: busy enough for most lines, some seconds for a slow one
_ANSWER_SECONDS: Final = 30.0  # the other side answers at once, or is gone


class Send(Protocol):
    """Sends a message to the other end."""

    def __call__(self, message: Message, data: bytes = b"") -> None:
        """Send it."""
        ...


class Stopped(Exception):
    """Nobody waits for the answer any more."""


class Job:
    """A request. One thread works on it, another may end it."""

    def __init__(self, number: int, send: Send) -> None:
        self.number: Final = number
        self._send = send
        self._lock = threading.Lock()
        self._kill: Callable[[], None] | None = None
        self._stopped = False
        self._answers: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._room = threading.Semaphore(UNHEARD_PIECES)

    def stop(self) -> None:
        """End it, now or as soon as there is something to end."""
        with self._lock:
            self._stopped = True
            kill = self._kill
        self._room.release()
        self._answers.put({})  # who waits for an answer looks at the stop
        if kill is not None:
            kill()

    def endable_by(self, kill: Callable[[], None]) -> None:
        """Let `kill` end it from now on; it is called at once where it was to be ended already."""
        with self._lock:
            self._kill = kill
            stopped = self._stopped
        if stopped:
            kill()

    def breathe(self) -> None:
        """Raise Stopped when it was ended."""
        if self._stopped:
            raise Stopped

    def send_piece(self, data: bytes) -> None:
        """Send a piece of output, as soon as enough of the earlier ones were heard; none once it was ended."""
        if not self._stopped:
            self._room.acquire()
        if self._stopped:
            return
        self._send({"id": self.number, "piece": True}, data)

    def heard(self) -> None:
        """Take note that the other end has heard a piece."""
        self._room.release()

    def ask(self, **question: Any) -> Message:  # noqa: ANN401 - JSON
        """Ask the other end and return its answer; raise Stopped, or ToolFailed when there is none."""
        self.breathe()
        self._send({"id": self.number, "ask": question})
        try:
            answer = self._answers.get(timeout=_ANSWER_SECONDS)
        except queue.Empty:
            message = "the host did not answer; nothing was changed"
            raise ToolFailed(message) from None
        self.breathe()
        return answer

    def answered(self, answer: Message) -> None:
        """Take the other end's answer."""
        self._answers.put(answer)
