"""The file in which a long text is kept, put in place when it is complete (CTX-3).

It goes to a temporary file of its folder and gets its name at the end. The folder of kept outputs is bounded: the
newest 200 and 512 MiB stay; only files that are named as kept outputs are ever removed, never what else lies there.
Imports nothing but the standard library and neighbours that do the same: see `host.tools.beside`.
"""

import os
import re
import secrets
import stat
from contextlib import suppress
from typing import Final

from host.tools.roots import plain_folder
from host.tools.walk import TEMPORARY

FOLDER: Final = "outputs"
FILES: Final = 200  # a long turn has some dozens of long answers; this spans several
BYTES: Final = 512 << 20
_OWN: Final = re.compile(r"t[0-9a-z]*-\d+\.\d+(\.external)?\.txt\Z")
_LEFT_SECONDS: Final = 3600.0  # a file that nobody has written to for so long is nobody's: commands end before
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class OutputFile:
    """One file on its way. `close` it in any case: what was not put in place does not stay."""

    def __init__(self, workspace: int, folder: str, name: str) -> None:
        """Begin beneath the open `workspace`; raise OSError, or PathViolation where the folder is none."""
        self._folder = folder
        self._name = name
        self._temporary: str | None = None
        self._file = -1
        self._directory = plain_folder(workspace, folder)
        temporary = TEMPORARY + secrets.token_hex(8)
        try:
            self._file = os.open(temporary, _NEW, 0o644, dir_fd=self._directory)
        except OSError:
            self.close()
            raise
        self._temporary = temporary

    def write(self, data: bytes) -> None:
        """Add `data`; raise OSError."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]

    def put_in_place(self) -> None:
        """Give the file its name; raise OSError."""
        # Not synced: after a loss of power the file may be missing, and read_file says so; nothing waits for the disk.
        os.rename(self._temporary or "", self._name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self._temporary = None
        if self._folder == FOLDER:
            _prune(self._directory, self._name)

    def close(self) -> None:
        """Release what is open, and remove a file that has no name yet."""
        if self._temporary is not None:
            with suppress(FileNotFoundError):
                os.unlink(self._temporary, dir_fd=self._directory)
            self._temporary = None
        for descriptor in (self._file, self._directory):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._directory = -1


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
