"""Texts that are too long for one answer, kept whole in files of the workspace (CTX-3).

A text is fed as it comes. While it fits an answer it is held; once it does not, all of it goes to a file, masked on
the way there as it is where it is shown (MASK-1), so that no more than an excerpt stays in memory. The files lie in
`outputs/`, named after their call. They are bounded: the newest 200 and 512 MiB stay, and one holds 256 MiB at most;
what did not go into it is said. Only files that are named so are ever removed, never what else lies there.
"""

import os
import re
import secrets
import stat
from contextlib import suppress
from typing import Final, Protocol, Self

import msgspec

from host.errors import ElisError
from host.tools.contents import Contents, Excerpt
from host.tools.jail import Jail
from host.tools.names import escaped
from host.tools.roots import plain_folder
from host.tools.text import call, counted
from host.tools.walk import TEMPORARY

FOLDER: Final = "outputs"
DOWNLOADS: Final = "downloads"  # where bodies from the web are kept; nothing there is ever removed
EXTERNAL: Final = ".external"  # in the name of a file whose words came from outside: read_file wraps them (CTX-6)
FILES: Final = 200  # a long turn has some dozens of long answers; this spans several
BYTES: Final = 512 << 20
FILE_BYTES: Final = 256 << 20
_OWN: Final = re.compile(r"t[0-9a-z]*-\d+\.\d+(\.external)?\.txt\Z")
_PIECE: Final = 1 << 14  # characters masked at a time: some milliseconds
_LEFT_SECONDS: Final = 3600.0  # a file that nobody has written to for so long is nobody's: commands end before
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TextStream(Protocol):
    """Changes a text that comes in pieces."""

    def feed(self, chunk: str) -> str:
        """Take the next piece; return what is certain by now."""
        ...

    def flush(self) -> str:
        """Return what was held back."""
        ...


class Plain:
    """The stream for a text that is masked already."""

    def feed(self, chunk: str) -> str:
        """Return it."""
        return chunk

    def flush(self) -> str:
        """Return nothing."""
        return ""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A text that was too long, as it is told."""

    excerpt: str  # its own words: contents, first and last lines
    where: str  # the host's words: how much it is, where all of it lies, the call that reads on


class Keeping:
    """Takes one text. Use it as a context manager: a file that was not finished does not stay."""

    def __init__(
        self, jail: Jail, *, name: str, limit_bytes: int, stream: TextStream, folder: str = FOLDER, what: str = "output"
    ) -> None:
        """Hold up to `limit_bytes`; what is more goes to `name` in `folder`."""
        self._jail = jail
        self._folder = folder
        self._name = name
        self._limit = limit_bytes
        self._stream = stream
        self._what = what
        self._held: list[str] = []
        self._size = 0
        self._contents: Contents | None = None  # there once the text is too long
        self._temporary: str | None = None
        self._file = -1
        self._directory = -1
        self._written = 0
        self._lost = 0  # bytes that are in no file
        self._trouble = ""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was not finished."""
        self._close()

    def feed(self, text: str) -> None:
        """Take the next piece."""
        if self._contents is None:
            self._held.append(text)
            self._size += len(text.encode(errors="surrogatepass"))
            if self._size <= self._limit:
                return
            text, self._held = "".join(self._held), []
            self._contents = Contents(self._limit // 2)
            self._open()
        for start in range(0, len(text), _PIECE):
            self._pass_on(self._contents, self._stream.feed(text[start : start + _PIECE]))

    def finish(self) -> Kept | None:
        """Return how the text is told, or None if it was short: then there is no file."""
        if self._contents is None:
            return None
        self._pass_on(self._contents, self._stream.flush())
        excerpt = self._contents.excerpt()
        if not self._trouble:
            self._put_in_place()
        self._close()
        return Kept(excerpt=excerpt.text, where=self._where(excerpt))

    def _where(self, excerpt: Excerpt) -> str:
        size = f"the {self._what} has {counted(excerpt.lines, 'line')}, {counted(excerpt.bytes, 'byte')}"
        if self._trouble:
            return f"[{size}, more than one answer holds, and could not be kept in a file: {self._trouble}]"
        path = f"{self._folder}/{self._name}"
        whole = "All of it is" if not self._lost else f"All but the last {self._lost} bytes, which are lost, is"
        column = {"start_column": excerpt.next_column} if excerpt.next_column > 1 else {}
        onward = call("read_file", path=path, start_line=excerpt.next_line, **column)
        return f"[{size}, more than one answer holds. {whole} in {path}. Read on: {onward}]"

    def _pass_on(self, contents: Contents, text: str) -> None:
        text = escaped(text)
        contents.feed(text)
        if self._trouble or not text:
            return
        data = memoryview(text.encode())
        room = FILE_BYTES - self._written
        self._lost += max(0, len(data) - room)
        data = data[: max(0, room)]
        self._written += len(data)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._trouble = f"{error.strerror}; ask the person to make room"

    def _open(self) -> None:
        try:
            self._directory = plain_folder(self._jail.roots[0].descriptor, self._folder)
            temporary = TEMPORARY + secrets.token_hex(8)
            self._file = os.open(temporary, _NEW, 0o644, dir_fd=self._directory)
            self._temporary = temporary
        except ElisError as error:
            self._trouble = error.message
        except OSError as error:
            self._trouble = str(error.strerror)

    def _put_in_place(self) -> None:
        # Not synced: after a loss of power the file may be missing, and read_file says so; nothing waits for the disk.
        try:
            os.rename(self._temporary or "", self._name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
            self._temporary = None
            if self._folder == FOLDER:
                _prune(self._directory, self._name)
        except OSError as error:
            self._trouble = str(error.strerror)

    def _close(self) -> None:
        if self._temporary is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._temporary, dir_fd=self._directory)
            self._temporary = None
        for descriptor in (self._file, self._directory):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._directory = -1


def name_of(turn: str, call_id: str, *, external: bool = False) -> str:
    """Return what the file of a call's long answer is called."""
    return f"{turn}-{call_id}{EXTERNAL if external else ''}.txt"


def _prune(directory: int, newest: str) -> None:
    """Remove the oldest of our files beyond the bounds, and what a crash left; `newest` stays."""
    with os.scandir(directory) as entries:
        listed = [entry.name for entry in entries]
    names = [name for name in listed if name != newest and _OWN.match(name)]
    for name in listed:
        if name.startswith(TEMPORARY) and _age(directory, name, newest) > _LEFT_SECONDS:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
    found = [(os.stat(name, dir_fd=directory, follow_symlinks=False), name) for name in names]
    found.sort(key=lambda each: each[0].st_mtime_ns, reverse=True)
    size = os.stat(newest, dir_fd=directory, follow_symlinks=False).st_size
    for count, (status, name) in enumerate(found, start=2):
        size += status.st_size
        if (count > FILES or size > BYTES) and not stat.S_ISDIR(status.st_mode):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)


def _age(directory: int, name: str, newest: str) -> float:
    """Return by how many seconds a file was last written before `newest`."""
    try:
        written = [os.stat(each, dir_fd=directory, follow_symlinks=False).st_mtime for each in (newest, name)]
    except FileNotFoundError:
        return 0.0
    return written[0] - written[1]
