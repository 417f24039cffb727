"""One HTTP exchange with a model server: the only place here that knows requests, responses and their errors.

Exactly one request per call (TURN-1): httpcore2, the layer below httpx2, knows nothing of retries, redirects, cookies
or authentication and costs 0.5 ms less a reply. What the bytes mean is a Reader's business. Event loops never share
connections, so each loop that uses a provider gets a pool of its own.
"""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from functools import cache
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import httpcore2
import httpx2
import msgspec

from host.errors import SettingsError
from host.excerpts import beginning
from host.models.conversation import AttemptError
from host.models.network import Network
from host.models.reply import ReplyDraft
from host.models.retry import SILENCE_SECONDS, is_retryable, retry_after_seconds
from host.models.sse import EventStream, EventTooLong
from host.stops import Reason

_CONNECT_SECONDS: Final = 10.0
_IDLE_SECONDS: Final = 30.0  # keeps a connection over a tool's run; httpx2's own 5 s would mean a TLS handshake a step
_END_SECONDS: Final = 0.25  # for the end of the body after the reply's end; without it the connection is lost
_SHOWN_CHARACTERS: Final = 500  # of a server's error message
_READ_BYTES: Final = 64 * 1024  # of an error's body
_LONGEST_BODY_BYTES: Final = 64 * 1024 * 1024  # of a reply; more is an attack or a fault
_OK: Final = 200
_REDIRECTS: Final = range(300, 400)
_ENCODING: Final = b"content-encoding"
_BROKEN: Final = (
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpx2.DecodingError,
)

T = TypeVar("T")


class Reader(Protocol):
    """Reads one wire format into `reply`; raises AttemptError where the format is broken."""

    @property
    def reply(self) -> ReplyDraft:
        """What has come so far."""
        ...

    def event(self, data: bytes) -> bool:
        """Take one event; True when nothing more is to come."""
        ...

    def whole(self, body: bytes) -> None:
        """Take a reply that was not streamed."""
        ...


class _ErrorBody(msgspec.Struct):
    error: Any = None
    message: Any = None
    detail: Any = None


def is_loopback(url: str) -> bool:
    """Say whether `url` names this machine, where a proxy of the environment must not come between."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def checked_url(base_url: str, path: str) -> str:
    """Return the address for requests; raise SettingsError where `base_url` is none."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        message = (
            f"base_url {base_url!r} is no http or https address; give the part before {path}, such as https://…/v1"
        )
        raise SettingsError(message)
    if parts.username or parts.password:
        message = "base_url holds a password; put it into api_key as a reference instead"
        raise SettingsError(message)
    return base_url.rstrip("/") + path


def decoded(data: bytes, decode: Callable[[bytes], T], kind: type[T]) -> T:
    """Return what `decode` makes of a message; raise ValueError or RecursionError.

    Servers in Python write numbers that JSON does not have, such as NaN, and forget them in counts and scores beside
    a good reply; the standard library reads them.
    """
    try:
        return decode(data)
    except ValueError as error:
        try:
            return msgspec.convert(json.loads(data), kind)
        except (ValueError, RecursionError):
            raise error from None


def error_text(body: bytes) -> str:
    """Return the sentence in a server's error body, whatever its shape; shortened."""
    try:
        parsed = msgspec.json.decode(body, type=_ErrorBody)
        text = _sentence(parsed.error) or _sentence(parsed.message) or _sentence(parsed.detail) or body.decode()
    except (ValueError, RecursionError, OverflowError):
        text = body.decode(errors="replace")
    return beginning(" ".join(text.split()), _SHOWN_CHARACTERS)


def _sentence(value: Any) -> str:  # noqa: ANN401 - servers put anything here
    match value:
        case str():
            return value
        case {"message": str(message)}:
            return message
        case None:
            return ""
        case _:
            return msgspec.json.encode(value).decode()


class Connection:
    """A model server's address and the open connections to it."""

    def __init__(
        self, url: str, headers: Mapping[str, str], *, key: str | None, silence_seconds: float = SILENCE_SECONDS
    ) -> None:
        """`headers` carry the key already; `key` is what must not appear in any message. Raise SettingsError."""
        if key is not None and not (key.isascii() and key.isprintable()):
            message = (
                "the api_key holds characters that no key has, such as a line break; see what its reference yields"
            )
            raise SettingsError(message)
        self.url = url
        self._target = _target(url)
        sent = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",  # compression would hold text back
            "user-agent": "elis",
            **headers,
        }
        self._headers = [(name.encode(), value.encode()) for name, value in sent.items()]
        self._key = key
        timeout = httpx2.Timeout(silence_seconds, connect=min(_CONNECT_SECONDS, silence_seconds), pool=None)
        self._extensions = {"timeout": timeout.as_dict()}
        self._silence_seconds = silence_seconds
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, httpcore2.AsyncConnectionPool] = WeakKeyDictionary()
        self._lock = threading.Lock()

    async def exchange(self, body: bytes, reader: Reader) -> None:
        """Send `body` and feed the answer to `reader`; raise AttemptError. Cancelling closes the connection."""
        sending = self._pool().stream(
            b"POST", self._target, headers=self._headers, content=body, extensions=self._extensions
        )
        try:
            async with sending as response:
                if response.status != _OK:
                    raise await self._refusal(response)
                reader.reply.arrived.accepted = True
                await self._read(response, reader)
        except _BROKEN as error:
            if isinstance(error, httpcore2.ReadTimeout):
                reader.reply.arrived.accepted = True  # it has the whole request, and may well be at work on it
            if not reader.reply.complete:
                raise self._broken(error, reader) from error
        except EventTooLong as error:
            detail = f"{self.url} sent more than a reply can hold"
            raise AttemptError(
                detail, reason=Reason.PROTOCOL_VIOLATION, retryable=False, received=reader.reply.received, status=_OK
            ) from error

    async def _read(self, response: httpcore2.Response, reader: Reader) -> None:
        kind = _field(response, b"content-type")
        if kind.startswith("application/json"):
            reader.whole(await _bounded(response, _LONGEST_BODY_BYTES))
            return
        events = EventStream()
        size = 0
        async with aclosing(_chunks(response)) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > _LONGEST_BODY_BYTES:
                    raise EventTooLong
                for data in events.feed(chunk):
                    if reader.event(data):
                        await _drain(chunks)
                        return
        for data in events.close():
            if reader.event(data):
                return
        if size and not reader.reply.begun and not kind.startswith("text/event-stream"):
            detail = f"{self.url} answered with {kind or 'something'}, which is no model's reply; check base_url"
            raise AttemptError(detail, reason=Reason.PROTOCOL_VIOLATION, retryable=False, status=_OK)

    async def _refusal(self, response: httpcore2.Response) -> AttemptError:
        status = response.status
        said = self._without_key(error_text(await _bounded(response, _READ_BYTES)))
        if status in _REDIRECTS:
            said = f"it redirects to {_field(response, b'location') or '?'}; put that address into base_url"
        return AttemptError(
            f"{self.url} answered {status}: {said}" if said else f"{self.url} answered {status}",
            reason=Reason.MODEL_UNAVAILABLE,
            retryable=is_retryable(status),
            retry_after_seconds=retry_after_seconds(_field(response, b"retry-after") or None, time.time()),
            status=status,
        )

    def _broken(self, error: Exception, reader: Reader) -> AttemptError:
        if isinstance(error, httpcore2.ReadTimeout):
            what = f"{self.url} sent nothing for {self._silence_seconds:g} s"
        elif isinstance(error, httpcore2.ConnectError | httpcore2.ConnectTimeout):
            what = f"{self.url} cannot be reached ({error or type(error).__name__}); is the server running?"
        else:
            what = f"the connection to {self.url} broke ({error or type(error).__name__})"
        return AttemptError(self._without_key(what), retryable=True, received=reader.reply.received)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "«key»") if self._key else text

    def _pool(self) -> httpcore2.AsyncConnectionPool:
        loop = asyncio.get_running_loop()
        with self._lock:
            pool = self._pools.get(loop)
            if pool is None:
                pool = self._pools[loop] = _pool_to(self.url)
            return pool

    async def aclose(self) -> None:
        """Close this loop's connections; those of other loops close where they are."""
        with self._lock:
            pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()


async def get_body(url: str, *, seconds: float, limit: int) -> bytes | None:
    """Return the body of a GET; None where nothing answers 200 within `seconds` and `limit` bytes."""
    try:
        async with asyncio.timeout(seconds), _pool_to(url) as pool, pool.stream(b"GET", _target(url)) as response:
            body = await _bounded(response, limit)
    except (*_BROKEN, TimeoutError):
        return None
    return body if response.status == _OK and len(body) <= limit else None


def _pool_to(url: str) -> httpcore2.AsyncConnectionPool:
    return httpcore2.AsyncConnectionPool(
        ssl_context=_trusted() if urlsplit(url).scheme == "https" else None,
        proxy=_proxy_for(url),
        max_connections=None,
        keepalive_expiry=_IDLE_SECONDS,
        network_backend=Network(),
    )


def _target(url: str) -> httpcore2.URL:
    parsed = httpx2.URL(url)  # knows international names and what has to be escaped
    return httpcore2.URL(scheme=parsed.raw_scheme, host=parsed.raw_host, port=parsed.port, target=parsed.raw_path)


@cache
def _trusted() -> ssl.SSLContext:
    """Return the authorities that are trusted; reading them takes long enough to be done once."""
    return httpx2.create_ssl_context()


def _proxy_for(url: str) -> httpcore2.Proxy | None:
    """Return the proxy that the environment names for `url`; never one for this machine."""
    parts = urlsplit(url)
    if is_loopback(url) or proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named:
        return None
    proxy = httpx2.Proxy(named)
    return httpcore2.Proxy(_target(str(proxy.url)), auth=proxy.raw_auth)


def _field(response: httpcore2.Response, name: bytes) -> str:
    """Return the value of a header, empty where it is missing."""
    return next((value.decode("latin-1") for field, value in response.headers if field.lower() == name), "")


class _Encoded(httpx2.AsyncByteStream):
    """A body that httpx2 is to decode."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        async for part in self._response.aiter_stream():
            yield part


def _chunks(response: httpcore2.Response) -> AsyncGenerator[bytes]:
    """Return the body as it arrives, decoded where a server compressed it although it was asked not to."""
    if not _field(response, _ENCODING):
        return response.aiter_stream()
    encoded = httpx2.Response(response.status, headers=response.headers, stream=_Encoded(response))
    return encoded.aiter_bytes()


async def _bounded(response: httpcore2.Response, limit: int) -> bytes:
    """Return the body, at most about `limit` bytes of it."""
    body = b""
    async with aclosing(_chunks(response)) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > limit:
                break
    return body


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read to the end of the body, so that the connection can be used again; it is usually there already."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            async for _ in chunks:
                pass
    except TimeoutError:
        return  # leaving the response closes the connection
