"""Keeps the embedded model's process running and lets it end with the host.

Starts it, waits until it answers, starts it again with growing pauses when it dies, stops it in bounded time. Address
and key stay the same over restarts, so that whoever holds them need not be told. Knows nothing of models.
"""

import asyncio
import contextlib
import os
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec

from host.errors import ModelUnavailable, Unsupported

COMMAND: Final = (sys.executable, "-I", "-m", "host.services.embedded_model")
READY_SECONDS: Final = 60.0  # a hundred megabytes from a slow disk
STOP_SECONDS: Final = 2.0  # for each way of asking it to go
FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 30.0
STEADY_SECONDS: Final = 60.0  # who ran that long has earned a short pause again
PASSED_ON: Final = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "TZ")  # nothing else of the host's environment


class _Line(msgspec.Struct):
    base_url: str = ""
    error: str = ""


class EmbeddedModel:
    """The process and the task that watches over it; belongs to the event loop that started it."""

    def __init__(
        self,
        *,
        command: Sequence[str] = COMMAND,
        ready_seconds: float = READY_SECONDS,
        stop_seconds: float = STOP_SECONDS,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`command` gets `--port N` appended; `pause` waits before a restart."""
        self.key: Final = secrets.token_urlsafe(32)
        self.starts = 0  # how often it became ready
        self.problem = ""  # why it is not running; empty while it is
        self._command = tuple(command)
        self._ready_seconds = ready_seconds
        self._stop_seconds = stop_seconds
        self._pause = pause
        self._base_url = ""
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        """What precedes /chat/completions; the same from the first start on. Raise ModelUnavailable before."""
        if not self._base_url:
            message = "the embedded model has not been started"
            raise ModelUnavailable(message)
        return self._base_url

    @property
    def pid(self) -> int | None:
        """The process that serves, if there is one."""
        return self._process.pid if self._process is not None else None

    async def start(self) -> None:
        """Start the process and return when it answers; raise Unsupported (it never can) or ModelUnavailable."""
        await self._launch()
        self._watch = asyncio.create_task(self._keep(), name="embedded model")

    async def stop(self) -> None:
        """End the process: close its stdin, then ask, then force."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
        await self._end()

    async def _keep(self) -> None:
        """Start it again whenever it dies, until it says that it never can run."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            began = time.monotonic()
            if self._process is not None:
                code = await self._process.wait()
                self.problem = f"the embedded model's process ended with code {code}; it is being started again"
            if time.monotonic() - began > STEADY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            await self._pause(pause)
            pause = min(LONGEST_PAUSE_SECONDS, pause * 2)
            try:
                await self._launch()
            except Unsupported as never:
                self.problem = never.message
                return
            except ModelUnavailable as failure:
                self.problem = failure.message

    async def _launch(self) -> None:
        """Start the process and wait until it answers; without success none is left."""
        await self._end()
        try:
            process = self._process = await self._spawn()
            self._base_url = await self._announced(process)
        except BaseException:
            await self._end()
            raise
        self.starts += 1
        self.problem = ""

    async def _spawn(self) -> asyncio.subprocess.Process:
        port = urlsplit(self._base_url).port or 0
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return await asyncio.create_subprocess_exec(
            *self._command,
            "--port",
            str(port),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment | {"ELIS_EMBEDDED_KEY": self.key},
            start_new_session=True,  # a Ctrl-C at the terminal is the host's to answer
        )

    async def _announced(self, process: asyncio.subprocess.Process) -> str:
        """Return the address that the process prints once it answers."""
        assert process.stdout is not None  # noqa: S101 - it was asked for above
        try:
            async with asyncio.timeout(self._ready_seconds):
                raw = await process.stdout.readline()
            line = msgspec.json.decode(raw, type=_Line)
        except TimeoutError as error:
            message = f"the embedded model was not ready within {self._ready_seconds:g} s"
            raise ModelUnavailable(message) from error
        except msgspec.DecodeError as error:
            message = "the embedded model's process ended before it was ready; run it by hand to see why: "
            raise ModelUnavailable(message + " ".join(self._command)) from error
        if line.error:
            raise Unsupported(line.error)
        return line.base_url

    async def _end(self) -> None:
        """End what runs, by ever stronger means, and reap it."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None  # noqa: S101 - it was asked for at the start
        for means in (process.stdin.close, process.terminate, process.kill):
            with contextlib.suppress(ProcessLookupError):
                means()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._stop_seconds):
                    await process.wait()
                    return
