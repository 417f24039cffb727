"""The HTTP server around the application: bound before it starts, stopped within a bound, no signal handlers.

The composition root starts it before the groups are up and stops it after they are down.
"""

import asyncio
import contextlib
from collections.abc import Generator
from typing import Final

import uvicorn
from litestar import Litestar

from host.panel.app import close_streams
from host.panel.binding import Resolve, addresses_of, bound
from host.panel.listen import Site

BACKLOG: Final = 512
KEEP_ALIVE_SECONDS: Final = 30


class _Uvicorn(uvicorn.Server):
    """Uvicorn without its signal handlers and without its clock: it waits for one event instead."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.leave = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the host."""
        yield

    async def main_loop(self) -> None:
        """Serve until told to leave."""
        self.server_state.default_headers = self.config.encoded_headers
        self.ready.set()
        await self.leave.wait()


class PanelServer:
    """Panel and API on one address. Used in one event loop, started once."""

    def __init__(self, app: Litestar, site: Site, *, drain_seconds: int = 5, resolve: Resolve = addresses_of) -> None:
        """Bind the address of `site`; raise what `bound` raises. A stop takes `drain_seconds` at most."""
        self._app = app
        self._socket = bound(site, resolve)
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",  # `_serve` enters the application's lifespan itself: uvicorn would exit the process
            log_config=None,
            access_log=False,  # login codes stand in addresses
            server_header=False,
            date_header=False,
            proxy_headers=False,  # uvicorn would believe the sender; the door reads what the proxy itself says
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=drain_seconds,
            backlog=BACKLOG,
            ssl_certfile=str(site.tls.certificate) if site.tls else None,
            ssl_keyfile=str(site.tls.key) if site.tls else None,
        )
        self._uvicorn = _Uvicorn(config)
        self._serving: asyncio.Task[None] | None = None
        host, port = self._socket.getsockname()[:2]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.url = site.link_origin(self.address)

    async def start(self) -> None:
        """Serve from now on; returns when requests are answered. Raises what keeps the application from starting."""
        self._serving = asyncio.create_task(self._serve(), name="panel server")
        ready = asyncio.create_task(self._uvicorn.ready.wait(), name="panel server ready")
        await asyncio.wait({self._serving, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._serving.done():
            await self._serving

    async def ended(self) -> None:
        """Return when the server has stopped; raise what ended it before its time."""
        if self._serving is not None:
            await asyncio.shield(self._serving)

    async def stop(self) -> None:
        """Take no more requests, end streams in order, let answers finish within the bound, and return."""
        close_streams(self._app)
        self._uvicorn.leave.set()
        if self._serving is None:
            self._socket.close()
        else:
            await self._serving

    async def _serve(self) -> None:
        async with self._app.lifespan():
            await self._uvicorn.serve(sockets=[self._socket])
