"""Texts that are too long for one answer, kept whole in files of the workspace (CTX-3).

A text is fed as it comes. While it fits an answer it is held; once it does not, all of it goes to a file, masked on
the way there as it is where it is shown (MASK-1), so that no more than an excerpt stays in memory. The files lie in
`outputs/`, named after their call, and are bounded (`host.tools.output_file`); one holds 256 MiB at most, and what did
not go into it is said.
"""

from typing import Final, Protocol, Self

import msgspec

from host.errors import ElisError
from host.tools.contents import Contents, Excerpt
from host.tools.names import escaped
from host.tools.output_file import FOLDER
from host.tools.text import call, counted

DOWNLOADS: Final = "downloads"  # where bodies from the web are kept; nothing there is ever removed
EXTERNAL: Final = ".external"  # in the name of a file whose words came from outside: read_file wraps them (CTX-6)
FILE_BYTES: Final = 256 << 20
_PIECE: Final = 1 << 14  # characters masked at a time: some milliseconds


class KeptFile(Protocol):
    """A file on its way into the workspace."""

    def write(self, data: bytes) -> None:
        """Add `data`; raise OSError or ElisError."""
        ...

    async def put_in_place(self) -> None:
        """Give the file its name; raise OSError or ElisError."""
        ...

    def close(self) -> None:
        """Release what is open; a file that has no name yet does not stay."""
        ...


class KeepsFiles(Protocol):
    """Where long texts are kept."""

    def output_file(self, folder: str, name: str) -> KeptFile:
        """Begin a file that will be `name` in `folder` of the workspace; raise OSError or ElisError."""
        ...


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
        self,
        files: KeepsFiles,
        *,
        name: str,
        limit_bytes: int,
        stream: TextStream,
        folder: str = FOLDER,
        what: str = "output",
    ) -> None:
        """Hold up to `limit_bytes`; what is more goes to `name` in `folder`."""
        self._files = files
        self._folder = folder
        self._name = name
        self._limit = limit_bytes
        self._stream = stream
        self._what = what
        self._held: list[str] = []
        self._size = 0
        self._contents: Contents | None = None  # there once the text is too long
        self._file: KeptFile | None = None
        self._written = 0
        self._lost = 0  # bytes that are in no file
        self._trouble = ""
        self._over = False

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was not finished."""
        self._close()

    def feed(self, text: str) -> None:
        """Take the next piece; after the end nothing is taken."""
        if self._over:
            return
        if self._contents is None:
            self._held.append(text)
            self._size += len(text.encode(errors="surrogatepass"))
            if self._size <= self._limit:
                return
            text, self._held = "".join(self._held), []
            self._contents = Contents(self._limit // 2)
        for start in range(0, len(text), _PIECE):
            self._pass_on(self._contents, self._stream.feed(text[start : start + _PIECE]))

    async def finish(self) -> Kept | None:
        """Return how the text is told, or None if it was short: then there is no file."""
        if self._contents is None:
            return None
        self._pass_on(self._contents, self._stream.flush())
        excerpt = self._contents.excerpt()
        if not self._trouble:
            await self._put_in_place()
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
        data = text.encode()
        room = max(0, FILE_BYTES - self._written)
        self._lost += max(0, len(data) - room)
        self._written += min(len(data), room)
        try:
            if self._file is None:
                self._file = self._files.output_file(self._folder, self._name)
            self._file.write(data[:room])
        except ElisError as error:
            self._trouble = error.message
        except OSError as error:
            self._trouble = f"{error.strerror}; ask the person to make room"

    async def _put_in_place(self) -> None:
        try:
            if self._file is not None:
                await self._file.put_in_place()
        except ElisError as error:
            self._trouble = error.message
        except OSError as error:
            self._trouble = str(error.strerror)

    def _close(self) -> None:
        self._over = True
        if self._file is not None:
            self._file.close()
            self._file = None


def name_of(turn: str, call_id: str, *, external: bool = False) -> str:
    """Return what the file of a call's long answer is called."""
    return f"{turn}-{call_id}{EXTERNAL if external else ''}.txt"


def kept_from_outside(shown: str) -> bool:
    """Say whether a file, by its path in the workspace, holds words that the host kept from outside (CTX-6)."""
    return shown.startswith(f"{DOWNLOADS}/") or (shown.startswith(f"{FOLDER}/") and EXTERNAL in shown)
