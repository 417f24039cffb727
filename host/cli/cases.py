"""What the judging commands share: lines of a file to be judged, one answer a line, and usage errors that exit 1.

A line is a JSON string or a JSON object (the contract: Command line); which fields an object has is the command's own.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Annotated, Any, Final, TypeVar

import msgspec
import typer
from typer.core import TyperCommand

from host.cli.client import UNKNOWN_NAME, Failure

C = TypeVar("C", bound=msgspec.Struct)

FileOption = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Judge each line, a JSON string or object; - is standard input."),
]
DefaultsOption = Annotated[
    bool, typer.Option("--defaults", help="Judge by the built-in defaults; needs no running host.")
]

_USAGE_EXIT: Final = 1
_BATCH_CHARS: Final = 500_000  # of one request: the host takes 4 MB, and a character may take six bytes of JSON


class Judging(TyperCommand):
    """A command whose usage errors exit 1, because its other codes are verdicts."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the library's own
        """Read the arguments."""
        return _usage_exits_1(lambda: super(Judging, self).make_context(*args, **kwargs))

    def invoke(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the library's own
        """Run the command."""
        return _usage_exits_1(lambda: super(Judging, self).invoke(*args, **kwargs))


def read(file: Path, kind: type[C], field: str) -> Iterator[C]:
    """Yield the cases of `file` as records of `kind`; a line that is a string is a case with only `field`.

    Empty lines are passed over. Raises Failure (exit 1) that names the line, never its content.
    """
    decoder = msgspec.json.Decoder(str | kind)
    try:
        with _opened(file) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _case(decoder, kind, field, line, f"{file}: line {number}")
    except OSError as error:
        message = f"{file} cannot be read ({error.strerror}); name a file with one JSON value a line"
        raise Failure(message, UNKNOWN_NAME) from error


def one(text: str, file: Path | None, what: str) -> None:
    """Raise a usage error unless exactly one of `text` and `file` is given."""
    if bool(text) == (file is not None):
        message = f"give either {what} or --file FILE"
        raise typer.BadParameter(message)


def batches(texts: Iterator[str]) -> Iterator[list[str]]:
    """Yield the texts in lists of a size that one request takes."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and size + len(text) > _BATCH_CHARS:
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _case(decoder: "msgspec.json.Decoder[Any]", kind: type[C], field: str, line: bytes, where: str) -> C:
    try:
        found: object = decoder.decode(line)
        return kind(**{field: found}) if isinstance(found, str) else msgspec.convert(found, kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        what = "JSON of another shape" if isinstance(error, msgspec.ValidationError) else "no JSON"
        message = f"{where} is {what}; write a JSON string, or an object with {field}"
        raise Failure(message, UNKNOWN_NAME) from None


def _opened(file: Path) -> IO[bytes]:
    return sys.stdin.buffer if str(file) == "-" else file.open("rb")


def _usage_exits_1(work: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the library returns
    try:
        return work()
    except typer.Exit:
        raise  # a verdict
    except Exception as error:
        # The library's own class of usage errors has no public name; its exit code is what tells it.
        if getattr(error, "exit_code", None) == 2:  # noqa: PLR2004 - the library's code for usage errors
            error.exit_code = _USAGE_EXIT  # type: ignore[attr-defined]
        raise
