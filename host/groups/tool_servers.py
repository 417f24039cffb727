"""The tool servers of one group: what was seen of their tools, what is held for a person, what a model is shown.

The lists lie in the group's own journal, because what a server shows may depend on the folders and secrets that it has
here, and because nothing of one group is another's: `tools_seen` at first sight, `tools_held` when a server shows other
tools, descriptions or schemas than before, `tools_released` by a person's word (PASS-3). `elis tools` shows them.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

import msgspec

from browser.proxy import OnConnection
from host.config.servers import LENT, WORKSPACE_FOLDER
from host.config.settings import ServerSettings
from host.errors import ElisError, NotFound, ProtocolViolation
from host.groups.port import ServerDetail, ServerToolView, ServerView
from host.passport import Passport
from host.record.events import Noticed, ServerTool, ToolsHeld, ToolsReleased, ToolsSeen
from host.record.record import Admit, Record
from host.tools.bwrap import BwrapSandbox
from host.tools.egress import Egress, Outside
from host.tools.find_tools import CallTool, FindTools
from host.tools.roots import Root
from host.tools.servers.errors import ServerFailed
from host.tools.tool import Tool
from host.tools.web_address import web_address
from host.vault.broker import Broker

if TYPE_CHECKING:
    from host.tools.servers.listing import Listing
    from host.tools.servers.server import Server

_LOG: Final = logging.getLogger(__name__)

SHOWN_TOOLS: Final = 40  # PASS-3: above that a model is shown search-and-call
RETRY_SECONDS: Final = 300.0  # between two tries at a server whose tools were never seen: each may hold a turn up
_KINDS: Final = {"tools_seen", "tools_held", "tools_released"}


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of one server."""

    digest: str = ""  # of the list in use; empty: never seen
    tools: tuple[ServerTool, ...] = ()
    left_out: tuple[str, ...] = ()
    waiting: ToolsHeld | None = None  # another list, which waits for a person

    def after(self, event: object) -> "_Known":
        """Return what is known when `event` has happened."""
        match event:
            case ToolsSeen(digest=digest, tools=tools, left_out=left_out):
                return _Known(digest=digest, tools=tools, left_out=left_out)
            case ToolsHeld():
                return msgspec.structs.replace(self, waiting=event)
            case ToolsReleased() if self.waiting is not None:
                waiting = self.waiting
                return _Known(digest=waiting.digest, tools=waiting.tools, left_out=waiting.left_out)
            case _:
                return self


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What servers are made in."""

    group: str
    roots: tuple[Root, ...]  # the workspace, then the further folders
    broker: Broker
    on_connection: OnConnection
    outside: Outside | None


class ToolServers:
    """The tool servers of one group. Methods are safe from any thread."""

    def __init__(self, entries: Mapping[str, ServerSettings], record: Record, around: Surroundings) -> None:
        """Start nothing."""
        self._entries = dict(entries)
        self._record = record
        self._group = around.group
        self._known = {name: _Known() for name in entries}
        self._tried: dict[str, float] = {}
        self._egresses: list[Egress] = []
        self._servers: dict[str, Server] = {}
        self._tools: dict[tuple[str, str], Tool] = {}
        if not entries:
            return
        for stored in record.journal.read(kinds=_KINDS):
            event = cast("ToolsSeen | ToolsHeld | ToolsReleased", stored.event)
            if event.server in self._known:
                self._known[event.server] = self._known[event.server].after(event)
        self._open(around)

    async def first_sight(self, turn: str, admit: Admit) -> None:
        """See to it that the tools of every server are known, before a session begins; tell the person what is not."""
        new = [name for name, known in self._known.items() if not known.digest and self._due(name)]
        problems = await asyncio.gather(*(self._first_look(name) for name in new))
        for problem in filter(None, problems):
            await self._record.append(Noticed(turn=turn, code="tool_server", text=problem, to="person"), admit=admit)

    def tools(self) -> dict[str, Tool]:
        """Return what can be called: the tools in use of every server, by the names that models use."""
        made: dict[str, Tool] = {}
        for name, known in self._known.items():
            for shown in known.tools:
                made[shown.name] = self._tool(name, known.digest, shown)
        return made

    def offered(self, own: Mapping[str, Tool]) -> tuple[dict[str, Tool], tuple[Passport, ...]]:
        """Return what can be called in all, beside the group's `own` tools, and what a model is shown of it."""
        of_servers = self.tools()
        if len(own) + len(of_servers) <= SHOWN_TOOLS or not of_servers:
            both = {**own, **of_servers}
            return both, tuple(tool.passport for tool in both.values())
        search: tuple[Tool, ...] = (FindTools(of_servers), CallTool())
        shown = {**own, **{tool.passport.name: tool for tool in search}}
        return {**shown, **of_servers}, tuple(tool.passport for tool in shown.values())

    def held(self, server: str) -> str:
        """Return why the tools of a server may not be used now; empty: they may."""
        waiting = self._known[server].waiting
        if waiting is None:
            return ""
        return (
            f"The tool server {server} shows other tools or descriptions than before, so none of its tools is used "
            f"until the operator has looked: elis tools {self._group} show {server}, then release {server}. Go on "
            "without it, and tell the person."
        )

    def views(self) -> tuple[ServerView, ...]:
        """Return the servers at a glance."""
        return tuple(self._view(name) for name in sorted(self._known))

    def detail(self, server: str) -> ServerDetail:
        """Return what a server shows, and what it showed before where it is held; raise NotFound."""
        known = self._of(server)
        waiting = known.waiting
        return ServerDetail(
            server=self._view(server),
            tools=_views(known.tools),
            left_out=known.left_out,
            held_tools=_views(waiting.tools) if waiting else (),
            held_left_out=waiting.left_out if waiting else (),
        )

    async def release(self, server: str, digest: str, by: str) -> ServerView:
        """Let the held list be used, from the next turn's new session on; raise NotFound or ProtocolViolation.

        `digest` names the list that the person has seen: another one that came meanwhile is not released.
        """
        waiting = self._of(server).waiting
        if waiting is None:
            raise ProtocolViolation(f"nothing of the tool server {server} is held")
        if digest and digest != waiting.digest:
            raise ProtocolViolation(f"the tool server {server} shows yet another list by now; look at it again")
        released = ToolsReleased(server=server, digest=waiting.digest, by=by)
        await self._record.append(released)
        self._known[server] = self._known[server].after(released)
        return self._view(server)

    def cut(self) -> None:
        """End every server at once: what an abandoned lane may have left behind."""
        for server in self._servers.values():
            server.cut()

    def close(self) -> None:
        """End everything."""
        self.cut()
        if self._servers:
            self._thread.close()
        for egress in self._egresses:
            egress.close()

    async def seen(self, name: str, listing: "Listing") -> None:
        """Hold what a server shows against what is known of it."""
        known = self._known[name]
        if not known.digest:
            event: ToolsSeen | ToolsHeld = ToolsSeen(
                server=name, digest=listing.digest, tools=listing.tools, left_out=listing.left_out
            )
        elif listing.digest in {known.digest, known.waiting.digest if known.waiting else ""}:
            return  # also what changes back stays held: it could change again while nobody looks
        else:
            event = ToolsHeld(server=name, digest=listing.digest, tools=listing.tools, left_out=listing.left_out)
            _LOG.warning("tool server %s of group %s shows other tools than before and is held", name, self._group)
        await self._record.append(event)
        self._known[name] = self._known[name].after(event)

    def _of(self, server: str) -> _Known:
        if server not in self._known:
            known = ", ".join(sorted(self._known)) or "none"
            raise NotFound(f"group {self._group} has no tool server {server!r}; there are: {known}")
        return self._known[server]

    def _view(self, name: str) -> ServerView:
        known, entry = self._known[name], self._entries[name]
        waiting = known.waiting
        return ServerView(
            name=name,
            state="held" if waiting else "in use" if known.digest else "not seen yet",
            reached=entry.url or " ".join(entry.command),
            tools=len(known.tools),
            held_digest=waiting.digest if waiting else "",
        )

    def _due(self, name: str) -> bool:
        tried = self._tried.get(name)
        return tried is None or time.monotonic() - tried > RETRY_SECONDS

    async def _first_look(self, name: str) -> str:
        self._tried[name] = time.monotonic()
        try:
            await self._servers[name].look()
        except ElisError as error:
            words = f" ({error.words})" if isinstance(error, ServerFailed) and error.words else ""
            return f"The tools of the tool server {name} are not there: {error.message}{words}"
        return ""

    def _tool(self, name: str, digest: str, shown: ServerTool) -> Tool:
        from host.tools.servers.tool import RemoteTool  # noqa: PLC0415 - see `_open`

        key = (digest, shown.name)
        if key not in self._tools:
            self._tools[key] = RemoteTool(self._servers[name], shown, self.held)
        return self._tools[key]

    def _open(self, around: Surroundings) -> None:
        """Make the servers. The SDK takes 1.4 s and 40 MB to import: groups without tool servers go without it."""
        from host.tools.servers.server import Server  # noqa: PLC0415
        from host.tools.servers.thread import ServerThread  # noqa: PLC0415
        from host.tools.servers.ways import Address, Program  # noqa: PLC0415

        self._thread = ServerThread()
        for name, entry in self._entries.items():
            egress = self._egress(name, entry, around)
            lend = _lending(around.broker)
            way = (
                Address(name, entry.url, egress, _once(lend, entry.token))
                if entry.url
                else Program(name, entry.command, _sandbox(entry, egress, around), _all(lend, entry.env))
            )
            self._servers[name] = Server(name, way, self._thread, seen=self.seen, held=self.held)

    def _egress(self, name: str, entry: ServerSettings, around: Surroundings) -> Egress:
        hosts = (f"={web_address(entry.url).destination.authority}",) if entry.url else entry.network
        egress = Egress(
            hosts,
            group=around.group,
            on_connection=around.on_connection,
            outside=around.outside,
            setting=f"[mcp.{name}] {'url' if entry.url else 'network'}",
        )
        self._egresses.append(egress)
        return egress


def _sandbox(entry: ServerSettings, egress: Egress, around: Surroundings) -> BwrapSandbox:
    """Return a sandbox that shows the named folders and nothing else of the group's."""
    named = {WORKSPACE_FOLDER if not root.name else root.name: root for root in around.roots}
    roots = sorted((named[folder] for folder in set(entry.folders)), key=lambda root: root.name)
    return BwrapSandbox(roots, egress=egress, marked=around.roots[0])


Lend = Callable[[str], Awaitable[str]]


def _lending(broker: Broker) -> Lend:
    async def lend(value: str) -> str:
        if not value.startswith(LENT):
            return value
        return await asyncio.to_thread(broker.lend_to_server, value.removeprefix(LENT))

    return lend


def _once(lend: Lend, value: str) -> Callable[[], Awaitable[str]]:
    return lambda: lend(value)


def _all(lend: Lend, values: Mapping[str, str]) -> Callable[[], Awaitable[dict[str, str]]]:
    async def lent() -> dict[str, str]:
        return {name: await lend(value) for name, value in values.items()}

    return lent


def _views(tools: tuple[ServerTool, ...]) -> tuple[ServerToolView, ...]:
    return tuple(
        ServerToolView(name=tool.name, description=tool.description, parameters=tool.parameters, hints=tool.hints)
        for tool in tools
    )
