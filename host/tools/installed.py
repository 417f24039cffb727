"""The packages installed in a workspace: one whole set at a time, put in place in one step (PATH-3).

`.elis/packages` is a link to the set in force, `.elis/package-sets/NAME`; commands see both read-only. A new set is
made in a stage beside them and takes the place of the old one by renaming the link: who is interrupted leaves the old
set. The set before stays, for commands that still run with it. How a set is made is `install_package`'s matter.
"""

import os
import secrets
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from host.errors import ToolFailed
from host.tools.paths import PACKAGES, PRIVATE
from host.tools.replace import read_all, sync
from host.tools.roots import Root, plain_folder

_SETS: Final = "package-sets"
_LINK: Final = PACKAGES.removeprefix(f"{PRIVATE}/")
_RECORD: Final = ".elis-set.json"
_STAGE: Final = "stage-"
_RECORD_BYTES: Final = 4 << 20  # some 20,000 packages
MADE: Final = "made"
"""The folder of a stage in which the new set is made."""


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """An installed package."""

    name: str  # in its one spelling
    version: str
    sha256: str  # of the file that was installed


class Set(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed."""

    asked: dict[str, str] = {}  # requirement as it was asked for, by name; the rest is what these need
    packages: tuple[Package, ...] = ()

    def named(self, name: str) -> Package | None:
        """Return a package of the set."""
        return next((package for package in self.packages if package.name == name), None)


class Installed:
    """The installed sets of one workspace. One writer at a time is the caller's matter."""

    def __init__(self, workspace: Root) -> None:
        self._workspace = workspace

    def current(self) -> Set:
        """Return the set in force, an empty one where there is none."""
        with self._private() as private, self._sets(private) as sets:
            name = _target(private)
            if not name:
                return Set()
            with _opened(sets, name) as folder:
                return _read(folder) or Set()

    @contextmanager
    def stage(self) -> Generator[int]:
        """Yield the descriptor of an empty folder for a new set; it is gone afterwards, as is what others left."""
        with self._private() as private, self._sets(private) as sets:
            _sweep(sets, lambda entry: not entry.startswith(_STAGE))
            name = _STAGE + secrets.token_hex(8)
            os.mkdir(name, 0o700, dir_fd=sets)
            try:
                with _opened(sets, name) as folder:
                    yield folder
            finally:
                shutil.rmtree(name, dir_fd=sets, ignore_errors=True)

    def put_in_force(self, stage: int, made: Set) -> None:
        """Take over what stands in MADE of the stage as the set in force."""
        with self._private() as private, self._sets(private) as sets:
            before, name = _target(private), secrets.token_hex(8)
            with _opened(stage, MADE) as folder:
                _write(folder, made)
            os.rename(MADE, name, src_dir_fd=stage, dst_dir_fd=sets)
            sync(sets)
            beside = f"{_LINK}.{name}"
            os.symlink(f"{_SETS}/{name}", beside, dir_fd=private)
            try:
                os.rename(beside, _LINK, src_dir_fd=private, dst_dir_fd=private)
            except OSError as error:
                os.unlink(beside, dir_fd=private)
                message = f"{PACKAGES} in the workspace cannot be replaced ({error.strerror}); move it away"
                raise ToolFailed(message) from error
            sync(private)
            _sweep(sets, lambda entry: entry in {name, before} or entry.startswith(_STAGE))

    @contextmanager
    def _private(self) -> Generator[int]:
        private = plain_folder(self._workspace.descriptor, PRIVATE)
        try:
            yield private
        finally:
            os.close(private)

    @contextmanager
    def _sets(self, private: int) -> Generator[int]:
        sets = plain_folder(private, _SETS)
        try:
            yield sets
        finally:
            os.close(sets)


@contextmanager
def _opened(parent: int, name: str) -> Generator[int]:
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield folder
    finally:
        os.close(folder)


def _target(private: int) -> str:
    """Return the name of the set in force, empty where there is none."""
    try:
        above, _, name = os.readlink(_LINK, dir_fd=private).rpartition("/")
    except OSError:
        return ""
    there = above == _SETS and name not in {"", ".", ".."}
    return name if there and os.access(f"{_SETS}/{name}", os.F_OK, dir_fd=private) else ""


def read_file(folder: int, name: str, limit_bytes: int) -> bytes | None:
    """Return a plain file that a program left in `folder`, None where there is none, or one beyond the limit."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        data = read_all(descriptor, limit_bytes)
    except OSError:
        return None  # a folder, a pipe
    finally:
        os.close(descriptor)
    return data if len(data) <= limit_bytes else None


def _read(folder: int) -> Set | None:
    data = read_file(folder, _RECORD, _RECORD_BYTES)
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(data or b"", type=Set)
    return None


def _write(folder: int, made: Set) -> None:
    try:  # a package may hold a file of this name, or a folder
        os.unlink(_RECORD, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:
        shutil.rmtree(_RECORD, dir_fd=folder)
    descriptor = os.open(_RECORD, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(made))
        file.flush()
        os.fsync(file.fileno())


def _sweep(sets: int, stays: Callable[[str], bool]) -> None:
    with os.scandir(sets) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        if not stays(name):
            shutil.rmtree(name, dir_fd=sets, ignore_errors=True)
