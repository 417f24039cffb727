"""A group's files on another machine, as tools reach them: each is one request, done there by the jail's own code.

What the far end answers is checked for its form before anything relies on it.
"""

import asyncio
import os
from contextlib import suppress
from dataclasses import asdict
from typing import Final, cast

import msgspec

from host.errors import ElisError, ToolFailed
from host.tools import names
from host.tools.beside import Looked
from host.tools.far.wire import Message
from host.tools.jail import Admit, Content, Written
from host.tools.long_text import Stretch
from host.tools.page import Page, Wanted
from host.tools.paths import Place, place_of
from host.tools.searching import KEPT_BYTES, Sought, Told
from host.tools.ssh.connection import Connection, formed, refuse_more
from host.tools.ssh.link import Link

_PIECE: Final = 1 << 20  # of a kept file, sent one after the other
_SLACK: Final = 1 << 20  # that a stretch may have beyond its limit, which is one of about
_GROWN: Final = 1  # a byte by which a file shows that it grew meanwhile


class RemoteFiles:
    """The files beneath the root at the far end of a link. Thread-safe."""

    def __init__(self, link: Link) -> None:
        """Reach them by `link`."""
        self._link = link

    @property
    def here(self) -> None:
        """They are not on this machine."""
        return

    async def check(self, path: str, *, writing: bool = False) -> str:
        """Return the real path, see `host.tools.access.Files`."""
        place_of(path, ())  # what the words alone rule out needs no connection
        answer, _ = await self._link.ask("check", path=path, writing=writing)
        return formed(_seen(answer).get("shown"), str)

    async def look(self, path: str, *, whole_bytes: int, beginning_bytes: int) -> Looked:
        """Read a file, or its beginning."""
        answer, data = await self._link.ask("look", path=path, whole_bytes=whole_bytes, beginning_bytes=beginning_bytes)
        refuse_more("bytes", len(data), max(whole_bytes, beginning_bytes) + _GROWN)
        return formed(_seen(answer) | {"data": data}, Looked)

    async def stretch(
        self, path: str, *, first: int, column: int, lines: int, limit_bytes: int
    ) -> tuple[str, Stretch | None]:
        """Return a stretch of a long file."""
        answer, _ = await self._link.ask(
            "stretch", path=path, first=first, column=column, lines=lines, limit_bytes=limit_bytes
        )
        shown, found = formed(_seen(answer).get("shown"), str), answer.get("stretch")
        if found is None:
            return shown, None
        stretch = formed(found, Stretch, text_chars=2 * limit_bytes + _SLACK)
        refuse_more("lines", len(stretch.lines), lines)
        refuse_more("characters", sum(map(len, stretch.lines)), 2 * limit_bytes + _SLACK)
        return shown, stretch

    async def read(self, path: str, limit_bytes: int) -> Content:
        """Return a whole file."""
        answer, data = await self._link.ask("read", path=path, limit_bytes=limit_bytes)
        refuse_more("bytes", len(data), limit_bytes + _GROWN)
        return formed(_seen(answer) | {"data": data}, Content)

    async def write(self, path: str, data: bytes, *, key: str, admit: Admit) -> Written:
        """Replace a file in one step; `admit` is asked from there, at the last moment."""
        question = _Question(admit, asyncio.get_running_loop())
        try:
            answer, _ = await self._link.ask("write", data, listener=question.hear, path=path, key=key)
        except ToolFailed:
            if question.refusal is not None:
                raise question.refusal from None
            raise
        written = formed(_seen(answer), Written)
        if question.shown not in {None, written.shown}:
            message = f"the other machine says that it wrote another file than {question.shown}, which it asked about"
            raise ToolFailed(message)
        return written

    async def folder(self, path: str) -> Place:
        """Return the real place of a folder."""
        answer, _ = await self._link.ask("folder", path=path)
        return formed(answer, Place)

    async def page(self, wanted: Wanted) -> Page:
        """Return one page of a listing."""
        answer, _ = await self._link.ask("page", **asdict(wanted))
        page = formed(_seen(answer), Page, text_chars=wanted.limit_bytes)
        refuse_more("lines", len(page.lines), wanted.limit)
        refuse_more("characters", sum(len(line) + 1 for line in page.lines), wanted.limit_bytes)
        for path in (page.folder, page.last):
            formed(path, str)
        page.lines = [names.shown(line) for line in page.lines]
        return page

    async def search(self, sought: Sought) -> Told:
        """Look through files."""
        answer, data = await self._link.ask("search", **asdict(sought))
        refuse_more("bytes", len(data), KEPT_BYTES)
        return formed(answer | {"text": data.decode(errors="replace")}, Told, text_chars=KEPT_BYTES)

    def output_file(self, folder: str, name: str) -> "_OutputFile":
        """Begin a file in which a long text is kept."""
        return _OutputFile(self._link, folder, name)

    def close(self) -> None:
        """End the connection."""
        self._link.close()


def _seen(answer: Message) -> Message:
    """Return an answer whose paths stand on one line and hide nothing, as those of home do."""
    return {name: names.shown(value) if isinstance(value, str) else value for name, value in answer.items()}


class _Question:
    """What is asked from the far end before a write, and why it was refused.

    It is answered in the reading thread: a lane whose loop is held keeps nobody waiting there.
    """

    def __init__(self, admit: Admit, loop: asyncio.AbstractEventLoop) -> None:
        self.refusal: Exception | None = None
        self.shown: str | None = None  # the path that was admitted
        self._admit = admit
        self._loop = loop
        self._asked = False

    def hear(self, connection: Connection, message: Message, _data: bytes) -> None:
        """Answer the question, once; a far end that has another one is given up."""
        if self._asked:
            connection.cut()
            return
        self._asked = True
        about: _About | None = None
        try:
            asked = message.get("ask")
            about = formed(_seen(cast("Message", asked)) if isinstance(asked, dict) else asked, _About)
            self._admit(about.shown, None if about.hash is None else _Present(about.hash))
        except Exception as error:  # noqa: BLE001 - raised where the write is waited for
            self.refusal = error
        wanted = self.refusal is None and not self._loop.is_closed()
        if connection.allow(int(message["id"]), allowed=wanted) and about is not None:
            self.shown = about.shown


class _About(msgspec.Struct, frozen=True):
    """The target of a write."""

    shown: str
    hash: str | None  # of its content; None: there is nothing


class _Present:
    """What stands at the target."""

    def __init__(self, content_hash: str) -> None:
        self._hash = content_hash

    def hash(self) -> str:
        return self._hash


class _OutputFile:
    """A kept file on its way: it gathers in a nameless file here, and goes over when it is complete."""

    def __init__(self, link: Link, folder: str, name: str) -> None:
        self._link = link
        self._folder = folder
        self._name = name
        self._gathered = os.memfd_create("elis-output", os.MFD_CLOEXEC)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._gathered, view) :]

    async def put_in_place(self) -> None:
        answer, _ = await self._link.ask("keep", folder=self._folder, name=self._name)
        number, offset = formed(answer.get("file"), int), 0
        try:
            while piece := os.pread(self._gathered, _PIECE, offset):
                await self._link.ask("keep_more", piece, file=number)
                offset += len(piece)
        except BaseException:
            with suppress(ElisError, asyncio.CancelledError):
                await self._link.ask("keep_end", file=number, put_in_place=False)
            raise
        await self._link.ask("keep_end", file=number, put_in_place=True)

    def close(self) -> None:
        os.close(self._gathered)
