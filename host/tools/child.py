"""A child process attended on the event loop of the calling thread: its output as it comes, its time-out, its death.

The process is forked by the calling thread, which must outlive it: a parent-death signal follows the thread, not the
process. Whatever way the attendance ends (the program's own end, time-out, cancellation), the process is gone when it
does, or is waited for in a thread of its own if the kernel will not let it go. Sandboxes and the search stand above.
"""

import asyncio
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from host.tools.output import Output

_CHUNK: Final = 1 << 13  # what is masked in some milliseconds: a Stop must not wait for more than one of them
_GONE_SECONDS: Final = 0.02  # SIGKILL takes a millisecond or two; longer only where a disk or device hangs


class Child:
    """One running program."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        descriptors: Sequence[int] = (),
        stdin: int = subprocess.DEVNULL,
        cwd: str | None = None,
    ) -> None:
        """Start `argv` in a session of its own with nothing inherited but `descriptors`; raise OSError."""
        self._output, writing = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._output, False)
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=writing,
                stderr=writing,
                env=environment,
                cwd=cwd,
                pass_fds=descriptors,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._output)
            raise
        finally:
            os.close(writing)
        self._handle = os.pidfd_open(self._process.pid)
        self._reaped = False

    @property
    def pid(self) -> int:
        """The process id, also that of its session and process group."""
        return self._process.pid

    async def attend(self, output: Output, timeout_seconds: float, kill: Callable[[], None]) -> bool:
        """Feed `output` until the program has ended; return whether the time ran out. Call it once.

        `kill` is called at the end, whatever brought it, and must end everything that the program started. When the
        call is broken off, what still lies in the pipe is left there: a Stop does not wait for it to be masked.
        """
        loop = asyncio.get_running_loop()
        wanted = True
        ended: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._handle, _settle, ended)
        loop.add_reader(self._output, self._pump, output, ended)
        try:
            async with asyncio.timeout(timeout_seconds):
                await ended
        except TimeoutError:
            return True
        except asyncio.CancelledError:
            wanted = False
            raise
        finally:
            loop.remove_reader(self._handle)
            loop.remove_reader(self._output)
            kill()
            self._reap()
            if wanted:
                self._drain(output)
        return False

    def wait(self, output: Output, timeout_seconds: float, kill: Callable[[], None]) -> bool:
        """Do as `attend`, holding the thread: for trial commands that write less than a pipe holds."""
        timed_out = not self.gone(timeout_seconds)
        kill()
        self._reap()
        self._drain(output)
        return timed_out

    @property
    def exit_code(self) -> int:
        """How the program ended, as a shell tells it: 128 + N for a signal N; -1 while it is not known."""
        code = self._process.returncode
        return -1 if code is None else 128 - code if code < 0 else code

    def gone(self, seconds: float = _GONE_SECONDS) -> bool:
        """Wait up to `seconds` for the program's end, holding the thread; say whether it has ended."""
        return readable_within(self._handle, seconds)

    def kill(self) -> None:
        """End the program itself, at once."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def kill_group(self) -> None:
        """End the program and its process group, at once; to be called before its end is taken note of."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Release what belongs to the program, and end it if it was never attended."""
        if not self._reaped:
            self.kill_group()
            self._reap()
        os.close(self._output)
        os.close(self._handle)

    def _pump(self, output: Output, ended: "asyncio.Future[None]") -> None:
        try:
            if not self._read(output):
                asyncio.get_running_loop().remove_reader(self._output)
        except Exception as error:  # noqa: BLE001 - a listener's failure belongs to who waits, not to the loop
            if not ended.done():
                ended.set_exception(error)

    def _read(self, output: Output) -> bool:
        """Take one chunk; return False when there is none, now or ever."""
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        output.feed(data)
        return bool(data)

    def _drain(self, output: Output) -> None:
        """Take what still lies in the pipe, at most its capacity: a survivor may go on writing into it."""
        for _ in range(1 + (1 << 20) // _CHUNK):
            if not self._read(output):
                break

    def _reap(self) -> None:
        """Take note of the end. The process id is free for others from then on."""
        self._reaped = True
        if self.gone():
            self._process.wait()
        else:
            threading.Thread(target=self._process.wait, name=f"reaper-{self.pid}", daemon=True).start()


def readable_within(descriptor: int, seconds: float) -> bool:
    """Wait up to `seconds`, holding the thread, until `descriptor` has something to tell, be it its end."""
    poll = select.poll()  # unlike select, for descriptors of any number
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


def _settle(ended: "asyncio.Future[None]") -> None:
    if not ended.done():
        ended.set_result(None)


class Starting:
    """A program that may be ended from the moment on at which it began to be started."""

    def __init__(self) -> None:
        """Begin before there is anything to end."""
        self._lock = threading.RLock()  # as in InUse
        self._kill: Callable[[], None] | None = None
        self._ended = False

    def ended_by(self, kill: Callable[[], None]) -> None:
        """Learn how to end it, and do so at once where that was asked for already."""
        with self._lock:
            self._kill = kill
        if self._ended:
            kill()

    def end(self) -> None:
        """End it, as soon as that can be done; from any thread."""
        with self._lock:
            self._ended = True
            kill = self._kill
        if kill is not None:
            kill()


class InUse:
    """What runs at present, so that another thread can end all of it."""

    def __init__(self) -> None:
        """Begin with nothing running."""
        self._lock = threading.RLock()  # re-entrant: what a lost coroutine cleans up may come in between
        self._kills: dict[int, Callable[[], None]] = {}
        self._next = 0

    @contextmanager
    def holding(self, kill: Callable[[], None]) -> Generator[None]:
        """Know of a program inside the `with`; `kill` ends it, from any thread."""
        with self._lock:
            self._next += 1
            number = self._next
            self._kills[number] = kill
        try:
            yield
        finally:
            with self._lock:
                self._kills.pop(number, None)

    @contextmanager
    def starting(self) -> Generator[Starting]:
        """Know of a program that is started inside the `with`: an end that comes meanwhile is not lost."""
        starting = Starting()
        with self.holding(starting.end):
            yield starting

    def kill_all(self) -> None:
        """End all that runs, and what is being started."""
        with self._lock:
            kills = list(self._kills.values())
        for kill in kills:
            kill()
