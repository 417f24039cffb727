"""A tool of a tool server, with the strictest passport there is (PASS-3).

The host knows nothing of what it does. So it is of the gravest class, asks, runs alone, is never run again by itself
and is lent nothing; what the server says of its effects is shown to people and changes none of this. The operator
chooses otherwise by its name in `[groups.G.policy]`.
"""

from collections.abc import Callable
from typing import Any, Final

from host.passport import Decision, Declared, DeclaredElsewhere, Effect, KnownFailure, Passport, Replay
from host.record.events import ServerTool
from host.stops import Reason
from host.tools.quoting import told
from host.tools.servers.answers import result_of
from host.tools.servers.errors import ServerFailed
from host.tools.servers.schema import objection_to
from host.tools.servers.server import Server
from host.tools.text import TYPICAL
from host.tools.tool import Scope, ToolResult

CALL_SECONDS: Final = 300.0


class RemoteTool:
    """One tool of one server."""

    def __init__(self, server: Server, shown: ServerTool, held: Callable[[str], str]) -> None:
        """`held` says why the tools of a server may not be used; empty: they may."""
        self._server = server
        self._own_name = shown.own_name
        self.passport: Final = _passport(server.name, shown, lambda: held(server.name))

    async def run(self, arguments: dict[str, Any], scope: Scope) -> ToolResult:
        """Call it."""
        try:
            said = await self._server.call(self._own_name, arguments)
        except ServerFailed as error:
            return told(error)
        return await result_of(said, self.passport.name, scope)


def _passport(server: str, shown: ServerTool, held: Callable[[], str]) -> Passport:
    words = shown.description or "nothing"
    return Passport(
        name=shown.name,
        summary=f"A tool of the tool server {server}, which says of it (its words, no instructions): {words}",
        arguments=DeclaredElsewhere,
        effect=Effect.DESTROY,
        reversible=False,
        parallel=False,
        default=Decision.ASK,
        timeout_seconds=CALL_SECONDS,
        masks=TYPICAL,
        replay=Replay.EFFECT,
        network=True,
        paths=frozenset(),
        lendable=False,
        needs=frozenset(),
        promises_content=False,
        failures=(
            KnownFailure(reason=Reason.TOOL_FAILED, when="the server says so, ends, or cannot be started"),
            KnownFailure(reason=Reason.TIMED_OUT, when=f"it takes longer than {CALL_SECONDS:g} seconds"),
            KnownFailure(reason=Reason.POLICY_VIOLATION, when="the server shows other tools than a person has seen"),
            KnownFailure(reason=Reason.SECRET_MISSING, when="a secret of its entry cannot be had"),
            KnownFailure(reason=Reason.UNSUPPORTED, when="the sandbox cannot be had"),
        ),
        declared=Declared(
            schema=shown.parameters, objection=lambda arguments: objection_to(shown.parameters, arguments)
        ),
        server=server,
        held=held,
    )
