"""Failures of tool servers.

ToolFailed
└── ServerFailed: it cannot be started, ended, or does not keep to the protocol
    └── Lost: the connection is gone
"""

from host.errors import ToolFailed


class ServerFailed(ToolFailed):
    """The tool server failed."""

    def __init__(self, message: str = "", words: str = "") -> None:
        """Say it in the host's words; `words` are the server's own, which the host does not vouch for."""
        super().__init__(message)
        self.words = words


class Lost(ServerFailed):
    """The connection to the tool server is gone."""
