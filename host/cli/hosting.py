"""Commands about the host itself: up, down, status, doctor, panel."""

import asyncio
import time
from typing import Annotated, Any, Final

import typer

from host.cli import views
from host.cli.call import Call, HomeOption, JsonOption, print_json
from host.cli.client import Api, Failure
from host.cli.screen import Screen
from host.cli.shapes import HostState, LoginLink
from host.config.home import Home
from host.faults import POINTS
from host.stops import Reason

_DOWN_SECONDS: Final = 45.0  # running turns get 20 s to end, then Ray and the children are ended
_PAUSE_SECONDS: Final = 0.1


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (up, down, status, doctor, panel):
        app.command()(command)


def up(
    context: typer.Context,
    *,
    detach: Annotated[bool, typer.Option("--detach", help="Return when the host listens; it runs on.")] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Start the host in the foreground; Ctrl-C stops it."""
    from host.app.main import run  # noqa: PLC0415 - it loads Ray and the web server, which no other command waits for

    call = Call(context, json=json, home=home)
    code = run(call.home.root, detach=detach, json=call.json)
    if detach and call.json and code == 0:
        link = call.run(lambda api: api.post("/login-links", LoginLink)).url
        print_json({"url": link.partition("/login?")[0], "link": link, "pid": call.home.holder()})
    raise typer.Exit(code)


def down(context: typer.Context, *, json: JsonOption = False, home: HomeOption = None) -> None:
    """Stop the host in order and wait until it has ended."""
    call = Call(context, json=json, home=home)
    pid = call.home.holder()

    async def work(api: Api) -> None:
        await api.post("/shutdown", dict[str, Any])

    call.run(work)
    asyncio.run(_gone(call.home))
    call.print({"stopped": True, "pid": pid}, lambda out: out.line("the host has stopped"))


async def _gone(home: Home) -> None:
    until = time.monotonic() + _DOWN_SECONDS
    while home.holder() is not None:
        if time.monotonic() > until:
            message = f"the host (process {home.holder()}) is still stopping; `elis status` tells when it is gone"
            raise Failure(message, Reason.TIMED_OUT.exit_code)
        await asyncio.sleep(_PAUSE_SECONDS)


def status(context: typer.Context, *, json: JsonOption = False, home: HomeOption = None) -> None:
    """Show the host, its services and its groups."""
    call = Call(context, json=json, home=home)
    if call.json:
        call.print(call.run(lambda api: api.get("/status", dict[str, Any])), lambda _: None)
    else:
        views.status(call.out, call.run(lambda api: api.get("/status", HostState)))


def doctor(
    context: typer.Context,
    *,
    faults: Annotated[bool, typer.Option("--faults", help="List the fault points instead.")] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Check everything that can be wrong, and say what to do; exit 0 only if all is well."""
    call = Call(context, json=json, home=home)
    if faults:
        points = [{"name": name, "when": when} for name, when in POINTS.items()]
        rows = tuple((name, when) for name, when in POINTS.items())
        call.print(points, lambda out: out.table(("point", "when"), rows, "no fault points"))
        return
    from host.app.doctor import check  # noqa: PLC0415 - it loads Ray and more, which no other command waits for

    findings = check(call.home)
    call.print(findings, lambda out: _findings(out, [(item.name, item.ok, item.detail, item.fix) for item in findings]))
    raise typer.Exit(0 if all(item.ok for item in findings) else 1)


def _findings(out: Screen, rows: list[tuple[str, bool, str, str]]) -> None:
    for name, ok, detail, fix in rows:
        out.line(("ok   ", "green") if ok else ("WRONG", "bold red"), f" {name}: {detail}")
        if not ok and fix:
            out.line(f"      {fix}")


def panel(context: typer.Context, *, json: JsonOption = False, home: HomeOption = None) -> None:
    """Print a fresh link that signs one browser in."""
    call = Call(context, json=json, home=home)
    link = call.run(lambda api: api.post("/login-links", LoginLink))
    call.print(link, lambda out: out.line(link.url))
