"""A group's files on this machine, as tools reach them: the jail, with breaths for the lane's loop in long work.

What is here beyond that: the process in which a search is done.
"""

import asyncio
import sys
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from host.errors import Unsupported
from host.tools import beside, leftovers
from host.tools.beside import Looked
from host.tools.child import Child
from host.tools.jail import Admit, Content, Jail, Written
from host.tools.long_text import Stretch
from host.tools.output import Output
from host.tools.output_file import OutputFile
from host.tools.page import Page, Wanted, page_of
from host.tools.paths import Place
from host.tools.searching import KEPT_BYTES, Prepared, Sought, Told, prepared
from host.tools.steps import Steps

T = TypeVar("T")
_PACKAGES: Final = Path(__file__).parents[2]  # where `host` is imported from


class LocalFiles:
    """The files behind a jail. Thread-safe."""

    def __init__(self, jail: Jail) -> None:
        """Take an open jail."""
        self._jail = jail

    @property
    def here(self) -> Jail:
        """The jail."""
        return self._jail

    async def check(self, path: str, *, writing: bool = False) -> str:
        """Return the real path, see `host.tools.access.Files`."""
        return self._jail.check(path, writing=writing)

    async def look(self, path: str, *, whole_bytes: int, beginning_bytes: int) -> Looked:
        """Read a file, or its beginning."""
        return beside.look(self._jail, path, whole_bytes=whole_bytes, beginning_bytes=beginning_bytes)

    async def stretch(
        self, path: str, *, first: int, column: int, lines: int, limit_bytes: int
    ) -> tuple[str, Stretch | None]:
        """Return a stretch of a long file."""
        steps = beside.stretch_of(self._jail, path, first=first, column=column, lines=lines, limit_bytes=limit_bytes)
        return await _breathing(steps)

    async def read(self, path: str, limit_bytes: int) -> Content:
        """Return a whole file."""
        return self._jail.read(path, limit_bytes)

    async def write(self, path: str, data: bytes, *, key: str, admit: Admit) -> Written:
        """Replace a file in one step."""
        return self._jail.write(path, data, key=key, admit=admit)

    async def folder(self, path: str) -> Place:
        """Return the real place of a folder."""
        with self._jail.folder(path) as (_, place):
            return place

    async def page(self, wanted: Wanted) -> Page:
        """Return one page of a listing."""
        return await _breathing(page_of(self._jail, wanted))

    async def search(self, sought: Sought) -> Told:
        """Look through files in a process of its own, which inherits the open folders and nothing else."""
        output = Output(kept_bytes=KEPT_BYTES)
        mark = leftovers.mark(self._jail.roots[0])
        with prepared(self._jail, sought) as ready, closing(_child(ready, mark)) as child:
            timed_out = await child.attend(output, sought.seconds, child.kill_group)
            return Told(text=output.text(), timed_out=timed_out, exit_code=child.exit_code)

    def output_file(self, folder: str, name: str) -> "_OutputFile":
        """Begin a file in which a long text is kept."""
        return _OutputFile(OutputFile(self._jail.roots[0].descriptor, folder, name))

    def close(self) -> None:
        """Release the jail."""
        self._jail.close()


class _OutputFile:
    """A kept file on this disk."""

    def __init__(self, file: OutputFile) -> None:
        self._file = file
        self.write = file.write
        self.close = file.close

    async def put_in_place(self) -> None:
        self._file.put_in_place()


async def _breathing(steps: Steps[T]) -> T:
    """Take all steps, with a chance for others of the loop after each."""
    with closing(steps):  # at once when the call is cancelled in between: what they had open is released
        while True:
            try:
                next(steps)
            except StopIteration as done:
                outcome: T = done.value
                return outcome
            await asyncio.sleep(0)


def _child(ready: Prepared, mark: dict[str, str]) -> Child:
    argv = [sys.executable, "-P", "-s", "-S", "-B", "-m", "host.tools.search_child", str(ready.query)]
    environment = {"PYTHONPATH": str(_PACKAGES), "PYTHONIOENCODING": "utf-8:backslashreplace", **mark}
    try:
        return Child(argv, environment=environment, descriptors=[ready.query, *ready.folders])
    except OSError as error:
        message = f"the search cannot be started ({error}); ask the operator to run elis doctor"
        raise Unsupported(message) from error
