"""The command `elis`: puts the commands together and is the one boundary where failures become exit codes."""

import io
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import typer

from host.cli import answering, checking, groups, hosting, journal, masking, secrets, talking, tools
from host.cli.call import Before, HomeOption, JsonOption
from host.cli.client import USAGE, Failure
from host.cli.screen import Screen
from host.errors import ElisError, NotFound, SettingsError

USAGE_EXIT: Final = 1

app = typer.Typer(
    name="elis",
    help="A self-hosted, long-running assistant host.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (hosting, groups, talking, answering, journal, secrets, tools, masking, checking):
    part.register(app)


@app.callback()
def before(context: typer.Context, *, json: JsonOption = False, home: HomeOption = None) -> None:
    """Take --json and --home before the command as well as after it."""
    context.obj = Before(json=json, home=home)


def run() -> NoReturn:
    """Run the command that the arguments name and exit with its code."""
    try:
        _check(sys.argv[1:])
        # not standalone, which would print what the library has to say past our screen
        sys.exit(app(prog_name="elis", standalone_mode=False))
    except typer.TyperException as error:
        _say_usage(error)
    except typer.Abort:
        sys.exit(USAGE_EXIT)
    except Failure as failure:
        _say(failure.message)
        sys.exit(failure.exit_code)
    except (SettingsError, NotFound) as error:  # what somebody wrote is wrong: a usage error in the contract's sense
        _say(error.message)
        sys.exit(USAGE_EXIT)
    except ElisError as error:
        _say(error.message)
        sys.exit(error.reason.exit_code)


def _check(arguments: Sequence[str]) -> None:
    """Raise Failure for an argument that is no text; the path of a home may be any bytes."""
    before = ""
    for place, argument in enumerate(arguments, start=1):
        is_path = before == "--home" or argument.startswith("--home=")
        if not is_path and any("\ud800" <= character <= "\udfff" for character in argument):
            message = f"argument {place} is not UTF-8: {argument[:80]}; convert it first, for example with iconv"
            raise Failure(message, USAGE)
        before = argument


def _say_usage(error: Any) -> NoReturn:  # noqa: ANN401 - the library's exceptions, which declare less than they have
    """Print what the library says of wrong usage, and exit with its code."""
    words = io.StringIO()
    error.show(words)
    Screen(file=sys.stderr).line(words.getvalue().rstrip("\n"))
    sys.exit(error.exit_code)


def _say(message: str) -> None:
    Screen(file=sys.stderr).line(f"elis: {message}")


if __name__ == "__main__":
    run()
