"""What the text of a path means, before any file is touched.

Tools name files as people see them from inside the sandbox: relative to `/workspace`, or absolute beneath it. This
module reads such a text into a root and a path beneath it. It knows no descriptors; whether the file really lies
there is for `host.tools.beneath` to find out (PATH-1, PATH-4).
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from host.errors import PathViolation
from host.tools import names

WORKSPACE: Final = "/workspace"
PRIVATE: Final = ".elis"  # the host's own folder in a workspace: readable, never written by tools
HOME: Final = "/tmp/home"  # noqa: S108 - of a command in a box of its own: empty each time
BARE_HOME: Final = f"{PRIVATE}/home"  # of commands that have no box; nothing writes there but they themselves
PACKAGES: Final = f"{PRIVATE}/packages"  # what install_package installed; there, so that no tool can add to it


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A root and a normalised path beneath it."""

    root: str  # "" is the workspace, else the name of a folder
    inner: str  # no "..", no leading slash; "." is the root itself

    @property
    def path(self) -> str:
        """The path relative to `/workspace` as the disk has it; "." is the workspace itself."""
        if not self.root:
            return self.inner or "."
        return self.root if self.inner in {"", "."} else f"{self.root}/{self.inner}"

    @property
    def shown(self) -> str:
        """The path as the model and people see it: on one line, what cannot be seen in a name is escaped."""
        return names.shown(self.path)


def place_of(path: str, folders: Collection[str]) -> Place:
    """Read `path`; raise PathViolation where it cannot lie in the workspace, whatever is on the disk.

    `..` is undone in the text itself, as most editors do, so that a name means the same file in every tool. `folders`
    are the names of the further roots.
    """
    parts: list[str] = []
    for part in _beneath_workspace(path).split("/"):
        match part:
            case "" | ".":
                continue
            case ".." if parts:
                parts.pop()
            case "..":
                message = f"{path!r} leads out of the workspace by '..'; name a path beneath {WORKSPACE}"
                raise PathViolation(message)
            case _:
                parts.append(part)
    if parts and parts[0] in folders:
        return Place(root=parts[0], inner="/".join(parts[1:]) or ".")
    return Place(root="", inner="/".join(parts) or ".")


def _beneath_workspace(path: str) -> str:
    if not path.strip():
        message = f"the path is empty; name a file beneath {WORKSPACE}, or '.' for {WORKSPACE} itself"
        raise PathViolation(message)
    if "\0" in path:
        message = "the path holds a NUL character; leave it out"
        raise PathViolation(message)
    try:
        path.encode(errors="surrogateescape")  # a byte of a name that is no UTF-8 may well come from the disk
    except UnicodeEncodeError:
        message = "the path holds characters that are no Unicode text; name the file by valid characters"
        raise PathViolation(message) from None
    if not path.startswith("/"):
        return path
    if path == WORKSPACE or path.startswith(WORKSPACE + "/"):
        return path[len(WORKSPACE) :]
    message = f"{path!r} lies outside the workspace; use a path relative to {WORKSPACE}, such as 'notes/plan.md'"
    raise PathViolation(message)
