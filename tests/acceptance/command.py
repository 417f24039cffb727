"""Runs the installed command `elis` as a script would: in a process of its own, with its streams apart."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from host.config.home import Home

ELIS = Path(sys.executable).with_name("elis")
A = TypeVar("A", str, str | bytes)  # an argument of a command

BOUND_SECONDS = 60.0  # for anything a command may take; a shared machine starts Python slowly


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return standard output as the one JSON value that it is."""
        return json.loads(self.out)


class Command:
    """A command that runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._err: list[str] = []

    @classmethod
    async def start(
        cls, home: Home, *arguments: str | bytes, said: bytes | None = None, stdin: int = asyncio.subprocess.DEVNULL
    ) -> "Command":
        """Start `elis` with arguments on a home, in a session of its own.

        `said` is all of its standard input; otherwise that is `stdin`.
        """
        environment = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "HOME"}}
        process = await asyncio.create_subprocess_exec(
            ELIS,
            *arguments,
            env={**environment, "ELIS_HOME": str(home.root), "HTTP_PROXY": "http://127.0.0.1:9", "COLUMNS": "200"},
            stdin=stdin if said is None else asyncio.subprocess.PIPE,
            start_new_session=True,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        if said is not None and process.stdin is not None:
            process.stdin.write(said)
            process.stdin.close()
        return cls(process)

    async def said(self, words: str) -> str:
        """Wait for a line of standard error that holds `words`; return it."""
        assert self._process.stderr is not None
        async with asyncio.timeout(BOUND_SECONDS):
            while line := (await self._process.stderr.readline()).decode():
                self._err.append(line)
                if words in line:
                    return line
        message = f"the command ended without saying {words!r}: {''.join(self._err)}"
        raise AssertionError(message)

    async def asked(self, words: str) -> None:
        """Wait until standard error ends in a prompt that holds `words`."""
        assert self._process.stderr is not None
        said = ""
        async with asyncio.timeout(BOUND_SECONDS):
            while words not in said:
                piece = (await self._process.stderr.read(1024)).decode()
                assert piece, said
                said += piece
        self._err.append(said)

    async def printed(self) -> str:
        """Wait for the next line of standard output."""
        assert self._process.stdout is not None
        async with asyncio.timeout(BOUND_SECONDS):
            return (await self._process.stdout.readline()).decode()

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        self._process.send_signal(2)

    async def end(self, given: bytes | None = None) -> Ran:
        """Wait for the end; `given` is written to a standard input that is a pipe."""
        async with asyncio.timeout(BOUND_SECONDS):
            out, err = await self._process.communicate(given)
        assert self._process.returncode is not None
        return Ran(code=self._process.returncode, out=out.decode(), err="".join(self._err) + err.decode())


async def elis(home: Home, *arguments: str | bytes) -> Ran:
    """Run `elis` with arguments on a home until it ends."""
    return await (await Command.start(home, *arguments)).end()


async def elis_with(home: Home, given: str, *arguments: str) -> Ran:
    """Run `elis` with `given` on its standard input."""
    return await (await Command.start(home, *arguments, stdin=asyncio.subprocess.PIPE)).end(given.encode())


async def together(home: Home, commands: list[tuple[A, ...]]) -> dict[tuple[A, ...], Ran]:
    """Run several commands, as many at once as there are cores; return what each left behind."""
    cores = asyncio.Semaphore(os.cpu_count() or 1)

    async def one(arguments: tuple[A, ...]) -> Ran:
        async with cores:
            return await elis(home, *arguments)

    return dict(zip(commands, await asyncio.gather(*map(one, commands)), strict=True))
