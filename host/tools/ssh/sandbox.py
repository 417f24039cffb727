"""The back end `ssh`: commands in a folder of another machine, as the user that ssh logs in as (BOX-3).

The remote account is the boundary, and nothing here: what it may read, write and reach, a command may. What is kept is
that limits hold as far as an ordinary account can have them, that nothing of this machine's environment and no secret
as a file goes over, and that all of a command is ended with it (`host.tools.far.warden`).
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Annotated, Any, Final

import msgspec

from host.errors import ElisError, Unsupported
from host.tools import leftovers
from host.tools.child import InUse
from host.tools.commands import refuse_reading, refuse_unfit
from host.tools.far.jobs import PIECE_BYTES, UNHEARD_PIECES
from host.tools.far.wire import Message
from host.tools.finished import Finding, Finished
from host.tools.limits import Limits
from host.tools.output import Output
from host.tools.paths import WORKSPACE
from host.tools.reach import Reach
from host.tools.roots import Root
from host.tools.ssh.connection import WORDS_CHARS, Connection, formed
from host.tools.ssh.files import RemoteFiles
from host.tools.ssh.link import SILENCE_SECONDS, Link

_TRIAL_SECONDS: Final = 10.0
_ANSWER_PART: Final = 0.5  # of a silence, that the far end may take beyond a command's time to end it and say so
_NOTES: Final = 10  # that a command's end may have
_CODE: Final = 1 << 31  # exit codes are smaller


class _Ended(msgspec.Struct, frozen=True):
    """How a command ended, as the far end tells it."""

    exit_code: Annotated[int, msgspec.Meta(ge=-_CODE, lt=_CODE)]
    timed_out: bool
    notes: Annotated[tuple[str, ...], msgspec.Meta(max_length=_NOTES)]


class _Heard:
    """The output of one command on its way from the reading thread to the loop that takes it.

    The far end holds itself to what may be on its way unheard; one that does not is cut off.
    """

    def __init__(self, output: Output, loop: asyncio.AbstractEventLoop) -> None:
        self.over = False  # nobody listens any more
        self.failure: Exception | None = None  # of whoever listens: it belongs to who waits, not to the loop
        self._output = output
        self._loop = loop
        self._came = 0
        self._taken = 0

    def hear(self, connection: Connection, message: Message, data: bytes) -> None:
        """Called in the reading thread."""
        self._came += 1
        if self._came - self._taken > UNHEARD_PIECES or len(data) > PIECE_BYTES:
            connection.cut()
        else:
            self._loop.call_soon_threadsafe(self._take, connection, int(message["id"]), data)

    def _take(self, connection: Connection, number: int, data: bytes) -> None:
        self._taken += 1
        try:
            if self.failure is None and not self.over:
                self._output.feed(data)
        except Exception as error:  # noqa: BLE001 - see above
            self.failure = error
            connection.tell({"id": number, "op": "stop"})
        connection.tell({"id": number, "op": "heard"})


class SshSandbox:
    """Runs commands on another machine. Thread-safe."""

    def __init__(
        self,
        workspace: Root,
        host: str,
        root: str,
        *,
        search_path: str | None = None,
        limits: Limits | None = None,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        """Run in the folder `root` of `host`, as ssh knows it; `workspace` is the group's own here, and stays empty.

        The far end is given up after `silence_seconds` without a word, a command after half of that beyond its time.
        """
        self._answer_seconds = silence_seconds * _ANSWER_PART
        self._workspace = workspace
        self._limits = limits or Limits()
        self._link = Link(host, root, workspace, search_path=search_path, silence_seconds=silence_seconds)
        self._running = InUse()
        self.files: Final = RemoteFiles(self._link)

    @property
    def bare(self) -> bool:
        """Whether commands run unconfined on this machine: never."""
        return False

    @property
    def reach(self) -> Reach:
        """What commands reach: whatever the other machine does."""
        return Reach.ANYTHING

    async def run(  # noqa: PLR0913 - the interface of all back ends
        self,
        command: str,
        *,
        cwd: str,
        timeout_seconds: float,
        environment: Mapping[str, str],
        on_output: Callable[[str], None] | None = None,
        caller: str = "",  # noqa: ARG002 - nothing there has a door of ours
        also: Sequence[str] = (),  # noqa: ARG002 - as above
        reading: bool = False,
    ) -> Finished:
        """Run `command` there, see `host.tools.sandbox.Sandbox`; raise ToolFailed when the link is lost meanwhile."""
        refuse_unfit(command, environment)
        refuse_reading(reading=reading)
        output = Output(on_output)
        with self._running.starting() as starting:
            try:
                connection = await self._link.ready()
            except Unsupported as error:
                raise Unsupported(_unavailable(error)) from error
            asked = self._asked(command, cwd, timeout_seconds, environment)
            heard = _Heard(output, asyncio.get_running_loop())
            number, future = connection.ask("run", asked, b"", heard.hear)

            def stop() -> None:
                connection.tell({"id": number, "op": "stop"})

            starting.ended_by(stop)
            try:
                async with asyncio.timeout(timeout_seconds + self._answer_seconds):
                    answer, _ = await asyncio.wrap_future(future)
            except TimeoutError:
                self._link.cut_if_silent(connection)
                return _finished(_Ended(exit_code=-1, timed_out=True, notes=(_UNSAID,)), output)
            finally:
                heard.over = True
                connection.withdraw(number, at_once=True)
        if heard.failure is not None:
            raise heard.failure
        return _finished(formed(answer, _Ended, text_chars=WORDS_CHARS), output)

    def kill_all(self) -> None:
        """End every running command at once, from any thread."""
        self._running.kill_all()

    def holding(self, kill: Callable[[], None]) -> AbstractContextManager[None]:
        """Let `kill_all` call `kill` too, inside the `with`."""
        return self._running.holding(kill)

    def end_leftovers(self) -> None:
        """End what outlived an earlier process here; what is left there is ended with the next connection."""
        leftovers.end_leftovers(self._workspace)

    def check(self) -> Finding:
        """Connect and run a trial command."""
        output = Output()
        stays = self._link.connected
        try:
            connection = self._link.made()
            asked = self._asked("true", ".", _TRIAL_SECONDS, {})
            _, future = connection.ask("run", asked, b"", lambda _connection, _message, data: output.feed(data))
            ended = formed(future.result(_TRIAL_SECONDS + self._answer_seconds)[0], _Ended)
        except (ElisError, concurrent.futures.TimeoutError) as error:
            fix = (
                _unavailable(error)
                if isinstance(error, ElisError)
                else f"{self._link.host} does not answer as it should"
            )
            return Finding(ok=False, text=f"{self._link.host} is unavailable", fix=fix)
        finally:
            if not stays:
                self._link.cut()
        if ended.exit_code != 0:
            return Finding(ok=False, text=f"a trial command failed on {self._link.host}", fix=output.text())
        python = str(self._link.told_at_first().get("python"))[:20]
        text = (
            f"{self._link.host} runs commands in {self._link.root} (python3 {python}), as its own account and network "
            f"allow; limits by RLIMIT and a sampler there: {self._sentence()}"
        )
        return Finding(ok=True, text=text)

    def describe(self) -> str:
        """Say where commands run and what they reach."""
        return (
            f"Commands run on the machine {self._link.host}, as an account of it, with all that this account may read "
            f"and reach there. The workspace is {self._link.root} there, which the file tools call {WORKSPACE}; "
            f"commands start in it, use relative paths. Each may use {self._sentence()}."
        )

    def _sentence(self) -> str:
        """Name the limits that hold there: /tmp is that machine's own."""
        limits = self._limits
        return (
            f"{limits.memory_bytes >> 20} MiB of memory, {limits.processes} processes, {limits.file_bytes >> 20} MiB a "
            "file"
        )

    def _asked(self, command: str, cwd: str, seconds: float, environment: Mapping[str, str]) -> dict[str, Any]:
        return {
            "command": command,
            "cwd": cwd,
            "seconds": seconds,
            "environment": dict(environment),
            "limits": asdict(self._limits),
        }


_UNSAID: Final = (
    "the other machine was told to end the command and did not say in time that it has; its end is not here"
)


def _finished(ended: _Ended, output: Output) -> Finished:
    return Finished(
        exit_code=ended.exit_code,
        output=output.text(),
        timed_out=ended.timed_out,
        truncated=output.left_out > 0,
        notes=ended.notes,
    )


def _unavailable(error: ElisError) -> str:
    return f"shell is unavailable: {error.message}. Commands never run here instead"
