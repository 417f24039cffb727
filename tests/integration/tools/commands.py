"""Commands in a sandbox as the tests of this room run them."""

from typing import Final

from host.tools.bwrap import BwrapSandbox
from host.tools.finished import Finished

BOUND_SECONDS: Final = 30.0  # the one bound on every wait


async def run(sandbox: BwrapSandbox, command: str, *, cwd: str = ".", seconds: float = BOUND_SECONDS) -> Finished:
    """Run a command with the usual bounds."""
    return await sandbox.run(command, cwd=cwd, timeout_seconds=seconds, environment={})


async def told(sandbox: BwrapSandbox, command: str) -> str:
    """Run a command and return its output without the last newline."""
    return (await run(sandbox, command)).output.rstrip("\n")
