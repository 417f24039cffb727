"""One connection to a far end: the `ssh` process, and requests and answers in any number side by side.

Threads of its own write, read and listen to what ssh says; whoever asks waits for a future, so no lane's loop waits
for the line. What comes from the far end is believed in nothing but its form. A connection that ended stays so.
"""

import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import msgspec

from host.errors import ElisError, PathViolation, ToolFailed, Unsupported
from host.excerpts import beginning
from host.tools.far.wire import MAGIC, Garbled, Message, packed, received
from host.tools.jail import Missing
from host.tools.seen import ChangedSince

_LOG: Final = logging.getLogger(__name__)
_PREFACE_BYTES: Final = 64 << 10  # that a login script may print before the agent speaks
_WORDS_BYTES: Final = 4 << 10  # of ssh's last words
_LAST_WORDS_SECONDS: Final = 1.0  # they lie in the pipe already
_PART: Final = 1 << 16  # read at a time
_UNSENT_BYTES: Final = 256 << 20  # on their way at once: of a far end that takes nothing, no more is kept
_MESSAGE_COST: Final = 1 << 12  # what a message counts at least, so that their number is bounded too
WORDS_CHARS: Final = 1_000  # of an error or a note: what is longer is cut
_TEXT_CHARS: Final = 4_096  # of any other text, such as a path: what is longer is none
_WHOLE: Final = 1 << 63  # numbers are smaller
_ERRORS: Final[dict[str, type[ElisError]]] = {
    error.__name__: error for error in (Missing, ChangedSince, PathViolation, ToolFailed, Unsupported)
}

T = TypeVar("T")
Answer = tuple[Message, bytes]
Listener = Callable[["Connection", Message, bytes], None]
"""Hears what comes for a request before its answer, in the reading thread, and by which connection."""


class LinkLost(ToolFailed):
    """The connection to the other machine was lost; whether it was done is not known. What ran there is ended."""


@dataclass(slots=True)
class _Request:
    """What is waited for."""

    future: Future[Answer]
    listener: Listener | None
    allowed: bool = False  # to change something at the far end: how that ended must be known


class Connection:
    """A started ssh. Methods are safe from any thread."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], first: bytes, *, beat_seconds: float
    ) -> None:
        """Start ssh and send `first`; raise OSError. The far end hears something every `beat_seconds`."""
        self._beat_seconds = beat_seconds
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self._lock = threading.RLock()  # re-entrant: what a lost coroutine cleans up may come in between
        self._next = 0
        self._waiting: dict[int, _Request] = {}
        self._sending: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unsent = 0  # bytes
        self._heard = time.monotonic()
        self._words = bytearray()
        self._lost = False
        self._gone = False
        self.hello: Final[Future[Message]] = Future()
        self._put(first)
        self._listener = self._thread("listen", self._listen)
        self._thread("write", self._write)
        self._thread("read", self._read)

    def _thread(self, name: str, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"ssh-{name}-{self._process.pid}", daemon=True)
        thread.start()
        return thread

    @property
    def alive(self) -> bool:
        """Whether anything can still be asked."""
        return not self._lost

    @property
    def words(self) -> str:
        """What ssh, or the far end beside its messages, said last."""
        return self._words.decode(errors="replace")

    def ask(
        self, op: str, asked: Mapping[str, Any], data: bytes, listener: Listener | None
    ) -> tuple[int, Future[Answer]]:
        """Send a request; return its number and what its answer will come by, or its error."""
        future: Future[Answer] = Future()
        with self._lock:
            self._next += 1
            number = self._next
            lost = self._lost
            if not lost:
                self._put(packed({"id": number, "op": op, "asked": dict(asked)}, data))
                self._waiting[number] = _Request(future, listener)
        if lost:
            future.set_exception(LinkLost())
        return number, future

    def tell(self, message: Message) -> None:
        """Send a message that has no answer."""
        with self._lock:
            self._put(packed(message))

    def allow(self, number: int, *, allowed: bool) -> bool:
        """Answer the far end's question about a request; return whether it may now do what it asked about.

        A request that was withdrawn is not allowed anything any more.
        """
        with self._lock:
            request = self._waiting.get(number)
            if request is None:
                return False
            request.allowed = allowed
            self._put(packed({"id": number, "op": "answer", "admitted": allowed}))
            return allowed

    def withdraw(self, number: int, *, at_once: bool = False) -> bool:
        """Let a request be stopped, and drop what still comes for it; return whether its end must be waited for.

        That is so where it was allowed to change something, unless `at_once`.
        """
        with self._lock:
            request = self._waiting.get(number)
            if request is None:
                return False
            self._put(packed({"id": number, "op": "stop"}))
            if request.allowed and not at_once:
                return True
            del self._waiting[number]
            return False

    def silent_for(self, seconds: float) -> bool:
        """Say whether nothing at all has come for so long; a far end that lives gives signs of life."""
        return time.monotonic() - self._heard >= seconds

    def cut(self) -> None:
        """End the connection at once; the far end sees it and ends what runs there."""
        with self._lock:
            self._cut()

    def _cut(self) -> None:
        if not self._gone:  # what is not waited for yet keeps its number
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _put(self, data: bytes) -> None:
        self._unsent += max(len(data), _MESSAGE_COST)
        if self._unsent > _UNSENT_BYTES:
            self._cut()
        else:
            self._sending.put(data)

    def _write(self) -> None:
        """Send what is to be sent, and a sign of life when there is nothing."""
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101 - it was asked for
        beat = packed({"op": "ping"})
        with contextlib.suppress(OSError):
            while True:
                try:
                    data = self._sending.get(timeout=self._beat_seconds)
                except queue.Empty:
                    data = beat
                if data is None:
                    break
                pipe.write(data)
                pipe.flush()
                if data is not beat:
                    with self._lock:
                        self._unsent -= max(len(data), _MESSAGE_COST)
        with contextlib.suppress(OSError):
            pipe.close()

    def _listen(self) -> None:
        pipe = self._process.stderr
        assert pipe is not None  # noqa: S101 - it was asked for
        with pipe:
            while part := os.read(pipe.fileno(), _WORDS_BYTES):
                self._words = (self._words + part)[-_WORDS_BYTES:]

    def _read(self) -> None:
        pipe: Any = self._process.stdout  # a buffered reader, whatever the type says

        def read(size: int) -> bytes:
            """Return the next `size` bytes, fewer only at the end; every part of them is a sign of life."""
            parts = bytearray()
            while len(parts) < size and (part := pipe.read1(min(size - len(parts), _PART))):
                parts += part
                self._heard = time.monotonic()
            return bytes(parts)

        try:
            with pipe:
                if _preface_passed(read):
                    while (said := received(read)) is not None:
                        _refuse_broken(said[0])
                        self._take(*said)
        except (Garbled, OSError, ValueError) as error:
            _LOG.warning("the far end of an ssh connection was given up: %s", error)
        finally:
            self.cut()
            with self._lock:
                self._gone = True
            self._process.wait()
            self._listener.join(_LAST_WORDS_SECONDS)  # what ssh said last says why
            self._end()

    def _take(self, message: Message, data: bytes) -> None:
        if "hello" in message:
            with contextlib.suppress(InvalidStateError):
                self.hello.set_result(message)
            return
        number = message.get("id")
        with self._lock:
            request = self._waiting.get(number) if isinstance(number, int) else None
            if isinstance(number, int) and "answer" in message:
                self._waiting.pop(number, None)
        if request is None or not isinstance(number, int):
            return
        if "answer" not in message:
            self._hear(number, request, message, data)
            return
        said = message["answer"]
        answer = cast("Message", said) if isinstance(said, dict) else {"failed": "", "why": "it answered nothing"}
        failure = _failure(answer)
        with contextlib.suppress(InvalidStateError):  # nobody waits any more
            if failure is None:
                request.future.set_result((answer, data))
            else:
                request.future.set_exception(failure)

    def _hear(self, number: int, request: _Request, message: Message, data: bytes) -> None:
        """Let the one who waits hear something; what he does wrong, or a loop of his that is closed, is his alone."""
        if request.listener is None:
            return
        try:
            request.listener(self, message, data)
        except Exception as error:  # noqa: BLE001 - the thread is everybody's
            _LOG.warning("nobody listens to a request over ssh any more: %s", error)
            self.withdraw(number, at_once=True)
            with contextlib.suppress(InvalidStateError):
                request.future.set_exception(ToolFailed("what the other machine said could not be taken"))

    def _end(self) -> None:
        """Tell everybody who waits that nothing more comes."""
        with self._lock:
            self._lost = True
            waiting, self._waiting = self._waiting, {}
        self._sending.put(None)
        for request in waiting.values():
            with contextlib.suppress(InvalidStateError):
                request.future.set_exception(LinkLost())
        with contextlib.suppress(InvalidStateError):
            self.hello.set_exception(LinkLost())


def formed(value: Any, kind: type[T], *, text_chars: int = _TEXT_CHARS) -> T:  # noqa: ANN401 - JSON
    """Return what the far end said as what it should be; raise ToolFailed when it is something else.

    No text in it has more than `text_chars`.
    """
    try:
        made = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _otherwise(beginning(str(error), _TEXT_CHARS)) from error
    for leaf in _leaves(made):
        if isinstance(leaf, str) and len(leaf) > text_chars:
            raise _otherwise("a text that is longer than any may be")
        if isinstance(leaf, int) and not -_WHOLE <= leaf < _WHOLE:
            raise _otherwise("a number that is larger than any may be")
    return made


def refuse_more(what: str, size: int, limit: int) -> None:
    """Raise ToolFailed when the far end sent more than it was asked for."""
    if size > limit:
        message = f"{size} {what} where at most {limit} were asked for"
        raise _otherwise(message)


def _otherwise(why: str) -> ToolFailed:
    return ToolFailed(f"the other machine answered something else than it was asked ({why})")


def _leaves(value: Any) -> Iterator[Any]:  # noqa: ANN401 - JSON, formed
    """Return the texts, numbers and bytes in something whose form is known."""
    names: Any = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", ())
    if names:
        parts: Any = [getattr(value, name) for name in names]
    elif isinstance(value, list | tuple):
        parts = cast("list[Any]", value)
    else:
        yield value
        return
    for part in parts:
        yield from _leaves(part)


def _preface_passed(read: Callable[[int], bytes]) -> bool:
    """Read up to the agent's first word; return whether it came."""
    tail = b""
    for _ in range(_PREFACE_BYTES):
        byte = read(1)
        if not byte:
            return False
        tail = (tail + byte)[-len(MAGIC) :]
        if tail == MAGIC:
            return True
    return False


def _refuse_broken(message: Message) -> None:
    """Raise Garbled for halves of characters, which no journal could take; an honest far end sends none."""
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Garbled("a message holds what is no text") from error
    except RecursionError as error:
        raise Garbled("a message is nested too deeply") from error


def _failure(answer: Message) -> ElisError | None:
    """Return the error that an answer stands for."""
    name = answer.get("failed")
    if name is None:
        return None
    return _ERRORS.get(str(name), ToolFailed)(_words(answer.get("why")))


def _words(why: Any) -> str:  # noqa: ANN401 - JSON
    """Return why something failed, in not too many words."""
    text = why if isinstance(why, str) and why else "it failed on the other machine"
    return beginning(text, WORDS_CHARS)
