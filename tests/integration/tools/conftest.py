"""A workspace on the disk, what tools may use of it, and back ends with small limits."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from host.config.settings import FolderSettings
from host.tools.bwrap import BwrapSandbox
from host.tools.jail import Jail
from host.tools.limits import Limits
from host.tools.local_files import LocalFiles
from host.tools.seen import SeenFiles
from host.tools.tool import Scope

SMALL: Final = Limits(memory_bytes=256 << 20, processes=60, file_bytes=8 << 20, temporary_bytes=16 << 20)


class Place(msgspec.Struct, frozen=True):
    """One group's files, with neighbours that it must not reach."""

    top: Path
    workspace: Path
    read: Path  # the folder `docs`, read only
    write: Path  # the folder `out`, writable

    def folders(self) -> dict[str, FolderSettings]:
        """Return the folders as elis.toml would have them."""
        return {
            "docs": FolderSettings(path=str(self.read), mode="read"),
            "out": FolderSettings(path=str(self.write), mode="write"),
        }


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a workspace beside another group's, and two folders elsewhere."""
    place = Place(tmp_path, tmp_path / "ws", tmp_path / "srv" / "docs", tmp_path / "srv" / "out")
    for folder in (place.workspace, place.read, place.write, tmp_path / "ws-old"):
        folder.mkdir(parents=True)
    (tmp_path / "ws-old" / "secret").write_text("neighbour")
    (tmp_path / "outside").write_text("outside")
    (place.read / "guide").write_text("guide")
    return place


@pytest.fixture
def workspace(place: Place) -> Path:
    """Return the workspace of the sandbox."""
    return place.workspace


@pytest.fixture(params=["openat2", "walk"])
def jail(request: pytest.FixtureRequest, place: Place) -> Iterator[Jail]:
    """Open the jail, once by the system call and once without it."""
    jail = Jail.open(place.workspace, place.folders(), kernel=request.param == "openat2")
    yield jail
    jail.close()


def names(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(found.name for found in folder.iterdir())


async def _nobody(question: str) -> str:
    pytest.fail(f"nobody should be asked {question!r}")


@pytest.fixture
def open_jail(place: Place) -> Iterator[Jail]:
    """Open the jail as the host does."""
    jail = Jail.open(place.workspace, place.folders())
    yield jail
    jail.close()


@pytest.fixture
def sandbox(open_jail: Jail) -> BwrapSandbox:
    """Return a sandbox with limits small enough to run into."""
    return BwrapSandbox(open_jail.roots, limits=SMALL)


@pytest.fixture
def scope_of(open_jail: Jail, sandbox: BwrapSandbox) -> Callable[[str, str], Scope]:
    """Return what makes the scope of a call of a turn; all turns share the group's memory of files."""
    seen = SeenFiles()

    def scope(turn: str = "t1", call: str = "1.0") -> Scope:
        key = f"{turn}:{call}"
        return Scope(turn=turn, call=call, key=key, jail=LocalFiles(open_jail), sandbox=sandbox, seen=seen, ask=_nobody)

    return scope


@pytest.fixture
def scope(scope_of: Callable[[str, str], Scope]) -> Scope:
    """Return the scope of one call."""
    return scope_of("t1", "1.0")


@pytest.fixture
def open_descriptors() -> Iterator[None]:
    """Fail a test that leaves descriptors open."""
    before = len(names(Path("/proc/self/fd")))
    yield
    assert len(names(Path("/proc/self/fd"))) <= before
