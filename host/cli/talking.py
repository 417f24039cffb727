"""Commands that speak with a group: ask, stop, queue."""

import asyncio
import sys
from typing import Annotated, Any, Literal

import typer

from host.cli import asking, views
from host.cli.call import Call, HomeOption, JsonOption, print_json
from host.cli.client import group_path
from host.cli.meanwhile import Meanwhile
from host.groups.port import Placement, Queued, Stopped
from host.stops import Reason

Group = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (ask, stop, queue):
        app.command()(command)


def ask(  # noqa: PLR0913 - the options of the contract
    context: typer.Context,
    group: Group,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; - reads standard input.")],
    *,
    now: Annotated[bool, typer.Option("--now", help="Interrupt the running turn.")] = False,
    turn: Annotated[bool, typer.Option("--turn", help="Enter the running turn (the default).")] = False,
    later: Annotated[bool, typer.Option("--later", help="Wait until the running turn has ended.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Print what became of the message and return.")] = False,
    timeout: Annotated[
        float | None, typer.Option(metavar="S", min=0, help="Wait at most S seconds (exit 26); the turn goes on.")
    ] = None,
    unattended: Annotated[
        bool, typer.Option("--unattended", help="Nobody watches: a question parks the turn (exit 13).")
    ] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say something to a group and wait for the reply."""
    call = Call(context, json=json, home=home)
    order = asking.Order(
        group=group,
        text=_text(text),
        priority=_priority(now=now, turn=turn, later=later),
        unattended=unattended,
        timeout_seconds=timeout,
    )
    if detach:
        _detached(call, order)
        return
    with Meanwhile(call.err, group, quiet=call.json) as screen:
        answer = asyncio.run(asking.ask(call.home, order, screen))
    if call.json:
        print_json(answer)
    else:
        views.answer(call.out, call.err, answer)
    raise typer.Exit(answer.exit_code)


def _detached(call: Call, order: asking.Order) -> None:
    """Print what became of the message, and leave it to itself."""
    placement = asyncio.run(asking.place(call.home, order))
    if placement is None:
        call.note(asking.in_doubt(order.group))
        call.print({"turn": "", "disposition": "unknown", "position": 0}, lambda _: None)
        raise typer.Exit(Reason.TIMED_OUT.exit_code)
    call.print(
        {"turn": placement.turn, "disposition": placement.disposition, "position": placement.position},
        lambda out: out.line(_placed(placement)),
    )


def _text(text: str) -> str:
    said = _read_input() if text == "-" else text
    if not said.strip():
        message = "TEXT needs words"
        raise typer.BadParameter(message)
    return said


def _read_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        message = f"standard input is not UTF-8 from byte {error.start} on; convert it first, for example with iconv"
        raise typer.BadParameter(message) from error


def _priority(*, now: bool, turn: bool, later: bool) -> str:
    chosen = [name for name, given in (("now", now), ("turn", turn), ("later", later)) if given]
    if len(chosen) > 1:
        message = "--now, --turn and --later exclude each other"
        raise typer.BadParameter(message)
    return chosen[0] if chosen else "turn"


def _placed(placement: Placement) -> str:
    position = f" at position {placement.position}" if placement.position else ""
    return f"{placement.disposition}{position} {placement.turn or placement.message}"


def stop(
    context: typer.Context,
    group: Group,
    *,
    lane: Annotated[str, typer.Option(metavar="LANE", help="Which lane.")] = "chat",
    everything: Annotated[bool, typer.Option("--all", help="Every lane and all that came of them.")] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Stop what runs; returns when the final events are written."""
    call = Call(context, json=json, home=home)
    path = group_path(group, "stop")
    result = call.run(lambda api: api.post(path, Stopped, {"lane": lane, "all": everything}))
    turns = ", ".join(result.turns) or "nothing ran"
    held = f"; {result.held} held messages wait for `elis queue {group}`" if result.held else ""
    call.print(result, lambda out: out.line(f"stopped: {turns}{held}"))


def queue(
    context: typer.Context,
    group: Group,
    action: Annotated[
        Literal["release", "drop"] | None, typer.Argument(metavar="release|drop", help="What to do with a message.")
    ] = None,
    message: Annotated[str, typer.Argument(metavar="ID", help="Which message.")] = "",
    *,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List the messages that wait or are held; let one go on, or drop it."""
    call = Call(context, json=json, home=home)
    if action is None:
        messages = call.run(lambda api: api.get(group_path(group, "queue"), tuple[Queued, ...]))
        call.print(messages, lambda out: views.queue(out, messages))
        return
    if not message:
        problem = f"{action} needs the ID of a message; `elis queue {group}` lists them"
        raise typer.BadParameter(problem)
    path = group_path(group, "queue", message, action)
    if action == "release":
        placement = call.run(lambda api: api.post(path, Placement))
        call.print(placement, lambda out: out.line(_placed(placement)))
    else:
        call.run(lambda api: api.post(path, dict[str, Any]))
        call.print({"dropped": message}, lambda out: out.line(f"dropped {message}"))
