"""How tools reach a group's files, wherever these are: the interface of this machine and of a remote one (BOX-3).

The rules are those of `host.tools.jail`, at either place the same code; `host.tools.local_files` calls it here,
`host.tools.ssh.files` at the far end of a connection. Every method raises Unsupported when the files cannot be
reached, with the fix; the other errors are the jail's.
"""

from typing import Protocol

from host.tools.beside import Looked
from host.tools.jail import Admit, Content, Jail, Written
from host.tools.long_text import Stretch
from host.tools.outputs import KeepsFiles
from host.tools.page import Page, Wanted
from host.tools.paths import Place
from host.tools.searching import Sought, Told


class Files(KeepsFiles, Protocol):
    """The files of one group."""

    @property
    def here(self) -> Jail | None:
        """The jail, where the files lie on this machine; None where they lie on another one."""
        ...

    async def check(self, path: str, *, writing: bool = False) -> str:
        """Return the real path relative to /workspace; raise PathViolation where a tool may not go."""
        ...

    async def look(self, path: str, *, whole_bytes: int, beginning_bytes: int) -> Looked:
        """Read a file of up to `whole_bytes`, or the beginning of a longer one."""
        ...

    async def stretch(
        self, path: str, *, first: int, column: int, lines: int, limit_bytes: int
    ) -> tuple[str, Stretch | None]:
        """Return the real path of a file and a stretch of it, None where that part is no UTF-8."""
        ...

    async def read(self, path: str, limit_bytes: int) -> Content:
        """Return a whole file; raise ToolFailed for a larger one."""
        ...

    async def write(self, path: str, data: bytes, *, key: str, admit: Admit) -> Written:
        """Make `data` the content of `path` in one step, unless `admit` raises."""
        ...

    async def folder(self, path: str) -> Place:
        """Return the real place of a folder."""
        ...

    async def page(self, wanted: Wanted) -> Page:
        """Return one page of a listing."""
        ...

    async def search(self, sought: Sought) -> Told:
        """Look through files, ended when its time is up."""
        ...

    def close(self) -> None:
        """Release what is open."""
        ...
