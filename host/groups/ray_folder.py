"""Ray's session folder of one host, and the processes that belong to it: found by exact signs, ended, swept.

`host.groups.actor` starts Ray in it. It knows how Ray's processes look from outside and refuses to know its calls. A
process that only names the folder, such as `tail -f` on a log in it, is somebody's own and is left alone.
"""

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from host.errors import ResourceBusy

KILL_SECONDS: Final = 5.0  # how long killed processes may take to go
_SERVERS: Final = frozenset({"raylet", "gcs_server"})
_MODULE: Final = re.compile(r"/ray/(_private|autoscaler|dashboard|core)/.+\.py\Z")  # what Ray runs with a Python
_OPTION: Final = re.compile(r"--?[a-z][a-z_-]*=(?P<value>.+)", re.DOTALL)
_TITLE: Final = "ray::"  # workers and agents write this over their own arguments


class RayFolder:
    """The folder, short and under /tmp because socket paths end at 107 bytes."""

    def __init__(self, home: Path) -> None:
        digest = hashlib.blake2b(str(home).encode(), digest_size=4).hexdigest()
        self.path: Final = Path("/tmp") / f"elis-{os.getuid()}-{digest}"  # noqa: S108 - made 0700 and checked below

    def processes(self) -> list[psutil.Process]:
        """Return the processes of this user that Ray runs in this folder, whoever started them."""
        return [process for process in psutil.process_iter() if self._runs(process)]

    def sweep(self) -> None:
        """End what an earlier host left in the folder and make it anew; raise ResourceBusy for somebody else's."""
        self.remove()
        with contextlib.suppress(FileExistsError):
            self.path.mkdir(mode=0o700)
        facts = self.path.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
            raise ResourceBusy(f"{self.path} belongs to somebody else; remove it and start again")

    def remove(self) -> None:
        """End what runs in the folder, and remove it."""
        left = self.processes()
        kill(left)
        psutil.wait_procs(left, timeout=KILL_SECONDS)
        shutil.rmtree(self.path, ignore_errors=True)

    def _runs(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error, OSError):  # gone meanwhile, or not ours to look at
            if process.pid == os.getpid() or process.uids().real != os.getuid():
                return False
            command = process.cmdline()
            if not command:
                return False  # a zombie
            if command[0].startswith(_TITLE):
                return any(self._holds(place) for place in _outputs(process.pid))
            program = Path(f"/proc/{process.pid}/exe").readlink().name.removesuffix(" (deleted)")
            is_rays = program in _SERVERS or (
                program.startswith("python") and any(_MODULE.search(word) for word in command[1:4])
            )
            return is_rays and any(self._holds(value) for value in _values(command))
        return False

    def _holds(self, place: str) -> bool:
        return place == str(self.path) or place.startswith(f"{self.path}/")


def kill(processes: list[psutil.Process]) -> None:
    """Kill processes; those that are gone or not ours are passed over."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _outputs(pid: int) -> Iterator[str]:
    """Yield where standard output and error go: the raylet points those of its workers into the folder."""
    for number in (1, 2):
        yield str(Path(f"/proc/{pid}/fd/{number}").readlink())


def _values(command: list[str]) -> Iterator[str]:
    for word in command:
        if option := _OPTION.fullmatch(word):
            yield option["value"]
