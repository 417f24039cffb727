"""The command `elis secrets status | set NAME`: which secrets can be had, and storing one."""

import getpass
import sys
from typing import Annotated

import typer

from host.cli.call import Call, HomeOption, JsonOption
from host.cli.client import UNKNOWN_NAME, Api, Failure, path_of
from host.cli.screen import Screen
from host.vault.safe import SecretStatus


def register(app: typer.Typer) -> None:
    """Add the command."""
    sub = typer.Typer(name="secrets", help="See which secrets are there, and store one.", no_args_is_help=True)
    sub.command("status")(status)
    sub.command("set")(store)
    app.add_typer(sub)


def status(context: typer.Context, *, json: JsonOption = False, home: HomeOption = None) -> None:
    """Show every secret of the settings as present or missing, never a value."""
    call = Call(context, json=json, home=home)
    found = call.run(lambda api: api.get("/secrets", tuple[SecretStatus, ...]))
    call.print(found, lambda out: _table(out, found))


def store(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A key of [secrets], or models.NAME for a model's key.")],
    *,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Store a secret's value where it refers to, a file or the keyring.

    The value comes from standard input, or is asked for without echo.
    """
    call = Call(context, json=json, home=home)

    async def work(api: Api) -> SecretStatus:
        await api.probe()  # nobody types a secret for a host that is not there
        return await api.put(path_of("secrets", name), SecretStatus, {"value": _value(name)})

    done = call.run(work)
    call.print(done, lambda out: out.line(f"stored {done.name} in {done.reference}"))


def _value(name: str) -> str:
    if sys.stdin.isatty():
        try:
            return getpass.getpass(f"value of {name} (it is not shown): ")
        except (EOFError, KeyboardInterrupt):
            message = "no value was given; nothing was stored"
            raise Failure(message, UNKNOWN_NAME) from None
    try:
        value = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        message = "standard input is no UTF-8 text; give the value as text, base64 for instance"
        raise Failure(message, UNKNOWN_NAME) from None
    return value.removesuffix("\n").removesuffix("\r")


def _table(out: Screen, found: tuple[SecretStatus, ...]) -> None:
    styles = {"present": "green", "missing": "red"}
    rows = ((each.name, (each.status, styles[each.status]), each.reference, each.detail) for each in found)
    out.table(("secret", "status", "reference", ""), rows, "no secrets in elis.toml")
