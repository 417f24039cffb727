"""The command `elis journal GROUP show|search|verify|export`."""

import sys
from typing import Annotated, Literal

import typer

from host.cli import views
from host.cli.call import Call, HomeOption, JsonOption
from host.cli.client import Api, group_path
from host.cli.screen import Screen
from host.cli.transcript import conversation
from host.groups.port import EventView, Found, Verified
from host.stops import Reason


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(journal)


def journal(  # noqa: PLR0913 - one command with four actions, as the contract writes it
    context: typer.Context,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")],
    action: Annotated[Literal["show", "search", "verify", "export"], typer.Argument(help="What to do.")],
    what: Annotated[str, typer.Argument(metavar="TURN|TEXT", help="The turn to show, or the text to search.")] = "",
    *,
    request: Annotated[
        int, typer.Option(metavar="SEQ", min=0, help="With show: the exact body of the request of this event.")
    ] = 0,
    limit: Annotated[int, typer.Option(min=1, max=5000, help="With search: at most so many.")] = 20,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Read a group's journal: show a turn, search, verify the chain, or export all of it."""
    call = Call(context, json=json, home=home)
    if action in {"show", "search"} and not what.strip() and not request:
        message = f"{action} needs {'a TURN' if action == 'show' else 'a TEXT'}"
        raise typer.BadParameter(message)
    match action:
        case "show" if request:
            _print_request(call, group, what, request)
        case "show":
            events = call.run(lambda api: api.get(group_path(group, "turns", what), tuple[EventView, ...]))
            call.print(events, lambda out: _read_aloud(out, events))
        case "search":
            path = group_path(group, "journal", "search")
            hits = call.run(lambda api: api.get(path, tuple[Found, ...], text=what, limit=limit))
            call.print(hits, lambda out: views.found(out, hits))
        case "verify":
            verdict = call.run(lambda api: api.get_slowly(group_path(group, "journal", "verify"), Verified))
            call.print(verdict, lambda out: views.verified(out, verdict))
            raise typer.Exit(0 if verdict.ok else Reason.AUDIT_FAILURE.exit_code)
        case "export":
            call.run(lambda api: _export(api, group))


def _read_aloud(out: Screen, events: tuple[EventView, ...]) -> None:
    for line in conversation(events):
        out.line(*line)


def _print_request(call: Call, group: str, turn: str, seq: int) -> None:
    """Write the bytes as they were sent, and nothing else, so that they can be compared."""
    del turn  # the sequence says it all; the turn is there because the command reads better with it
    body = call.run(lambda api: api.get_bytes(group_path(group, "requests", seq)))
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()


async def _export(api: Api, group: str) -> None:
    """Write one JSON object a line, as the host sends them."""
    async for line in api.lines(group_path(group, "journal", "export")):
        sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
