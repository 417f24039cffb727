"""A small world on loopback: names with public addresses, and servers that stand behind these addresses.

Only the proxy's resolver knows the names, and only its last step leads from a public address to a server here; all
that lies between is what the product does.
"""

import asyncio
import dataclasses
import ssl
import subprocess
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

from browser.exchange import Connection
from browser.network import BUFFER_BYTES, Network, Streams

BOUND = 10.0  # seconds; the one bound on every wait
ADDRESS = "203.0.115.7"  # public, and nobody's here

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def certified(folder: Path, *names: str) -> tuple[ssl.SSLContext, ssl.SSLContext, Path]:
    """Return the contexts of a server that proves these names and of a client that trusts it, and the certificate."""
    certificate, key = folder / "server.pem", folder / "server.key"
    alternatives = ",".join(f"DNS:{name}" for name in names)
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "1", "-subj", "/CN=world", "-addext", f"subjectAltName={alternatives}"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=BOUND)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=str(certificate)), certificate


@dataclasses.dataclass
class Request:
    """What a server got."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclasses.dataclass
class Site:
    """An HTTP server that answers by path and remembers what it was asked."""

    answers: dict[str, bytes] = dataclasses.field(default_factory=dict)
    seen: list[Request] = dataclasses.field(default_factory=list)
    hang: bool = False
    stalls: set[str] = dataclasses.field(default_factory=set[str])  # paths that never get an answer

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {
                    name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
                }
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.seen.append(Request(head[0], headers, body))
                path = head[0].split(" ")[1]
                if self.hang or path in self.stalls:
                    await asyncio.Event().wait()
                writer.write(self.answers.get(path.partition("?")[0], answer(b"hello from the world")))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


def answer(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """Return a whole answer."""
    fields = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


class World:
    """Servers in a thread of their own, reached through a `Network`."""

    def __init__(self) -> None:
        self.names: dict[str, Sequence[str]] = {}
        self.lookups: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self._behind: dict[int, int] = {}  # port of the world → port on loopback
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="world", daemon=True)
        self._servers: list[asyncio.Server] = []

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self.run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(BOUND)
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run on the world's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(BOUND)

    def serve(self, port: int, handler: Handler, context: ssl.SSLContext | None = None) -> None:
        """Put a server behind `port` of every address of the world."""

        async def begin() -> int:
            server = await asyncio.start_server(handler, "127.0.0.1", 0, ssl=context)
            self._servers.append(server)
            return int(server.sockets[0].getsockname()[1])

        self._behind[port] = self.run(begin())

    def network(self) -> Network:
        """Return the way to this world."""
        return Network(resolve=self._resolve, connect=self._connect)

    async def _resolve(self, host: str) -> Sequence[str]:
        self.lookups.append(host)
        if host not in self.names:
            raise OSError("Name or service not known")
        return self.names[host]

    async def _connect(self, address: str, port: int) -> Streams:
        self.dialled.append((address, port))
        if port not in self._behind:
            raise ConnectionRefusedError(111, "Connection refused")
        return await asyncio.open_connection("127.0.0.1", self._behind[port], limit=BUFFER_BYTES)

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class Heard:
    """What a proxy told of its connections."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self._changed = threading.Condition()

    def __call__(self, connection: Connection) -> Future[Any] | None:
        """Hear."""
        with self._changed:
            self.connections.append(connection)
            self._changed.notify_all()
        return None

    def one(self, number: int = 0) -> Connection:
        """Return a connection as soon as it is known."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.connections) > number, BOUND)
            return self.connections[number]
