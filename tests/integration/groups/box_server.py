"""A tool server of the official SDK that does what a model under somebody else's control would have it do.

It runs in the sandbox of a tool server, by the Python that its entry shows it.
"""

import contextlib
import io
import subprocess

from mcp.server.mcpserver import MCPServer

server = MCPServer("box")


@server.tool()
def run(command: str) -> str:
    """Run a command, and give back all that it said."""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=5, check=False
        )
    except subprocess.TimeoutExpired as ended:
        return f"took too long: {ended.stdout!r}"
    return done.stdout.decode(errors="replace") or f"exit code {done.returncode}"


@server.tool()
def python(code: str) -> str:
    """Run code in this very process."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            exec(code, {})  # noqa: S102 - what it is for
        except Exception as error:  # noqa: BLE001 - told to whoever asked
            return f"{said.getvalue()}{type(error).__name__}: {error}"
    return said.getvalue() or "nothing was said"


if __name__ == "__main__":
    server.run("stdio")
