"""The one way from the command line to a running host: its HTTP API, found through the home's `run/address`.

Transport failures and problem documents become `Failure` here and nowhere else; commands above see records or a
Failure, never a status code. (The contract: Command line, HTTP.)
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from http import HTTPStatus
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from host.config.home import Home
from host.config.tls import trust
from host.errors import NotFound, ResourceBusy
from host.groups.port import Draft, EventView
from host.stops import Reason

T = TypeVar("T")

PREFIX: Final = "/api/v1"
STARTING_SECONDS: Final = 60.0  # how long a group may take to start before a command gives up on it
_PAUSE_SECONDS: Final = 0.5
_CONNECT_SECONDS: Final = 5.0  # on this machine a connection is there at once or never
_ANSWER_SECONDS: Final = 120.0
_SLOW_SECONDS: Final = 1800.0  # a check of a journal takes about a minute for a million events
_HEARTBEATS_SECONDS: Final = 60.0  # a stream says something every 15 s; four silences are a dead connection

USAGE: Final = 2
UNKNOWN_NAME: Final = 1  # also where what is asked for makes no sense
_SHORT: Final = 60  # characters of a name that is none
_NAME: Final = re.compile(r"(?!\.{1,2}$)[^\x00-\x20\x7f/\\]{1,200}")  # whatever could be one, in an address too


class Failure(Exception):
    """A command cannot do its work: what to tell the person, and the exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        """Take the words and the code."""
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


class LostConnection(Failure):
    """No host is there, or it went away in the middle; what it was doing may go on."""

    def __init__(self, message: str) -> None:
        """Take the words; the code is that of a host that is not running."""
        super().__init__(message, Reason.RESOURCE_BUSY.exit_code)


class _Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An RFC 9457 document as far as it is read here."""

    title: str = ""
    detail: str = ""
    reason: str = ""


StreamItem = EventView | Draft


class Api:
    """A client of one running host. Use it as an async context manager."""

    def __init__(self, home: Home) -> None:
        """Find the host of `home`; raise LostConnection when none runs there."""
        self._home = home
        try:
            self._address = home.address()
            token = home.token()
        except (NotFound, ResourceBusy) as error:
            raise LostConnection(home.not_running()) from error
        self._client = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
            trust_env=False,  # a proxy of the environment is not for this machine's own loopback
            verify=trust(home.certificate) if self._address.startswith("https:") else True,
        )

    async def __aenter__(self) -> Self:
        """Begin."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Release the connections."""
        await self._client.aclose()

    async def probe(self) -> None:
        """Raise LostConnection unless something listens there."""
        with self._translated():
            await self._client.get(self._address + "/healthz")

    async def get(self, path: str, kind: type[T], **query: str | int) -> T:
        """Return what is at `path`, as a record of `kind`."""
        return _decode(await self._request("GET", path, query), kind)

    async def get_slowly(self, path: str, kind: type[T]) -> T:
        """Return what is at `path`, where the host works for it."""
        return _decode(await self._request("GET", path, {}, seconds=_SLOW_SECONDS), kind)

    async def get_bytes(self, path: str) -> bytes:
        """Return what is at `path`, as it is."""
        return (await self._request("GET", path, {})).content

    async def post(self, path: str, kind: type[T], body: msgspec.Struct | dict[str, Any] | None = None) -> T:
        """Send `body` to `path` and return the answer."""
        return _decode(await self._request("POST", path, {}, msgspec.json.encode(body or {})), kind)

    async def put(self, path: str, kind: type[T], body: dict[str, Any]) -> T:
        """Put `body` at `path` and return the answer."""
        return _decode(await self._request("PUT", path, {}, msgspec.json.encode(body)), kind)

    async def delete(self, path: str, kind: type[T], **query: str | int) -> T:
        """Delete what is at `path` and return the answer."""
        return _decode(await self._request("DELETE", path, query), kind)

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """Yield the lines of a long answer as they come."""
        with self._translated():
            async with self._client.stream("GET", self._address + PREFIX + path) as response:
                if response.is_error:
                    await response.aread()
                    raise _failure(response)
                async for line in response.aiter_lines():
                    yield line.encode()

    @contextlib.asynccontextmanager
    async def follow(self, group: str, after: int) -> AsyncGenerator[AsyncIterator[StreamItem]]:
        """Open the group's stream of events after the sequence `after`, with drafts between them.

        The iterator raises Failure when the group cannot be reached, LostConnection when the host goes away.
        """
        url = self._address + PREFIX + group_path(group, "events")
        timeout = httpx2.Timeout(_HEARTBEATS_SECONDS, connect=_CONNECT_SECONDS)
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        with self._translated():
            async with self._client.stream("GET", url, headers=headers, timeout=timeout) as response:
                if response.is_error:
                    await response.aread()
                    raise _failure(response)
                yield self._items(httpx2.EventSource(response, max_event_size=None))

    async def _items(self, source: httpx2.EventSource) -> AsyncIterator[StreamItem]:
        with self._translated():
            async for event in source:
                match event.event:
                    case _ if not event.data:
                        continue
                    case "draft":
                        yield msgspec.json.decode(event.data, type=Draft)
                    case "problem":
                        raise _of_problem(msgspec.json.decode(event.data, type=_Problem))
                    case _:
                        yield msgspec.json.decode(event.data, type=EventView)
        message = "the host closed the stream"
        raise LostConnection(message)

    async def _request(
        self,
        method: str,
        path: str,
        query: dict[str, str | int],
        content: bytes | None = None,
        seconds: float = _ANSWER_SECONDS,
    ) -> httpx2.Response:
        """Make a request, waiting for a group that is still starting."""
        timeout = httpx2.Timeout(seconds, connect=_CONNECT_SECONDS)
        patience = time.monotonic() + STARTING_SECONDS
        while True:
            with self._translated():
                response = await self._client.request(
                    method,
                    self._address + PREFIX + path,
                    params=query,
                    content=content,
                    headers=_JSON,
                    timeout=timeout,
                )
            if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE and time.monotonic() < patience:
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if response.is_error:
                raise _failure(response)
            return response

    @contextlib.contextmanager
    def _translated(self) -> Generator[None]:
        """Turn the transport's errors and answers that cannot be read into failures."""
        try:
            yield
        except httpx2.ConnectError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                message = (
                    f"what listens at {self._address} shows another certificate than the host of this home, or one "
                    f"that is not valid now ({error}); renew [host] tls_certificate and start the host again"
                )
                raise Failure(message, Reason.RESOURCE_BUSY.exit_code) from error
            # Otherwise the address was left behind by a host that was killed.
            raise LostConnection(self._home.not_running()) from error
        except httpx2.ReadTimeout as error:
            message = "the host does not answer; `elis doctor` looks for the cause"
            raise LostConnection(message) from error
        except httpx2.TransportError as error:
            message = f"the connection to the host was lost ({type(error).__name__}); try again"
            raise LostConnection(message) from error
        except msgspec.DecodeError as error:
            message = f"what answers at {self._address} speaks another version; use the elis command of that host"
            raise Failure(message, Reason.PROTOCOL_VIOLATION.exit_code) from error


_JSON: Final = {"Content-Type": "application/json", "Accept": "application/json"}


def group_path(group: str, *rest: str | int) -> str:
    """Return the API path of a group or of something in it; raise Failure for what can be no name or id."""
    return path_of("groups", group, *rest)


def path_of(*parts: str | int) -> str:
    """Return an API path; raise Failure for a part that would lead elsewhere, for nothing has such a name or id."""
    for part in map(str, parts):
        if not _NAME.fullmatch(part):
            shown = repr(part if len(part) <= _SHORT else part[:_SHORT] + "…")
            message = f"nothing is called {shown}: names and ids have at least one character, no blank and no slash"
            raise Failure(message, UNKNOWN_NAME)
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def _decode(response: httpx2.Response, kind: type[T]) -> T:
    return msgspec.json.decode(response.content, type=kind)


def _failure(response: httpx2.Response) -> Failure:
    """Return what an answer that is no success means for the person."""
    try:
        problem = msgspec.json.decode(response.content, type=_Problem)
    except msgspec.DecodeError:
        problem = _Problem(title=response.reason_phrase)
    if response.status_code == HTTPStatus.NOT_FOUND:
        return Failure(problem.detail or problem.title, UNKNOWN_NAME)
    if response.status_code in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}:
        return Failure(problem.detail or problem.title, UNKNOWN_NAME)
    if response.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.MISDIRECTED_REQUEST}:
        message = f"what listens there is not the host of this home: {problem.detail or problem.title}"
        return Failure(message, Reason.RESOURCE_BUSY.exit_code)
    return _of_problem(problem)


def _of_problem(problem: _Problem) -> Failure:
    words = problem.detail or problem.title or "the host failed and did not say how; its log in run/logs may"
    try:
        reason = Reason(problem.reason)
    except ValueError:
        reason = Reason.UNKNOWN
    return Failure(words, reason.exit_code)
