"""Requests whose JSON body may be anything: what cannot be read is the sender's fault, and the sender is told.

The framework reads bodies through this class; errors become problem documents in `host.panel.problems`.
"""

from typing import Any

from litestar import Request
from litestar.datastructures import State

from host.errors import ProtocolViolation


class BodyRequest(Request[Any, Any, State]):
    """A request that refuses a body by which a decoder would lose its footing."""

    async def json(self) -> Any:  # noqa: ANN401 - as the framework's own
        """Return the body; raise ProtocolViolation where it is nested too deeply to be read."""
        try:
            return await super().json()
        except RecursionError as error:
            message = "the body is nested too deeply; send a flat JSON object"
            raise ProtocolViolation(message) from error
