"""The embedded model as the host's groups share it: started when the first of them needs it, and told how it is.

The process itself is `host.services.child`'s; who needs it is the supervisor's to know.
"""

import asyncio

import msgspec

from host.errors import ElisError
from host.panel.directory import ServiceView
from host.services.child import EmbeddedModel


class EmbeddedService:
    """One process for all groups. Lives in one event loop."""

    def __init__(self) -> None:
        self._process = EmbeddedModel()
        self._state = ServiceView(name="embedded model", state="off")
        self._starts = asyncio.Lock()

    async def start(self) -> None:
        """Start it unless it runs; one that could not be started is tried again by the next who needs it."""
        async with self._starts:
            if self._state.state == "running":
                return
            self._state = ServiceView(name="embedded model", state="starting")
            try:
                await self._process.start()
            except ElisError as error:
                self._state = ServiceView(name="embedded model", state="failed", detail=error.message)
            else:
                self._state = ServiceView(name="embedded model", state="running")

    async def stop(self) -> None:
        """End it."""
        await self._process.stop()

    def address_and_key(self) -> tuple[str, str]:
        """Return what precedes /chat/completions and the key that is asked for there; both empty before it runs."""
        return (self._process.base_url, self._process.key) if self._state.state == "running" else ("", "")

    def view(self) -> ServiceView:
        """Return it at a glance."""
        if self._process.problem and self._state.state == "running":
            return msgspec.structs.replace(self._state, state="failed", detail=self._process.problem)
        return self._state
