"""What a tool is to the host: a passport and one coroutine, run by the gate with a scope of what it may use.

A tool knows nothing of policy, approvals or the journal. It raises ElisError subclasses with the reason of its
failure, or returns a result that is not ok.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from host.passport import Passport
from host.stops import Reason
from host.tools.access import Files
from host.tools.egress import WayOut
from host.tools.images import Seen
from host.tools.output_file import FOLDER
from host.tools.outputs import Keeping, Kept, Plain, TextStream
from host.tools.sandbox import Sandbox
from host.tools.seen import SeenFiles
from host.tools.text import ANSWER_BYTES


class Receiver(msgspec.Struct, frozen=True, kw_only=True):
    """What the model that is told can take."""

    answer_bytes: int = ANSWER_BYTES  # of one answer
    capabilities: frozenset[str] = frozenset({"tools"})  # tools, vision


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gives back. The model is told `head`, then `text` and what is told of `kept`."""

    text: str  # what the model is told; wrapped as external data where it came from outside (CTX-6)
    head: str = ""  # the host's own words about it, never wrapped
    kept: Kept | None = None  # a text that was too long for an answer and lies whole in a file (CTX-3)
    origin: str = ""  # where from outside the text came, where the passport does not say it exactly
    image: Seen | None = None  # an image, and what became of it (TURN-7)
    ok: bool = True
    reason: Reason | None = None  # why it is not ok
    detail: str = ""  # one line: exit code, status, error
    essence: str = ""  # what of `text` tells how the world is, without what differs each time; empty: all of it


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What one call may use."""

    turn: str
    call: str
    key: str  # idempotency key, turn:call (REC-6)
    jail: Files  # the workspace and further folders, wherever they are
    sandbox: Sandbox  # where shell commands run
    seen: SeenFiles  # content hashes this turn last saw (PASS-2)
    ask: Callable[[str], Awaitable[str]]  # asks a person, waits for the words
    way_out: WayOut | None = None  # where it reaches beyond the machine; None: nowhere
    reading: bool = False  # the call was let through because what it runs only reads: it must not do more
    receiver: Receiver = Receiver()  # who is told the result
    masking: Callable[[], TextStream] = Plain  # masks a text on its way to a file; the gate gives the group's own

    def keeping(self, name: str, *, folder: str = FOLDER, what: str = "output") -> Keeping:
        """Return what takes a text of any length, and keeps it whole in a file where it is too long for an answer."""
        return Keeping(
            self.jail,
            name=name,
            limit_bytes=self.receiver.answer_bytes,
            stream=self.masking(),
            folder=folder,
            what=what,
        )


class Tool(Protocol):
    """A callable with its declaration."""

    @property
    def passport(self) -> Passport:
        """The tool's declaration."""
        ...

    async def run(self, arguments: Any, scope: Scope) -> ToolResult:  # noqa: ANN401 - each tool names its own struct
        """Do it; `arguments` is an instance of `passport.arguments`."""
        ...
