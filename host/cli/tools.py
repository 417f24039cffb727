"""The command `elis tools GROUP list|show|release`: the tool servers of a group."""

from typing import Annotated, Literal

import typer

from host.cli.call import Call, HomeOption, JsonOption
from host.cli.client import group_path
from host.cli.screen import Screen
from host.groups.port import ServerDetail, ServerToolView, ServerView


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(tools)


def tools(  # noqa: PLR0913 - one command with three actions
    context: typer.Context,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")],
    action: Annotated[Literal["list", "show", "release"], typer.Argument(help="What to do.")] = "list",
    server: Annotated[str, typer.Argument(metavar="SERVER", help="The tool server, as elis.toml names it.")] = "",
    *,
    digest: Annotated[
        str, typer.Option(metavar="DIGEST", help="With release: only if this list is held; show names it.")
    ] = "",
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List a group's tool servers, show what one says of its tools, or let a list that changed be used."""
    call = Call(context, json=json, home=home)
    if action != "list" and not server.strip():
        message = f"{action} needs a SERVER"
        raise typer.BadParameter(message)
    match action:
        case "list":
            found = call.run(lambda api: api.get(group_path(group, "tools"), tuple[ServerView, ...]))
            call.print(found, lambda out: _list(out, found))
        case "show":
            detail = call.run(lambda api: api.get(group_path(group, "tools", server), ServerDetail))
            call.print(detail, lambda out: _show(out, group, detail))
        case "release":
            path = group_path(group, "tools", server, "release")
            view = call.run(lambda api: api.post(path, ServerView, {"digest": digest}))
            call.print(view, lambda out: out.line(f"{view.name}: {view.state}, {view.tools} tools"))


def _list(out: Screen, found: tuple[ServerView, ...]) -> None:
    rows = ((each.name, each.state, str(each.tools), each.reached) for each in found)
    out.table(("server", "state", "tools", "reached by"), rows, "no tool servers")


def _show(out: Screen, group: str, detail: ServerDetail) -> None:
    """Print what the server says; where it is held, what is new or different in it."""
    server = detail.server
    out.line(f"{server.name}: {server.state}. What stands here are the server's own words.")
    before = {tool.name: tool for tool in detail.tools}
    if not server.held_digest:
        _print(out, detail.tools, detail.left_out, set())
        return
    _print(out, detail.held_tools, detail.held_left_out, set(before))
    now = {tool.name: tool for tool in detail.held_tools}
    for name, tool in before.items():
        if name not in now:
            out.line(f"- {name} is gone")
        elif tool != now[name]:
            out.line(f"- {name} was different before: {tool.description} {tool.parameters}")
    out.line(f"use it with: elis tools {group} release {server.name} --digest {server.held_digest}")


def _print(out: Screen, found: tuple[ServerToolView, ...], left_out: tuple[str, ...], known: set[str]) -> None:
    for tool in found:
        new = " (new)" if known and tool.name not in known else ""
        out.line(f"{tool.name}{new}: {tool.description or 'no description'}")
        out.line(f"    takes: {', '.join(tool.parameters.get('properties', {})) or 'nothing'}")
        if tool.hints:
            out.line(f"    says of itself: {', '.join(f'{name}={value}' for name, value in tool.hints.items())}")
    for each in left_out:
        out.line(f"left out: {each}")
