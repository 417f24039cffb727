"""What the back ends of the sandbox say and refuse alike."""

from collections.abc import Mapping, Sequence

from host.errors import ToolFailed, Unsupported
from host.tools.paths import WORKSPACE, place_of
from host.tools.roots import Root


def refuse_unfit(command: str, environment: Mapping[str, str]) -> None:
    """Raise ToolFailed for a command or a variable that no shell can take."""
    if "\0" in command:
        message = "the command holds a NUL character; leave it out"
        raise ToolFailed(message)
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name + value:
            message = f"the variable {name!r} cannot be passed to a command; choose a plain name and value"
            raise ToolFailed(message)


def refuse_reading(*, reading: bool) -> None:
    """Raise Unsupported for a command that must not write, where nothing can keep it from that."""
    if reading:
        message = "this command was let through because it only reads, and nothing bounds commands here; ask a person"
        raise Unsupported(message)


def inside(cwd: str, roots: Sequence[Root]) -> str:
    """Return the full path under which a command sees the folder `cwd`."""
    path = place_of(cwd, [root.name for root in roots if root.name]).path
    return WORKSPACE if path == "." else f"{WORKSPACE}/{path}"


def folders_seen(roots: Sequence[Root]) -> str:
    """Name what commands see beside the workspace, as the continuation of a sentence."""
    return "".join(
        f", {root.inside} ({'read and write' if root.writable else 'read only'})" for root in roots if root.name
    )
