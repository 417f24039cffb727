"""One connection through the proxy: its request is judged, its name resolved once, its bytes carried and counted.

The address that was checked is the address that is connected to. A tunnel must greet, in TLS, the host that it was
opened for; only a port that is listed by its number carries anything else. What the tunnel holds after the greeting
cannot be seen: a server that serves many names may be asked for another one inside. A request for a whole address gets
one answer and no second request, so that nothing can follow it unjudged. The proxy owns when this runs and ends.
"""

import asyncio
import enum
import time
from collections.abc import Coroutine, Sequence
from typing import Final

import msgspec

from browser.client_hello import LONGEST, UNRECOGNIZED_NAME, State, greeting
from browser.errors import Refused, Rule
from browser.heads import Head, read_head
from browser.hosts import USUAL_PORTS, Entry, HostList
from browser.network import Limits, Network, Streams

_CHUNK: Final = 64 << 10
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
_LINGER_SECONDS: Final = 1.0  # a refused caller may still be sending; closing at once would destroy the answer
_LONGEST_SIZE: Final = 64  # bytes of the line that begins a chunk
_LONGEST_NUMBER: Final = 12  # hexadecimal digits of its size
_SHOWN: Final = 200
RULE_FIELD: Final = "x-elis-rule"
"""The field in which an answer of the proxy itself names its rule. A server can write one too: it proves nothing."""
DOOR_FIELD: Final = "x-elis-door"
"""The field by which whoever holds the door knows such an answer: it has the door's mark, which no server ever sees."""
_PHRASES: Final = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 504: "Gateway Timeout"}


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """For whom connections are carried."""

    caller: str  # whatever name the one who gave it knows the run by
    hosts: HostList
    advice: str = ""  # a sentence for the answer to a refused request: where the list stands


class Verdict(enum.StrEnum):
    """What became of a connection."""

    CARRIED = "carried"
    REFUSED = "refused"
    FAILED = "failed"  # admitted, and nothing was reached


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """A connection that has ended."""

    caller: str
    host: str  # as it was asked for, where it is no name
    port: int
    address: str  # connected to; empty when it did not come to that
    verdict: Verdict
    rule: Rule | None  # why it was not carried, or not to its end
    detail: str
    bytes_out: int
    bytes_in: int
    seconds: float


class Exchange:
    """One connection of a caller."""

    def __init__(self, streams: Streams, client: Client, network: Network, limits: Limits, mark: str) -> None:
        self._reader, self._writer = streams
        self._mark = mark
        self._client = client
        self._network = network
        self._limits = limits
        self._server: asyncio.StreamWriter | None = None
        self._timer: asyncio.Timeout | None = None
        self._idle_seconds = limits.idle_seconds
        self._began = time.monotonic()
        self._asked = False
        self._host, self._port, self._address = "", 0, ""
        self._carried = self._stopped = False
        self._ended: Refused | None = None
        self._out = self._in = 0

    async def run(self) -> None:
        """Carry it. Cancelling ends it at once; either way all that belongs to it is closed."""
        try:
            await self._carry()
        except Refused as error:
            self._ended = error
            await self._tell(error)
        except asyncio.CancelledError:
            self._stopped = True
            if not (self._carried and self._reader.at_eof()):  # else the caller had closed it before
                self._ended = self._ended or Refused(Rule.CALLER_ENDED, "the run for which it was carried is over")
            raise
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the caller or the server went away, or talked nonsense; what was carried counts
        finally:
            await self._close()

    def account(self) -> Connection | None:
        """Return what became of it; None where nothing was asked for."""
        if not self._asked:
            return None
        rule = self._ended.rule if self._ended else None
        failed = rule in _FAILURES or rule is None
        verdict = Verdict.CARRIED if self._carried else Verdict.FAILED if failed else Verdict.REFUSED
        return Connection(
            caller=self._client.caller,
            host=self._host,
            port=self._port,
            address=self._address,
            verdict=verdict,
            rule=rule,
            detail=str(self._ended) if self._ended else "",
            bytes_out=self._out,
            bytes_in=self._in,
            seconds=time.monotonic() - self._began,
        )

    async def _carry(self) -> None:
        data = await self._head()
        self._asked = True
        self._host = data.partition(b"\r\n")[0].decode("latin-1")[:_SHOWN]
        head = read_head(data)
        self._host, self._port = head.host, head.port
        entry = self._client.hosts.admit(head.host, head.port)
        if entry.tls and not head.tunnel:
            raise Refused(Rule.NOT_TLS, f"{head.host} is not listed, and was admitted for https alone")
        reader, server = await self._connected(await self._addresses(head.host), head.port)
        self._server = server
        self._carried = True
        if head.tunnel:
            self._writer.write(_ESTABLISHED)
            await self._relay(self._tunnel_out(entry), self._pass(reader, self._writer))
        else:
            server.write(head.rewritten)
            self._out += len(head.rewritten)
            await self._relay(self._request_out(head), self._pass(reader, self._writer), until_answered=True)

    async def _head(self) -> bytes:
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                return await self._reader.readuntil(b"\r\n\r\n")
        except TimeoutError as error:
            raise Refused(Rule.TIMED_OUT, "no whole request came in time", status=408) from error
        except asyncio.LimitOverrunError as error:
            self._asked = True
            message = f"the head of the request is larger than {self._limits.head_bytes} bytes"
            raise Refused(Rule.TOO_LARGE, message, status=431) from error

    async def _addresses(self, host: str) -> Sequence[str]:
        """Resolve once; what a second look would say does not matter."""
        try:
            async with asyncio.timeout(self._limits.resolve_seconds):
                addresses = await self._network.resolve(host)
        except TimeoutError as error:
            raise Refused(Rule.UNRESOLVED, f"the name {host} was not resolved in time", status=504) from error
        except (OSError, UnicodeError) as error:
            raise Refused(Rule.UNRESOLVED, f"the name {host} has no address ({error})", status=502) from error
        if not addresses:
            raise Refused(Rule.UNRESOLVED, f"the name {host} has no address", status=502)
        for address in addresses:
            if not self._network.is_public(address):
                self._address = address
                message = f"{host} leads to {address}, which is no public address"
                raise Refused(Rule.ADDRESS_NOT_PUBLIC, message)
        return addresses

    async def _connected(self, addresses: Sequence[str], port: int) -> Streams:
        said = ""
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                for address in addresses:
                    self._address = address
                    try:
                        return await self._network.connect(address, port)
                    except OSError as error:
                        said = error.strerror or str(error)
        except TimeoutError as error:
            message = f"{self._host} did not answer within {self._limits.connect_seconds:g} s"
            raise Refused(Rule.UNREACHABLE, message, status=504) from error
        raise Refused(Rule.UNREACHABLE, f"{self._host} cannot be reached ({said})", status=502)

    async def _relay(
        self, out: Coroutine[None, None, None], back: Coroutine[None, None, None], *, until_answered: bool = False
    ) -> None:
        """Carry both directions until both have ended, or one has failed; with `until_answered` until `back` has."""
        tasks = (asyncio.ensure_future(out), asyncio.ensure_future(back))
        pending = set(tasks)
        try:
            async with asyncio.timeout(self._idle_seconds) as self._timer:
                while pending and not (until_answered and tasks[1].done()):
                    done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        task.result()
        except TimeoutError:
            self._ended = Refused(Rule.TIMED_OUT, f"nothing was said for {self._idle_seconds:g} s")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry from the server to the caller."""
        while data := await reader.read(_CHUNK):
            self._count(back=len(data))
            writer.write(data)
            await writer.drain()
        self._half_close(writer)

    async def _tunnel_out(self, entry: Entry) -> None:
        assert self._server is not None  # noqa: S101 - connected before anything is relayed
        data = await self._greeting(entry)
        while data:
            self._count(out=len(data))
            self._server.write(data)
            await self._server.drain()
            data = await self._reader.read(_CHUNK)
        self._half_close(self._server)

    async def _greeting(self, entry: Entry) -> bytes:
        """Return the caller's first bytes once they have been judged."""
        data = b""
        while (said := greeting(data)).state is State.MORE:
            more = await self._reader.read(_CHUNK)
            if not more or len(data) > LONGEST:
                break
            data += more
        match said.state:
            case State.NAMED if said.name == self._host:
                return data
            case State.NAMED:
                rule, what = Rule.SNI_DIFFERS, f"the tunnel to {self._host} greets {said.name[:_SHOWN]}"
            case State.UNNAMED:
                rule, what = Rule.SNI_MISSING, f"the tunnel to {self._host} greets no host by its name"
            case State.MORE if not data:
                return b""
            case State.NOT_TLS if entry.port not in {None, *USUAL_PORTS} and not entry.tls:
                return data
            case _:
                rule, what = Rule.NOT_TLS, f"the tunnel to {self._host} does not carry TLS"
        raise Refused(rule, what)

    async def _request_out(self, head: Head) -> None:
        """Carry the body of the one request; what follows it is not carried, and a caller that has gone ends it."""
        await self._body_out(head)
        while await self._reader.read(_CHUNK):
            pass
        raise ConnectionAbortedError

    async def _body_out(self, head: Head) -> None:
        left = head.length
        while left and (data := await self._reader.read(min(left, _CHUNK))):
            left -= len(data)
            await self._send(data)
        while head.chunked:
            size = left = await self._chunk_size()
            await self._send(f"{size:x}\r\n".encode())
            while left and (data := await self._reader.read(min(left, _CHUNK))):
                left -= len(data)
                await self._send(data)
            if await self._reader.readexactly(2) != b"\r\n":
                raise Refused(Rule.MALFORMED, "a chunk of the request's body does not end where it says", status=400)
            await self._send(b"\r\n")
            if size == 0:
                return

    async def _chunk_size(self) -> int:
        line = await self._reader.readuntil(b"\r\n")
        text = line[:-2].partition(b";")[0].strip(b" \t").lower()
        if len(line) > _LONGEST_SIZE or not 0 < len(text) <= _LONGEST_NUMBER or text.strip(b"0123456789abcdef"):
            raise Refused(Rule.MALFORMED, "the size of a chunk of the request's body cannot be read", status=400)
        return int(text, 16)

    async def _send(self, data: bytes) -> None:
        assert self._server is not None  # noqa: S101 - connected before anything is relayed
        self._count(out=len(data))
        self._server.write(data)
        await self._server.drain()

    def _count(self, *, out: int = 0, back: int = 0) -> None:
        self._out += out
        self._in += back
        if self._out + self._in > self._limits.most_bytes:
            raise Refused(Rule.TOO_MUCH, f"one connection carries at most {self._limits.most_bytes} bytes")
        self._rest()

    def _rest(self) -> None:
        """Begin to wait for the next byte."""
        if self._timer is not None and not self._timer.expired():
            self._timer.reschedule(asyncio.get_running_loop().time() + self._idle_seconds)

    def _half_close(self, writer: asyncio.StreamWriter) -> None:
        self._idle_seconds = min(self._idle_seconds, self._limits.half_closed_seconds)
        self._rest()
        if not writer.is_closing() and writer.can_write_eof():
            writer.write_eof()

    async def _close(self) -> None:
        """Let what was written go out, for a moment; nothing stays open behind."""
        writers = [writer for writer in (self._writer, self._server) if writer is not None]
        try:
            for writer in writers:
                writer.close()
            if self._ended is None and not self._stopped:
                async with asyncio.timeout(_LINGER_SECONDS):
                    await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)
        except TimeoutError:
            pass  # it does not read; what is left is dropped
        finally:
            for writer in writers:
                writer.transport.abort()

    async def _tell(self, error: Refused) -> None:
        """Answer a refused request in words; a tunnel that stands already gets an alert of TLS."""
        answer = UNRECOGNIZED_NAME if self._carried else _answer(error, self._client.advice, self._mark)
        if self._carried and error.rule not in {Rule.SNI_DIFFERS, Rule.SNI_MISSING}:
            return
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                self._writer.write(answer)
                self._writer.write_eof()
                await self._writer.drain()
                while await self._reader.read(_CHUNK):
                    pass
        except (OSError, TimeoutError):
            return


_FAILURES: Final = frozenset({Rule.UNRESOLVED, Rule.UNREACHABLE})


def _answer(error: Refused, advice: str, mark: str) -> bytes:
    """Return an answer whose first line says why: many programs show nothing else of a refused CONNECT."""
    said = "".join(sign if sign.isascii() and sign.isprintable() else "?" for sign in str(error))
    said = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."
    phrase = f"{_PHRASES.get(error.status, 'Refused')}: {said}"
    body = f"Elis did not carry this connection: {error} (rule {error.rule}). {advice}".rstrip() + "\n"
    lines = (
        f"HTTP/1.1 {error.status} {phrase}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body.encode())}",
        f"{RULE_FIELD}: {error.rule}",
        f"{DOOR_FIELD}: {mark}",
        "Connection: close",
        "",
        body,
    )
    return "\r\n".join(lines).encode()
