"""The command `elis mask GROUP TEXT`: what masking makes of a text."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer

from host.cli import cases
from host.cli.call import Call, HomeOption, JsonOption, print_json
from host.cli.client import Api, group_path
from host.vault.masking import Masker


class MaskCase(msgspec.Struct, frozen=True, kw_only=True):
    """A text, and the values that count as lent for it; further fields are passed over."""

    text: str
    lent: dict[str, str] = {}  # name → value


class Masked(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a text."""

    text: str


class _Texts(msgspec.Struct, frozen=True, kw_only=True):
    texts: tuple[str, ...]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=cases.Judging)(mask)


def mask(  # noqa: PLR0913 - one command with its options
    context: typer.Context,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text to mask.")] = "",
    *,
    file: cases.FileOption = None,
    defaults: cases.DefaultsOption = False,
    json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Show what masking makes of a text: lent values become handles, typical forms of secrets «masked:KIND»."""
    call = Call(context, json=json, home=home)
    cases.one(text, file, "TEXT")
    given = (MaskCase(text=text),) if file is None else cases.read(file, MaskCase, "text")
    # Values that a line calls lent are taken out here: they are not sent anywhere.
    ours = (_masked_here(case, defaults=defaults) for case in given)
    if defaults:
        _show(call, ours, lines=file is not None)
        return

    async def work(api: Api) -> None:
        for batch in cases.batches(ours):
            answer = await api.post(group_path(group, "mask"), _Texts, {"texts": batch})
            _show(call, iter(answer.texts), lines=file is not None)

    call.run(work)


def _masked_here(case: MaskCase, *, defaults: bool) -> str:
    masker = Masker()
    for name, value in case.lent.items():
        masker.lend(name, value)
    return masker.text(case.text) if defaults or case.lent else case.text


def _show(call: Call, texts: Iterator[str], *, lines: bool) -> None:
    for text in texts:
        if lines or call.json:
            print_json(Masked(text=text))
        else:
            call.out.line(text)
