"""The way to the far end, made when it is first needed and again when it was lost.

One connection serves all lanes of a group. Whoever waits for it to be made does not hold a loop; a Stop leaves the
making to itself.
"""

import asyncio
import concurrent.futures
import hashlib
import os
import socket
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from host.errors import ToolFailed, Unsupported
from host.excerpts import beginning
from host.tools import leftovers
from host.tools.far.loading import MODULES, payload
from host.tools.far.wire import Garbled, Message, packed
from host.tools.roots import Root
from host.tools.ssh import client
from host.tools.ssh.connection import Answer, Connection, LinkLost, Listener

_BEGIN_SECONDS: Final = 25.0  # to connect, log in and open the root
SILENCE_SECONDS: Final = 20.0  # after which the far end takes the connection for cut and ends all that runs there
_BEATS: Final = 4  # signs of life in that time
_SHORT: Final = frozenset({"check", "folder", "keep", "keep_end"})  # answered at once, or the far end hangs
_OUTCOME_SECONDS: Final = 2.0  # that a Stop waits for how a change ended that was allowed already
_PACKAGES: Final = Path(__file__).parents[3]  # where `host` is imported from


class Link:
    """The connection of one group, as often as it must be made. Thread-safe."""

    def __init__(
        self,
        host: str,
        root: str,
        workspace: Root,
        *,
        search_path: str | None = None,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        """Lead to the folder `root` of `host`; `workspace` is the group's own here, by whose mark things are known.

        `ssh` is looked up on `search_path` (default: PATH).
        """
        self.host: Final = host
        self.root: Final = root
        self._mark = leftovers.mark(workspace)
        self._search_path = search_path
        self._silence_seconds = silence_seconds
        self._making = threading.Lock()
        self._connection: Connection | None = None
        self._tried: Connection | None = None  # the last that was begun, whatever became of it
        self._hello: Message = {}
        self._closed = False

    async def ask(self, op: str, data: bytes = b"", *, listener: Listener | None = None, **asked: Any) -> Answer:  # noqa: ANN401 - JSON
        """Have something done at the far end; raise its error, Unsupported when it cannot be reached, or LinkLost.

        Who is cancelled meanwhile leaves nothing running there, and nothing that will be done later: where a change was
        allowed already, its end is waited for. What takes no time is waited for as long as a silence may last.
        """
        connection = await self.ready()
        try:
            number, future = connection.ask(op, asked, data, listener)
        except Garbled as error:
            message = f"{len(data)} bytes are more than can be sent to {self.host} at once"
            raise ToolFailed(message) from error
        waiter = asyncio.wrap_future(future)
        try:
            async with asyncio.timeout(self._silence_seconds if op in _SHORT else None):
                return await asyncio.shield(waiter)
        except asyncio.CancelledError:
            if connection.withdraw(number):
                await asyncio.wait({waiter}, timeout=_OUTCOME_SECONDS)
            raise
        except TimeoutError:
            self.cut_if_silent(connection)
            message = (
                f"{self.host} did not answer within {self._silence_seconds:g} s. Fix: see whether it is well, "
                f"and the disk under {self.root} there"
            )
            raise Unsupported(message) from None
        finally:
            connection.withdraw(number, at_once=True)
            _retrieved(waiter)

    def cut_if_silent(self, connection: Connection) -> None:
        """End a connection by which nothing came for longer than a silence may last; one that is slow serves others."""
        if connection.silent_for(self._silence_seconds):
            connection.cut()

    async def ready(self) -> Connection:
        """Return the connection, made if need be; raise Unsupported with the fix."""
        connection = self._connection
        if connection is not None and connection.alive:
            return connection
        return await asyncio.to_thread(self.made)

    def made(self) -> Connection:
        """Do as `ready`, holding the thread."""
        with self._making:
            if self._connection is not None and self._connection.alive:
                return self._connection
            if self._closed:
                raise Unsupported("the group is being closed")
            self._tried = connection = self._started()
            try:
                self._hello = _heard(self.host, self.root, connection)
            except BaseException:
                connection.cut()
                raise
            self._connection = connection
            return connection

    @property
    def connected(self) -> bool:
        """Whether there is a connection at present."""
        return self._connection is not None and self._connection.alive

    def told_at_first(self) -> Mapping[str, Any]:
        """Return what the far end said of itself when the connection was made."""
        return self._hello

    def cut(self) -> None:
        """End the connection, if there is one; the next request makes another."""
        if self._tried is not None:
            self._tried.cut()

    def close(self) -> None:
        """End the connection for good."""
        self._closed = True
        self.cut()

    def _started(self) -> Connection:
        settings = {"root": self.root, "mark": _far_mark(self._mark), "silence_seconds": self._silence_seconds}
        argv = client.command_line(self.host, self._search_path)
        try:
            connection = Connection(
                argv,
                client.environment(os.environ) | self._mark,
                payload(_sources(), "host.tools.far.agent") + packed(settings),
                beat_seconds=self._silence_seconds / _BEATS,
            )
        except OSError as error:
            raise Unsupported(client.why_not(self.host, str(error))) from error
        return connection


def _retrieved(waiter: "asyncio.Future[Answer]") -> None:
    """Wait no more; an error that nobody asked for is no fault of the loop's."""
    if waiter.get_loop().is_closed():
        return
    if not waiter.cancel() and not waiter.cancelled():
        waiter.exception()


def _heard(host: str, root: str, connection: Connection) -> Message:
    """Return the far end's first words; raise Unsupported with the fix."""
    try:
        hello = connection.hello.result(_BEGIN_SECONDS)
    except LinkLost:
        raise Unsupported(client.why_not(host, connection.words)) from None
    except concurrent.futures.TimeoutError:
        said = f"it did not answer within {_BEGIN_SECONDS:g} s. {connection.words}"
        raise Unsupported(client.why_not(host, said)) from None
    if hello.get("hello") is not True:
        message = (
            f"on {host} the folder {root} cannot be used ({beginning(str(hello.get('why')), 300)}). Fix: make it "
            "there, as the user that ssh logs in as, or correct sandbox.root"
        )
        raise Unsupported(message)
    return hello


def _far_mark(mark: Mapping[str, str]) -> str:
    """Return the mark for processes of this workspace on another machine, which says nothing of this one."""
    text = f"{socket.gethostname()} {mark[leftovers.MARK]}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def _sources() -> dict[str, str]:
    """Return the modules that are sent, by name."""
    return {name: _source(name) for name in MODULES}


def _source(name: str) -> str:
    path = _PACKAGES.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")
