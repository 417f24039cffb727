"""A search as it is handed to the process that does it: what is looked for, and the open folders to look in.

Imports nothing but the standard library and neighbours that do the same: see `host.tools.beside`. The process itself is
`host.tools.search_child`.
"""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from host.tools.jail import Jail
from host.tools.page import mounts_of

KEPT_BYTES: Final = 8 << 20  # of the child's words: 1000 hits with long lines are a tenth of it
_GRACE_SECONDS: Final = 5  # of the processor beyond the search's own time: then it ends by itself


@dataclass(frozen=True, kw_only=True, slots=True)
class Sought:
    """What is looked for, and where."""

    path: str  # a folder or a file
    text: str
    regular: bool  # the text is a regular expression
    ignore_case: bool
    glob: str  # of names; empty: all files
    limit: int  # lines
    cursor: tuple[str, int] | None  # path and line after which to go on
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What the process of a search said until its end."""

    text: str
    timed_out: bool
    exit_code: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A search that can be begun."""

    query: int  # descriptor of what the process is to read: a process list must not show what is looked for
    folders: tuple[int, ...]  # descriptors of what it searches


@contextmanager
def prepared(jail: Jail, sought: Sought) -> Generator[Prepared]:
    """Open the folder to search in, or the one that holds the file to search; raise Missing, PathViolation."""
    found = jail.find(sought.path)
    above, _, name = found.place.path.rpartition("/") if found.file else (found.place.path, "", "")
    with jail.folder(above or ".") as (folder, place):
        mounts = {} if name else mounts_of(jail, place)
        query = {
            "start": folder,
            "prefix": place.shown,
            "mounts": mounts,
            "file": name,
            "path": found.place.shown,
            "text": sought.text,
            "regular": sought.regular,
            "ignore_case": sought.ignore_case,
            "glob": sought.glob,
            "limit": sought.limit,
            "cursor": sought.cursor,
            "cpu_seconds": int(sought.seconds) + _GRACE_SECONDS,
        }
        told = os.memfd_create("elis-search", os.MFD_CLOEXEC)
        try:
            with os.fdopen(os.dup(told), "wb") as file:
                file.write(json.dumps(query).encode())
            os.lseek(told, 0, os.SEEK_SET)
            yield Prepared(query=told, folders=(folder, *mounts.values()))
        finally:
            os.close(told)
