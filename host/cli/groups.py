"""Commands about groups: add, list, show, remove."""

from typing import Annotated, Any

import msgspec
import typer

from host.cli import views
from host.cli.call import Call, HomeOption, JsonOption
from host.cli.client import Api, group_path
from host.groups.port import GroupView

Name = Annotated[str, typer.Argument(metavar="NAME", help="The group's name.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    sub = typer.Typer(name="group", help="Add, list, show and remove groups.", no_args_is_help=True)
    sub.command("add")(add)
    sub.command("list")(list_groups)
    sub.command("show")(show)
    sub.command("remove")(remove)
    app.add_typer(sub)


def add(
    context: typer.Context,
    name: Name,
    *,
    model: Annotated[str, typer.Option(help="A key of [models]; default: main.")] = "",
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Add a group to elis.toml and start it."""
    call = Call(context, json=json, home=home)
    view = call.run(lambda api: api.post("/groups", GroupView, {"name": name, "model": model}))
    call.print(view, lambda out: out.line(f"added {view.name}"))


def list_groups(context: typer.Context, *, json: JsonOption = False, home: HomeOption = None) -> None:
    """List all groups."""
    call = Call(context, json=json, home=home)
    found = call.run(lambda api: api.get("/groups", tuple[GroupView, ...]))
    call.print(found, lambda out: views.groups(out, found))


def show(context: typer.Context, name: Name, *, json: JsonOption = False, home: HomeOption = None) -> None:
    """Show a group, with the invariants and the charter as its model gets them."""
    call = Call(context, json=json, home=home)

    async def work(api: Api) -> tuple[GroupView, dict[str, str]]:
        view = await api.get(group_path(name), GroupView)
        return view, await api.get(group_path(name, "instructions"), dict[str, str])

    view, instructions = call.run(work)
    whole = {**msgspec.to_builtins(view), "instructions": instructions}
    call.print(whole, lambda out: views.group(out, view, instructions))


def remove(
    context: typer.Context,
    name: Name,
    *,
    delete: Annotated[bool, typer.Option("--delete", help="Delete its folder, journal included, as well.")] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Stop a group and take it out of elis.toml; its folder stays unless --delete is given."""
    call = Call(context, json=json, home=home)
    call.run(lambda api: api.delete(group_path(name), dict[str, Any], delete="true" if delete else "false"))
    kept = "" if delete else f"; its folder {call.home.group(name).root} stays"
    call.print({"removed": name, "deleted": delete}, lambda out: out.line(f"removed {name}{kept}"))
