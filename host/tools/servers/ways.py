"""How a tool server is reached: a program in a sandbox of its own, or an address behind the egress proxy (BOX-5).

A way is opened for each start of the server and cut at once from any thread. It gives the streams of a session and
keeps the server's last words. What is said over them is `host.tools.servers.link`'s matter.
"""

import asyncio
import contextlib
import logging
import os
import shlex
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

from browser.proxy import Door
from host.errors import ElisError
from host.excerpts import ending
from host.tools.box import SYSTEM_PATH
from host.tools.bwrap import BwrapSandbox
from host.tools.egress import Egress
from host.tools.finished import Finished
from host.tools.servers import link, pipes
from host.tools.servers.errors import ServerFailed
from host.tools.servers.words import clean
from host.tools.web_exchange import DoorTransport

_LOG: Final = logging.getLogger(__name__)

LIFE_SECONDS: Final = 30 * 86_400.0  # a server is started anew after that; its processor time is bounded by it too
ANSWER_BYTES: Final = 16 << 20  # of one answer over HTTP
_LOG_BYTES: Final = 64 << 10  # of what one start of a server may write into the log
_LINE_CHARS: Final = 500
_LAST_WORDS_CHARS: Final = 600
_DOOR_SECONDS: Final = 0.05
_APART: Final = {"PATH": SYSTEM_PATH, "PYTHONPATH": ""}
"""A server whose entry shows it the workspace must take neither settings nor code from there: a model has it written,
and the server may hold secrets. So it does not begin in it either."""


class Way(Protocol):
    """How one server is reached."""

    def open(self, ended: Callable[[], None], wanted: Callable[[], bool]) -> AbstractAsyncContextManager[Any]:
        """Start or reach the server and give the streams of a session; `ended` is called when it is over by itself.

        `wanted` says whether it is to be there at all. It says no before `cut` is called, and is asked after
        everything that `cut` could not see yet.
        """
        ...

    def cut(self) -> None:
        """End it at once, from any thread: nothing that it does has an effect after this."""
        ...

    def last_words(self) -> str:
        """Say how it ended, as far as it is known."""
        ...


class Program:
    """A server that is started by command."""

    def __init__(
        self,
        name: str,
        command: tuple[str, ...],
        sandbox: BwrapSandbox,
        environment: Callable[[], Awaitable[dict[str, str]]],
    ) -> None:
        """`sandbox` runs nothing else; `environment` lends the secrets at each start."""
        self._name = name
        self._command = command
        self._sandbox = sandbox
        self._environment = environment
        self._end = ""

    @contextlib.asynccontextmanager
    async def open(self, ended: Callable[[], None], wanted: Callable[[], bool]) -> AsyncGenerator[Any]:
        """Start the program; it is gone when this ends, and nothing of it runs that is not wanted any more."""
        self._end = ""
        environment = {**_APART, **await self._environment()}
        _refuse_unwanted(wanted)  # a vault may have taken its time
        log = _Log(self._name)
        theirs_in, writing = os.pipe2(os.O_CLOEXEC)
        reading, theirs_out = os.pipe2(os.O_CLOEXEC)
        # What the shell that waits in the box becomes: its own output, which is the log's, stays standard error.
        text = (
            f"cd /; exec </proc/self/fd/{theirs_in} >/proc/self/fd/{theirs_out}; read -r go || exit; "
            f"exec {shlex.join(self._command)}"
        )
        running = asyncio.create_task(
            self._sandbox.run(
                text,
                cwd=".",
                timeout_seconds=LIFE_SECONDS,
                environment=environment,
                on_output=log.feed,
                caller=f"mcp:{self._name}",
                passed=(theirs_in, theirs_out),
            ),
            name=f"tool server {self._name}",
        )
        running.add_done_callback(self._note)
        try:
            await _let_go(reading, writing, wanted)
            async with pipes.streams(reading, writing, log.stray, ended) as pair:
                yield pair
        finally:
            await _over(running, wanted)
            log.close()

    def cut(self) -> None:
        """Kill it and everything it started."""
        self._sandbox.kill_all()

    def last_words(self) -> str:
        """Return its exit code with the end of what it wrote to standard error, or why it could not start."""
        return self._end

    def _note(self, running: "asyncio.Task[Finished]") -> None:
        if running.cancelled():
            return
        error = running.exception()
        if error is not None:
            words = error.message if isinstance(error, ElisError) else f"{type(error).__name__}: {error}"
            self._end = words.replace("shell is unavailable", "it cannot be started", 1)
            return
        finished = running.result()
        said = clean(ending(finished.output.strip(), _LAST_WORDS_CHARS), _LAST_WORDS_CHARS + 1)
        parts = (f"exit code {finished.exit_code}", *finished.notes, *((f"it said: {said}",) if said else ()))
        self._end = "; ".join(parts)


class Address:
    """A server that is reached by URL."""

    def __init__(self, name: str, url: str, egress: Egress, token: Callable[[], Awaitable[str]]) -> None:
        """`egress` lists the host of `url` and no other; `token` lends the bearer token, "" where there is none."""
        self._name = name
        self._url = url
        self._egress = egress
        self._token = token
        self._door: Door | None = None
        self._end = ""

    @contextlib.asynccontextmanager
    async def open(self, ended: Callable[[], None], wanted: Callable[[], bool]) -> AsyncGenerator[Any]:
        """Reach it through a door of its own."""
        del ended  # a session over HTTP has no end of its own: a call finds out
        self._end = ""
        token = await self._token()
        door = self._door = self._egress.door(f"mcp:{self._name}")
        carrier = DoorTransport(door, self._egress.trust(), ANSWER_BYTES)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        try:
            _refuse_unwanted(wanted)
            async with link.remote(self._url, carrier, headers) as pair:
                yield pair
        finally:
            self._end = "; ".join(door.refusals())
            door.close(_DOOR_SECONDS)

    def cut(self) -> None:
        """Close every connection; what the server does with what it has got is out of reach."""
        if self._door is not None:
            self._door.close(0)

    def last_words(self) -> str:
        """Return what the proxy refused."""
        return self._end


class _Log:
    """What a server writes to standard error, line by line and in bounds, into the log of its group."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = ""
        self._left = _LOG_BYTES

    def feed(self, text: str) -> None:
        """Take what came."""
        *lines, self._rest = (self._rest + text).split("\n")
        self._rest = self._rest[: 2 * _LINE_CHARS]  # what comes behind a cut is never shown
        for line in lines:
            self._say(line)

    def stray(self, what: str) -> None:
        """Take what came over standard output and is no message."""
        self._say(f"on standard output, {what}")

    def close(self) -> None:
        """Take what had no end."""
        self._say(self._rest)

    def _say(self, line: str) -> None:
        if not line.strip() or self._left <= 0:
            return
        self._left -= len(line)
        _LOG.info("tool server %s: %s", self._name, clean(line, _LINE_CHARS))
        if self._left <= 0:
            _LOG.info("tool server %s: writes too much; the rest of this start is left out", self._name)


def _refuse_unwanted(wanted: Callable[[], bool]) -> None:
    if not wanted():
        raise ServerFailed("it was ended before it began")


async def _let_go(reading: int, writing: int, wanted: Callable[[], bool]) -> None:
    """Let the shell in the box become the program; close both descriptors and raise ServerFailed if it must not.

    A box is started in one step of the loop, in which another thread cannot cut it yet. So it is asked once more
    whether it is wanted when the sandbox knows of it: whoever cuts it from then on finds it.
    """
    try:
        await asyncio.sleep(0)
        _refuse_unwanted(wanted)
        with contextlib.suppress(BrokenPipeError):  # it failed in its set-up
            os.write(writing, b"\n")
    except BaseException:
        os.close(reading)
        os.close(writing)
        raise


async def _over(running: "asyncio.Task[Finished]", wanted: Callable[[], bool]) -> None:
    """End the program, give it a moment so that its own end is known unless it was cut, and wait for it."""
    done, _ = await asyncio.wait({running}, timeout=_DOOR_SECONDS if wanted() else 0)
    if not done:
        running.cancel()
        await asyncio.wait({running})
