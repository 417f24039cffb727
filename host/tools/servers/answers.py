"""What a tool server answered, as a result: its words as text, everything else in files of the workspace.

How much of the text a model is told, and that it is marked as words from outside, is the gate's matter.
"""

import mimetypes
from typing import Final

from host.errors import ToolFailed, Unsupported
from host.stops import Reason
from host.tools.jail import Present
from host.tools.replace import content_hash
from host.tools.servers.link import Blob, Said
from host.tools.servers.words import clean
from host.tools.text import counted
from host.tools.tool import Scope, ToolResult

_FOLDER: Final = "downloads"
_MOST_FILES: Final = 50  # of one answer
_DETAIL_CHARS: Final = 200


async def result_of(said: Said, name: str, scope: Scope) -> ToolResult:
    """Return the result of a call of the tool `name`; `isError` of the server is a failure."""
    texts = [part for part in said.parts if isinstance(part, str)]
    blobs = [part for part in said.parts if isinstance(part, Blob)]
    head = [await _kept(blob, f"{name}-{number}", scope) for number, blob in enumerate(blobs[:_MOST_FILES])]
    if len(blobs) > _MOST_FILES:
        head.append(f"{len(blobs) - _MOST_FILES} more files are left out.")
    text = "\n".join(texts)
    if said.failed:
        detail = clean(text, _DETAIL_CHARS).partition("\n")[0]
        head.insert(0, f"{name} failed.")
        return ToolResult(text=text, head="\n".join(head), ok=False, reason=Reason.TOOL_FAILED, detail=detail)
    if not text.strip() and not head:
        head.append(f"{name} gave nothing back and reported no failure.")
    return ToolResult(text=text, head="\n".join(head))


async def _kept(blob: Blob, name: str, scope: Scope) -> str:
    """Write what is no text into a file that no other call has, and say where it is."""
    suffix = mimetypes.guess_extension(blob.kind)
    kind = blob.kind.lower() if suffix else "data of an unknown kind"  # a name of the table, no words of the server
    size = counted(len(blob.data), "byte")
    path = f"{_FOLDER}/{scope.turn[-6:]}-{scope.call}-{name}{suffix or '.bin'}"
    try:
        written = await scope.jail.write(path, blob.data, key=scope.key, admit=_anything)
    except (ToolFailed, Unsupported) as error:
        return f"It gave {kind}, {size}, which could not be kept: {error.message}"
    scope.seen.saw(scope.turn, written.shown, content_hash(blob.data))
    return f"It gave {kind}, {size}, kept in {written.shown}."


def _anything(_shown: str, _present: Present | None) -> None:
    """Nobody else has a file of this name."""
