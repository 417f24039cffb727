"""Reads server-sent events off a response, with a bound on every wait."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import msgspec

from tests.integration.panel.conftest import BOUND_SECONDS, TOKEN


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One event, or a heartbeat when it has no data."""

    id: str = ""
    event: str = "message"
    data: Any = None


class Frames:
    """The frames of one response, in order."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    async def next(self) -> Frame:
        """Return the next event; raise EOFError at the end of the stream."""
        while (frame := await self.any()).data is None:
            pass
        return frame

    async def any(self) -> Frame:
        """Return the next event or heartbeat; raise EOFError at the end of the stream."""
        async with asyncio.timeout(BOUND_SECONDS):
            while True:
                block = await self._block()
                if not all(line.startswith("retry:") for line in block):
                    return _frame(block)

    async def until(self, event: str) -> Frame:
        """Return the next frame of a kind."""
        while (frame := await self.next()).event != event:
            pass
        return frame

    async def take(self, count: int) -> list[Frame]:
        """Return that many frames."""
        return [await self.next() for _ in range(count)]

    async def end(self) -> None:
        """Return when the server has ended the stream; raise AssertionError if it says anything before."""
        try:
            frame = await self.next()
        except EOFError:
            return
        message = f"the stream went on with {frame}"
        raise AssertionError(message)

    async def _block(self) -> list[str]:
        block: list[str] = []
        async for line in self._lines:
            if line:
                block.append(line)
            elif block:
                return block
        raise EOFError


def _frame(block: list[str]) -> Frame:
    fields = dict(line.split(": ", 1) for line in block if not line.startswith(":"))
    data = json.loads(fields["data"]) if "data" in fields else None
    return Frame(id=fields.get("id", ""), event=fields.get("event", "message"), data=data)


@asynccontextmanager
async def stream(url: str, path: str, headers: dict[str, str] | None = None) -> AsyncGenerator[Frames]:
    """Open a stream with the token."""
    sent = {"Accept": "text/event-stream", "Authorization": f"Bearer {TOKEN}", **(headers or {})}
    async with (
        httpx2.AsyncClient(base_url=url, timeout=BOUND_SECONDS) as client,
        client.stream("GET", path, headers=sent) as response,
    ):
        assert response.status_code == 200, (await response.aread()).decode()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Frames(response.aiter_lines())
