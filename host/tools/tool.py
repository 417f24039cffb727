"""What a tool is to the host: a passport and one coroutine, run by the gate with a scope of what it may use.

A tool knows nothing of policy, approvals or the journal. It raises ElisError subclasses with the reason of its
failure, or returns a result that is not ok.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from host.passport import Passport
from host.stops import Reason
from host.tools.jail import Jail
from host.tools.sandbox import Sandbox
from host.tools.seen import SeenFiles


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gives back."""

    text: str  # what the model is told
    ok: bool = True
    reason: Reason | None = None  # why it is not ok
    detail: str = ""  # one line: exit code, status, error
    essence: str = ""  # what of `text` tells how the world is, without what differs each time; empty: all of it


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What one call may use."""

    turn: str
    call: str
    key: str  # idempotency key, turn:call (REC-6)
    jail: Jail  # the workspace and further folders, opened by descriptor
    sandbox: Sandbox  # where shell commands run
    seen: SeenFiles  # content hashes this turn last saw (PASS-2)
    ask: Callable[[str], Awaitable[str]]  # asks a person, waits for the words


class Tool(Protocol):
    """A callable with its declaration."""

    @property
    def passport(self) -> Passport:
        """The tool's declaration."""
        ...

    async def run(self, arguments: Any, scope: Scope) -> ToolResult:  # noqa: ANN401 - each tool names its own struct
        """Do it; `arguments` is an instance of `passport.arguments`."""
        ...
