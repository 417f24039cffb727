"""The parts of the file tools that are done where the files are: a first look at a file, a stretch of a long one.

Imports nothing but the standard library and neighbours that do the same, because for files on another machine this
runs at the far end of a connection (`host.tools.far`).
"""

from dataclasses import dataclass

from host.tools.jail import Jail
from host.tools.long_text import Stretch, stretching
from host.tools.replace import read_all
from host.tools.steps import Steps


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked:
    """A file as it was met."""

    shown: str  # its real path relative to /workspace, links resolved
    size: int  # bytes
    data: bytes  # all of it, or the beginning of a longer one
    whole: bool


def look(jail: Jail, path: str, *, whole_bytes: int, beginning_bytes: int) -> Looked:
    """Read a file of up to `whole_bytes`, or the beginning of a longer one; raise as `Jail.reading` does."""
    with jail.reading(path) as (descriptor, shown, size):
        whole = size <= whole_bytes
        data = read_all(descriptor, whole_bytes if whole else beginning_bytes - 1)
    return Looked(shown=shown, size=size, data=data, whole=whole)


def stretch_of(
    jail: Jail, path: str, *, first: int, column: int, lines: int, limit_bytes: int
) -> Steps[tuple[str, Stretch | None]]:
    """Return the real path of a file and a stretch of it, None where that part is no UTF-8; see `long_text`."""
    with jail.reading(path) as (descriptor, shown, _):
        try:
            steps = stretching(descriptor, first=first, column=column, lines=lines, limit_bytes=limit_bytes)
            return shown, (yield from steps)
        except UnicodeDecodeError:
            return shown, None
