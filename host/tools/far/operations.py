"""What the far end can be asked for: the work of file tools and commands, done by the code that does it at home.

An operation takes the request's fields and bytes and returns those of the answer.
"""

import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from host.errors import ToolFailed
from host.tools import beside
from host.tools.far import commands, searches
from host.tools.far.children import Children
from host.tools.far.jobs import Job
from host.tools.far.wire import Message
from host.tools.jail import Jail, Present
from host.tools.names import escaped
from host.tools.output_file import OutputFile
from host.tools.page import Wanted, page_of
from host.tools.searching import Sought
from host.tools.seen import ChangedSince
from host.tools.steps import taken

Answer = tuple[Message, bytes]


class Refused(Exception):
    """The other end does not want it done, and knows why."""


class Operations:
    """The operations of one connection. Thread-safe."""

    def __init__(self, jail: Jail, children: Children) -> None:
        self._jail = jail
        self._children = children
        self._files: dict[int, OutputFile] = {}
        self._lock = threading.Lock()
        self.all: Final[dict[str, Callable[[Job, Message, bytes], Answer]]] = {
            "check": self._check,
            "look": self._look,
            "stretch": self._stretch,
            "read": self._read,
            "write": self._write,
            "folder": self._folder,
            "page": self._page,
            "search": self._search,
            "run": self._run,
            "keep": self._keep,
            "keep_more": self._keep_more,
            "keep_end": self._keep_end,
        }

    def _check(self, _job: Job, asked: Message, _data: bytes) -> Answer:
        return {"shown": self._jail.check(asked["path"], writing=asked["writing"])}, b""

    def _look(self, _job: Job, asked: Message, _data: bytes) -> Answer:
        met = beside.look(
            self._jail, asked["path"], whole_bytes=asked["whole_bytes"], beginning_bytes=asked["beginning_bytes"]
        )
        return {"shown": met.shown, "size": met.size, "whole": met.whole}, met.data

    def _stretch(self, job: Job, asked: Message, _data: bytes) -> Answer:
        shown, found = taken(beside.stretch_of(self._jail, **asked), job.breathe)
        return {"shown": shown, "stretch": None if found is None else asdict(found)}, b""

    def _read(self, _job: Job, asked: Message, _data: bytes) -> Answer:
        content = self._jail.read(asked["path"], asked["limit_bytes"])
        return {"shown": content.shown}, content.data

    def _write(self, job: Job, asked: Message, data: bytes) -> Answer:
        admitted: list[tuple[str, str | None]] = []

        def ask(shown: str, present: Present | None) -> None:
            about = (shown, None if present is None else present.hash())
            if not job.ask(shown=shown, hash=about[1]).get("admitted"):
                raise Refused
            admitted.append(about)

        def admit(shown: str, present: Present | None) -> None:
            if (shown, None if present is None else present.hash()) not in admitted:
                message = f"{shown} changed while it was to be written and was left as it is; read it again first"
                raise ChangedSince(message)
            job.breathe()

        written = self._jail.write(asked["path"], data, key=asked["key"], before=ask, admit=admit)
        return {"shown": written.shown, "earlier": written.earlier}, b""

    def _folder(self, _job: Job, asked: Message, _data: bytes) -> Answer:
        with self._jail.folder(asked["path"]) as (_, place):
            return {"root": place.root, "inner": escaped(place.inner)}, b""

    def _page(self, job: Job, asked: Message, _data: bytes) -> Answer:
        return asdict(taken(page_of(self._jail, Wanted(**asked)), job.breathe)), b""

    def _search(self, job: Job, asked: Message, _data: bytes) -> Answer:
        cursor: Any = asked.pop("cursor")
        sought = Sought(cursor=None if cursor is None else (cursor[0], cursor[1]), **asked)
        return searches.search(job, self._jail, self._children, sought)

    def _run(self, job: Job, asked: Message, _data: bytes) -> Answer:
        return commands.run(job, self._jail, self._children, asked), b""

    def _keep(self, job: Job, asked: Message, _data: bytes) -> Answer:
        file = OutputFile(self._jail.roots[0].descriptor, asked["folder"], asked["name"])
        with self._lock:
            self._files[job.number] = file
        return {"file": job.number}, b""

    def _keep_more(self, _job: Job, asked: Message, data: bytes) -> Answer:
        with self._lock:
            file = self._files.get(asked["file"])
        if file is None:
            message = "the file is not open any more"
            raise ToolFailed(message)
        file.write(data)
        return {}, b""

    def _keep_end(self, _job: Job, asked: Message, _data: bytes) -> Answer:
        with self._lock:
            file = self._files.pop(asked["file"], None)
        if file is not None:
            try:
                if asked["put_in_place"]:
                    file.put_in_place()
            finally:
                file.close()
        return {}, b""
