"""What every command has: which home it is for, whether it speaks JSON, and where its words go.

JSON goes to standard output and everything else to standard error; without `--json` the answer itself is standard
output too. (The contract: Command line.)
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from host.cli.client import Api
from host.cli.screen import Screen
from host.config.home import Home

T = TypeVar("T")

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
HomeOption = Annotated[
    Path | None, typer.Option("--home", metavar="DIR", help="The host's home folder; default $ELIS_HOME or ~/.elis.")
]


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """Options that were written before the command."""

    json: bool
    home: Path | None


class Call:
    """One command's run."""

    def __init__(self, context: typer.Context, *, json: bool, home: Path | None) -> None:
        """Take the options of the command; those before it count as well."""
        before = context.find_root().obj
        if isinstance(before, Before):
            json, home = json or before.json, home or before.home
        self.json = json
        self.home = Home.find(home, os.environ)
        self.out = Screen()
        self.err = Screen(file=sys.stderr)

    def run(self, work: Callable[[Api], Awaitable[T]]) -> T:
        """Do `work` with the running host's API."""

        async def connected() -> T:
            async with Api(self.home) as api:
                return await work(api)

        return asyncio.run(connected())

    def print(self, answer: Any, show: Callable[[Screen], None]) -> None:  # noqa: ANN401 - any record
        """Print `answer` as JSON, or have `show` print it for people."""
        if self.json:
            print_json(answer)
        else:
            show(self.out)

    def note(self, text: str) -> None:
        """Say something beside the answer."""
        self.err.line(text)


def print_json(answer: Any) -> None:  # noqa: ANN401 - any record
    """Print one JSON value on a line of its own."""
    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    sys.stdout.flush()
