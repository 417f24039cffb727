"""Commands that watch and answer: events, approvals, approve, deny, grants."""

import asyncio
import sys
from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec
import typer

from host.cli import views
from host.cli.asking import RECONNECT_SECONDS, Patience
from host.cli.call import Call, HomeOption, JsonOption, print_json
from host.cli.client import USAGE, Api, Failure, group_path, path_of
from host.groups.port import ApprovalView, AssistedView, EventView, GrantView, Revoked, Settlement, SuggestionView
from host.stops import Reason

_PAGE: Final = 1000
_PAUSE_SECONDS: Final = 0.5

Approval = Annotated[str, typer.Argument(metavar="ID", help="The question's id; `elis approvals` lists them.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (events, approvals, approve, deny, grants):
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


def approvals(
    context: typer.Context,
    *,
    suggest: Annotated[bool, typer.Option("--suggest", help="Propose grants for what was always approved.")] = False,
    assisted: Annotated[
        bool, typer.Option("--assisted", help="List what aux models let run without a person, the latest first.")
    ] = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List the questions that wait for an answer; with --suggest the grants that would have spared some.

    With --assisted what the aux model let run without a question.
    """
    call = Call(context, json=json, home=home)
    if assisted:
        let_through = call.run(lambda api: api.get("/assisted", tuple[AssistedView, ...]))
        call.print(let_through, lambda out: views.assisted(out, let_through))
        return
    if suggest:
        found = call.run(lambda api: api.get("/suggestions", tuple[SuggestionView, ...]))
        call.print(found, lambda out: views.suggestions(out, found))
        return
    questions = call.run(lambda api: api.get("/approvals", tuple[ApprovalView, ...]))
    call.print(questions, lambda out: views.approvals(out, questions))


def approve(  # noqa: PLR0913 - the options of the contract
    context: typer.Context,
    approval: Approval,
    *,
    scope: Annotated[
        Literal["once", "target", "under", "kind"],
        typer.Option(help="How far the answer reaches; the question says which it may be."),
    ] = "once",
    until: Annotated[
        str, typer.Option(metavar="TIME", help="When a wider answer ends, e.g. 2031-05-01T12:00; default: never.")
    ] = "",
    answer: Annotated[str, typer.Option(metavar="TEXT", help="The words, where the model asked for some.")] = "",
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Let a call run, or answer what the model asked."""
    call = Call(context, json=json, home=home)
    reach = {"scope": scope, "until": _instant(until)}
    _settle(call, approval, "answer" if answer.strip() else "allow", answer, reach)


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


def grants(
    context: typer.Context,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")],
    *,
    revoke: Annotated[str, typer.Option(metavar="ID", help="Take this grant back.")] = "",
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List the answers that stand for later calls, or take one back."""
    call = Call(context, json=json, home=home)
    if revoke.strip():
        path = group_path(group, "grants", revoke.strip())
        taken = call.run(lambda api: api.delete(path, Revoked))
        words = "revoked" if taken.revoked else "was revoked before"
        call.print(taken, lambda out: out.line(f"{taken.id} {words}"))
        return
    found = call.run(lambda api: api.get(group_path(group, "grants"), tuple[GrantView, ...]))
    call.print(found, lambda out: views.grants(out, found))


def _instant(time: str) -> str:
    """Return a time with its zone; one without is of this machine's. Raise Failure for what is no time."""
    if not time.strip():
        return ""
    try:
        return datetime.fromisoformat(time.strip()).astimezone().isoformat()
    except (ValueError, OverflowError) as error:
        message = f"--until: {time[:40]!r} is no time; write it as 2031-05-01T12:00, or with a zone"
        raise Failure(message, USAGE) from error


def _settle(call: Call, approval: str, verdict: str, text: str, reach: dict[str, str] | None = None) -> None:
    body = {"verdict": verdict, "text": text, **(reach or {})}
    result = call.run(lambda api: api.post(path_of("approvals", approval), Settlement, body))
    words = f"{result.verdict}" if result.settled else f"was settled before: {result.verdict} by {result.by}"
    call.print(result, lambda out: out.line(f"{result.id} {words}"))
