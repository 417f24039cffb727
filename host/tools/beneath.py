"""Opening a path beneath a directory descriptor so that what was checked is what is used (PATH-1).

`openat2` with RESOLVE_BENEATH lets the kernel refuse every way out. Where the call is missing, or a filter forbids it,
the path is walked by hand, one component at a time, never following a link that was not read and judged first. The
walk is also what follows absolute links, which the kernel refuses although those made inside the sandbox
(`/workspace/…`) may stay inside. Errors are OSError; `host.tools.jail` translates them.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from typing import Final

_SYS_OPENAT2: Final = 437  # the same number on every architecture: the call is younger than the common table
_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_BENEATH: Final = 0x08
_TRIES: Final = 128  # the kernel answers EAGAIN when a rename raced with a ".." in a link; a flood of them may go on
LINKS: Final = 40  # links followed in one path, as in the kernel
_MISSING: Final = frozenset({errno.ENOSYS, errno.EPERM})  # no such call, or a container's filter forbids it

Elsewhere = Callable[[str], tuple[int, str] | None]
"""Where an absolute link leads: a root's descriptor and the path beneath it, or None for outside."""


class _OpenHow(ctypes.Structure):
    """The kernel's `struct open_how`."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc: Final = ctypes.CDLL(None, use_errno=True)


def outside(_target: str) -> None:
    """Take every absolute link for one that leads out."""


def openat2(root: int, path: str, flags: int, mode: int = 0) -> int:
    """Open `path` beneath the descriptor `root` by the system call of this name; raise OSError as the kernel says."""
    how = _OpenHow(flags | os.O_CLOEXEC, mode, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    for _ in range(_TRIES):
        descriptor = _libc.syscall(
            ctypes.c_long(_SYS_OPENAT2),
            ctypes.c_int(root),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return int(descriptor)
        if ctypes.get_errno() not in {errno.EAGAIN, errno.EINTR}:
            break
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number), path)


def works() -> bool:
    """Say whether the kernel has `openat2` and lets this process call it."""
    try:
        root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        os.close(openat2(root, ".", os.O_PATH))
    except OSError as error:
        return error.errno not in _MISSING
    finally:
        os.close(root)
    return True


def open_beneath(root: int, path: str, flags: int, *, elsewhere: Elsewhere = outside, kernel: bool = True) -> int:
    """Open the existing `path` beneath `root`; with `kernel` false only by the walk. Raise OSError (EXDEV: outside)."""
    if kernel:
        try:
            return openat2(root, path, flags)
        except OSError as error:
            if error.errno not in {*_MISSING, errno.EXDEV}:
                raise
    return walk_beneath(root, path, flags, elsewhere=elsewhere)


def walk_beneath(root: int, path: str, flags: int, *, elsewhere: Elsewhere = outside) -> int:
    """Do as `open_beneath` without `openat2`: every component is opened with O_NOFOLLOW, links are resolved by hand."""
    for _ in range(_TRIES):
        try:
            return _Walk(root, elsewhere).open(path, flags)
        except _Swapped:
            continue
    raise OSError(errno.EAGAIN, "the path changes faster than it can be followed", path)


class _Swapped(Exception):
    """A component became something else between two looks at it."""


class _Walk:
    """One pass over a path; owns the descriptors from the root down to where it stands."""

    def __init__(self, root: int, elsewhere: Elsewhere) -> None:
        self._elsewhere = elsewhere
        self._stack = [os.dup(root)]
        self._links = 0

    def open(self, path: str, flags: int) -> int:
        """Walk to the end of `path` and open that with `flags`."""
        todo = _reversed_parts(path)
        if path.endswith(("/", "/.")):  # such a path means a folder, whatever it ends on
            flags |= os.O_DIRECTORY
        try:
            while todo:
                part = todo.pop()
                if part == "..":
                    self._up(path)
                    continue
                target = self._link(part) if todo or not flags & os.O_NOFOLLOW else None
                if target is not None:
                    todo += self._follow(path, target)
                elif todo:
                    self._stack.append(self._step(part, os.O_PATH | os.O_DIRECTORY))
                else:
                    return self._step(part, flags)
            return os.open(".", flags, dir_fd=self._stack[-1])
        finally:
            for descriptor in self._stack:
                os.close(descriptor)

    def _up(self, path: str) -> None:
        if len(self._stack) == 1:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
        os.close(self._stack.pop())

    def _link(self, part: str) -> str | None:
        """Return where the link `part` points, or None when it is no link (or nothing: opening will tell)."""
        try:
            return os.readlink(part, dir_fd=self._stack[-1])
        except OSError as error:
            if error.errno in {errno.EINVAL, errno.ENOENT}:
                return None
            raise

    def _follow(self, path: str, target: str) -> list[str]:
        self._links += 1
        if self._links > LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if not target.startswith("/"):
            return _reversed_parts(target)
        found = self._elsewhere(target)
        if found is None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
        root, inner = found
        start = os.dup(root)
        for descriptor in self._stack:
            os.close(descriptor)
        self._stack = [start]
        return _reversed_parts(inner)

    def _step(self, part: str, flags: int) -> int:
        try:
            descriptor = os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._stack[-1])
        except OSError as error:
            if not flags & os.O_NOFOLLOW and self._is_link(part):
                raise _Swapped from error
            raise
        # O_PATH with O_NOFOLLOW opens a link itself, without an error.
        if flags & os.O_PATH and not flags & os.O_NOFOLLOW and stat.S_ISLNK(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _Swapped
        return descriptor

    def _is_link(self, part: str) -> bool:
        try:
            return stat.S_ISLNK(os.stat(part, dir_fd=self._stack[-1], follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return False


def _reversed_parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in {"", "."}]
