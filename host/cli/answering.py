"""Commands that watch and answer: events, approvals, approve, deny."""

import asyncio
import sys
from typing import Annotated, Final, Literal

import msgspec
import typer

from host.cli import views
from host.cli.asking import RECONNECT_SECONDS, Patience
from host.cli.call import Call, HomeOption, JsonOption, print_json
from host.cli.client import Api, Failure, group_path, path_of
from host.groups.port import ApprovalView, EventView, Settlement
from host.stops import Reason

_PAGE: Final = 1000
_PAUSE_SECONDS: Final = 0.5

Approval = Annotated[str, typer.Argument(metavar="ID", help="The question's id; `elis approvals` lists them.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (events, approvals, approve, deny):
        app.command()(command)


def events(
    context: typer.Context,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")],
    *,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with new events until Ctrl-C.")] = False,
    after: Annotated[int, typer.Option(metavar="SEQ", min=0, help="Only events after this sequence.")] = 0,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List a group's events; with --json an array, with --follow --json one object a line."""
    call = Call(context, json=json, home=home)
    if follow:
        asyncio.run(_follow(call, group, after))
    else:
        call.run(lambda api: _list(api, call, group, after))


async def _list(api: Api, call: Call, group: str, after: int) -> None:
    """Print page by page: a journal may be larger than memory."""
    separator = "["
    while True:
        page = await api.get(group_path(group, "events"), tuple[EventView, ...], after=after, limit=_PAGE)
        for event in page:
            if call.json:
                sys.stdout.write(separator + msgspec.json.encode(event).decode())
                separator = ","
            else:
                call.out.line(*views.event_line(event))
        if len(page) < _PAGE:
            break
        after = page[-1].seq
    if call.json:
        sys.stdout.write(("[" if separator == "[" else "") + "]\n")


async def _follow(call: Call, group: str, after: int) -> None:
    patience = Patience(RECONNECT_SECONDS)
    async with Api(call.home) as api:
        await api.probe()
    while True:
        try:
            async with Api(call.home) as api, api.follow(group, after) as items:
                patience.opened()
                async for item in items:
                    if isinstance(item, EventView):
                        after = item.seq
                        if call.json:
                            print_json(item)
                        else:
                            call.out.line(*views.event_line(item))
        except Failure as failure:
            if failure.exit_code != Reason.RESOURCE_BUSY.exit_code:
                raise
            patience.lost(failure)
            await asyncio.sleep(_PAUSE_SECONDS)


def approvals(context: typer.Context, *, json: JsonOption = False, home: HomeOption = None) -> None:
    """List the questions that wait for an answer."""
    call = Call(context, json=json, home=home)
    questions = call.run(lambda api: api.get("/approvals", tuple[ApprovalView, ...]))
    call.print(questions, lambda out: views.approvals(out, questions))


def approve(
    context: typer.Context,
    approval: Approval,
    *,
    scope: Annotated[Literal["once"], typer.Option(help="For this once; wider scopes come with grants.")] = "once",
    answer: Annotated[str, typer.Option(metavar="TEXT", help="The words, where the model asked for some.")] = "",
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Let a call run, or answer what the model asked."""
    del scope  # there is only one so far
    call = Call(context, json=json, home=home)
    _settle(call, approval, "answer" if answer.strip() else "allow", answer)


def deny(
    context: typer.Context,
    approval: Approval,
    *,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; the model is told.")] = "",
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Refuse a call."""
    _settle(Call(context, json=json, home=home), approval, "deny", reason)


def _settle(call: Call, approval: str, verdict: str, text: str) -> None:
    body = {"verdict": verdict, "text": text}
    result = call.run(lambda api: api.post(path_of("approvals", approval), Settlement, body))
    words = f"{result.verdict}" if result.settled else f"was settled before: {result.verdict} by {result.by}"
    call.print(result, lambda out: out.line(f"{result.id} {words}"))
