"""Where on the machine the settings point, and whether a group could make them point elsewhere (PATH-4).

Commands and tools of a group may put a link in the place of anything in its writable folders and its workspace. What
the host finds by a path that leads through one of those would be what the group chose, when it is looked for again: a
folder of another group, a file with a secret, the home itself. So such paths are refused before anything is opened.
Links of the operator's own are followed, for nobody else makes them. The disk is looked at, nothing is read.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from host.config import references
from host.config.problems import Problems, join
from host.config.settings import Settings

SHOWN: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders of the system that every sandbox sees, and so commands of every group."""

_LINKS: Final = 40  # followed in one path, as in the kernel


class _Open(msgspec.Struct, frozen=True, kw_only=True):
    """A folder in which a group may write."""

    key: str
    group: str
    real: Path
    identity: tuple[int, int] | None  # device and inode; None where it is not there


def check(settings: Settings, home: Path, problems: Problems) -> None:
    """Note each path of the settings that leads through a folder in which a group may write."""
    writable = [
        _Open(key=key, group=group, real=real, identity=_identity(real))
        for group, key, path, mode in _folders(settings)
        if mode == "write"
        for real, _ in (way(path),)
    ]
    own = Path(os.path.realpath(home))
    if shown := _shown(own):
        problems.add("", f"the home lies in {shown}, which commands of every group see", "give --home another folder")
    for group, key, path, mode in _folders(settings):
        real, passed = way(path)
        if mode == "write" and (shown := _shown(real)):
            problems.add(
                f"{key}.path", f"lies in {shown}, which commands of every group see", "name a folder elsewhere"
            )
        found = _through(passed, writable)
        if found is not None:
            seen = "it is seen there already" if found.group == group else "that group sees it already"
            remedy = f'take it out ({seen}), name a folder elsewhere, or write `mode = "read"` for the other'
            problems.add(f"{key}.path", _moved(found), remedy)
        elif any(folder.is_relative_to(own) for folder in passed) and not real.is_relative_to(own):
            problems.add(f"{key}.path", "leads through the host's own folder", "write the path that it leads to")
    for key, file in _files(settings, home):
        real, passed = way(str(file))
        found = _through(passed, writable)
        if key and (shown := _shown(real)):
            problems.add(key, f"lies in {shown}, which commands of every group see", "keep it elsewhere")
        if found is not None:
            wrong = _moved(found) if key else f"this file {_moved(found)}"
            problems.add(key, wrong, 'keep it elsewhere, or write `mode = "read"` for that folder')
        elif any(folder.is_relative_to(own / "groups") for folder in passed):
            problems.add(key, "leads through a folder that belongs to a group", "keep it elsewhere")


def way(path: str) -> tuple[Path, tuple[Path, ...]]:
    """Return where a full path leads with all links followed, and the real folders in which its parts are looked up."""
    todo = _reversed_parts(path)
    here = Path("/")
    passed: dict[Path, None] = {}
    links = 0
    while todo:
        part = todo.pop()
        if part == "..":
            here = here.parent
            continue
        passed[here] = None
        target = _link(here / part) if links < _LINKS else None
        if target is None:
            here /= part
            continue
        links += 1
        here = Path("/") if target.startswith("/") else here
        todo += _reversed_parts(target)
    return here, tuple(passed)


def _folders(settings: Settings) -> Iterator[tuple[str, str, str, str]]:
    """Yield group, key, path and mode of every folder that can be a folder at all."""
    for group, entry in settings.groups.items():
        for name, folder in entry.folders.items():
            if folder.path.startswith("/") and "\0" not in folder.path:
                yield group, f"groups.{group}.folders.{name}", folder.path, folder.mode


def _files(settings: Settings, home: Path) -> Iterator[tuple[str, Path]]:
    """Yield what else is found by a path, with its key: the settings themselves by none."""
    yield "", home.absolute() / "elis.toml"
    for name in ("tls_certificate", "tls_key"):
        path: str = getattr(settings.host, name)
        if path and "\0" not in path:
            yield f"host.{name}", home / Path(path).expanduser()
    keys = {f"models.{name}": ("api_key", model.api_key) for name, model in settings.models.items()}
    keys |= {f"secrets.{name}": ("ref", secret.ref) for name, secret in settings.secrets.items()}
    for entry, (key, text) in keys.items():
        found = references.read(text or "")
        if not isinstance(found, references.Wrong) and found.kind == "file" and "\0" not in found.name:
            yield join(entry, key), references.path_of(found, home)


def _through(passed: tuple[Path, ...], writable: list[_Open]) -> _Open | None:
    """Return the first writable folder in which a part of a path is looked up."""
    for folder in passed:
        identity = _identity(folder)
        for found in writable:
            if found.real == folder or (identity is not None and identity == found.identity):
                return found
    return None


def _shown(real: Path) -> str:
    return next((top for top in SHOWN if real.is_relative_to(os.path.realpath(top))), "")


def _moved(found: _Open) -> str:
    return f"leads through {found.key}, where the group {found.group} may put a link to anything in its place"


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _link(path: Path) -> str | None:
    try:
        return str(path.readlink())
    except OSError:
        return None


def _reversed_parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in {"", "."}]
