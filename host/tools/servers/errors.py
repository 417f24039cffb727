"""Failures of tool servers.

Quoting
└── ServerFailed: it cannot be started, ended, or does not keep to the protocol
    └── Lost: the connection is gone
"""

from host.tools.quoting import Quoting


class ServerFailed(Quoting):
    """The tool server failed; `words` are its own."""


class Lost(ServerFailed):
    """The connection to the tool server is gone."""
