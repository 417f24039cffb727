"""Where shell commands run: the interface of every back end."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended."""

    exit_code: int
    output: str
    timed_out: bool
    truncated: bool


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at the back end found."""

    ok: bool
    text: str
    fix: str = ""


class Sandbox(Protocol):
    """One back end."""

    async def run(
        self,
        command: str,
        *,
        cwd: str,
        timeout_seconds: float,
        environment: Mapping[str, str],
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        """Run `command`."""
        ...

    def check(self) -> Finding:
        """Look whether it works."""
        ...

    def describe(self) -> str:
        """Say where commands run."""
        ...
