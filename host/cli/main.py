"""The command `elis`: puts the commands together and is the one boundary where failures become exit codes."""

import sys
from typing import Final, NoReturn

import typer
from rich.console import Console

from host.cli import answering, groups, hosting, journal, talking
from host.cli.call import Before, HomeOption, JsonOption
from host.cli.client import Failure
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
for part in (hosting, groups, talking, answering, journal):
    part.register(app)


@app.callback()
def before(context: typer.Context, *, json: JsonOption = False, home: HomeOption = None) -> None:
    """Take --json and --home before the command as well as after it."""
    context.obj = Before(json=json, home=home)


def run() -> NoReturn:
    """Run the command that the arguments name and exit with its code."""
    try:
        app(prog_name="elis")
    except Failure as failure:
        _say(failure.message)
        sys.exit(failure.exit_code)
    except (SettingsError, NotFound) as error:  # what somebody wrote is wrong: a usage error in the contract's sense
        _say(error.message)
        sys.exit(USAGE_EXIT)
    except ElisError as error:
        _say(error.message)
        sys.exit(error.reason.exit_code)
    sys.exit(0)


def _say(message: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"elis: {message}", markup=False)


if __name__ == "__main__":
    run()
