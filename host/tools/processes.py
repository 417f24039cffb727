"""The processes that descend from one: which they are, and what memory they hold.

Memory is what each has for itself, and once what several may share: mapped memory that belongs to no file goes by its
length, for pages of it stay when nobody looks at them. Pages of files are left out, for the kernel takes them back.
Read from /proc; imports nothing but the standard library, because the far end of a connection uses it too.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_PARENT_FIELD: Final = 1  # of /proc/PID/stat, counted after the name in brackets
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")

Stretch = tuple[str, str, int]
"""A part of shared memory as one process maps it: inode, offset, bytes."""


def usage(pid: int) -> tuple[int, int]:
    """Return the bytes of memory and the number of the processes descended from `pid`, itself included."""
    family = _family(pid)
    device = _memory_device()
    shared: set[Stretch] = set()
    own = 0
    for process in family:
        with suppress(OSError, ValueError):  # it ended meanwhile
            resident, of_files = Path(f"/proc/{process}/statm").read_text().split()[1:3]
            own += (int(resident) - int(of_files)) * _PAGE_BYTES
            shared.update(_shared(process, device))
    return own + sum(size for _, _, size in shared), len(family)


def below(pid: int) -> set[int]:
    """Return the processes descended from `pid`, without itself; those that ended and were not waited for too."""
    return _family(pid) - {pid}


def _memory_device() -> str:
    """Return the device, as maps name it, of memory that belongs to no file: shared anonymous, memfd, System V."""
    descriptor = os.memfd_create("elis-device", os.MFD_CLOEXEC)
    try:
        device = os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)
    return f"{os.major(device):02x}:{os.minor(device):02x}"


def _shared(process: int, device: str) -> Iterator[Stretch]:
    for line in Path(f"/proc/{process}/maps").read_text(errors="replace").splitlines():
        place, rights, offset, of, inode = line.split(maxsplit=5)[:5]
        if of == device and rights.endswith("s"):
            begin, _, end = place.partition("-")
            yield inode, offset, int(end, 16) - int(begin, 16)


def _family(pid: int) -> set[int]:
    """Return `pid`, if it is there, and all that descend from it."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):  # it ended meanwhile
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[_PARENT_FIELD])
    family = {pid}
    for process in parents:
        chain = [process]
        while chain[-1] not in family and chain[-1] in parents and len(chain) <= len(parents):
            chain.append(parents[chain[-1]])
        if chain[-1] in family:
            family.update(chain)
    return family & parents.keys()
