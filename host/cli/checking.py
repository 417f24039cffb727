"""The command `elis check-command GROUP TEXT`: what the gate would say of a shell command."""

from collections.abc import Callable, Iterator
from typing import Annotated, Final

import msgspec
import typer

from host.cli import cases
from host.cli.call import Call, HomeOption, JsonOption, print_json
from host.cli.client import Api, group_path
from host.config.live import PolicyNow
from host.config.settings import PolicySettings
from host.gate.checking import Checked, Verdict, check
from host.policy.policy import Policy
from host.policy.shell.analysis import analyse

EXIT_CODES: Final = {Verdict.ALLOW: 0, Verdict.ASK: 2, Verdict.DENY: 3, Verdict.FLOOR: 4}


class CommandCase(msgspec.Struct, frozen=True, kw_only=True):
    """A command; further fields are passed over."""

    command: str


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check-command", cls=cases.Judging)(check_command)


def check_command(  # noqa: PLR0913 - one command with its options
    context: typer.Context,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The command to judge.")] = "",
    *,
    file: cases.FileOption = None,
    defaults: cases.DefaultsOption = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say what the gate would do with a shell command: exit 0 allow, 2 ask, 3 deny, 4 floor; with --file 0."""
    call = Call(context, json=json, home=home)
    cases.one(text, file, "TEXT")
    given = (CommandCase(command=text),) if file is None else cases.read(file, CommandCase, "command")
    found: list[Checked] = []

    def show(checked: Checked) -> None:
        found.append(checked)
        if file is not None or call.json:
            print_json(checked)
        else:
            call.out.line(f"{checked.verdict} ({checked.rule}): {checked.reason}")

    if defaults:
        policy = Policy(lambda: PolicyNow(group=PolicySettings()))
        for case in given:
            show(check(analyse(case.command), policy, dict, bare=False))
    else:
        call.run(lambda api: _asked(api, group, (case.command for case in given), show))
    if file is None:
        raise typer.Exit(EXIT_CODES[found[0].verdict])


async def _asked(api: Api, group: str, commands: Iterator[str], show: Callable[[Checked], None]) -> None:
    for batch in cases.batches(commands):
        answer = await api.post(group_path(group, "check-command"), tuple[Checked, ...], {"commands": batch})
        for checked in answer:
            show(checked)
