"""A failure in which somebody outside has a word: kept apart from the host's own, so that it is marked (CTX-6).

What a peer made a library say (a line that is no HTTP, the name of a broken package) is the peer's word too.
"""

from host.errors import ToolFailed
from host.tools.tool import ToolResult


class Quoting(ToolFailed):
    """A tool ran and failed, and there are words from outside about it."""

    def __init__(self, message: str = "", words: str = "") -> None:
        """Say it in the host's words; `words` are those from outside, which the host does not vouch for."""
        super().__init__(message)
        self.words = words


def told(error: Quoting, origin: str = "") -> ToolResult:
    """Return the failure as a result: the words wrapped with where they came from, if the passport does not say it."""
    return ToolResult(
        text=error.words, head=error.message, ok=False, reason=error.reason, detail=error.message, origin=origin
    )
