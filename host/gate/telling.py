"""The stage before the last: what the model is told of a result (CTX-3, CTX-6).

What is longer than an answer may be goes whole into a file, and the model gets its table of contents. What came from
outside is wrapped as data with its origin; the host's own words stand beside it. Everything here is masked already.
"""

import asyncio
from typing import Final

from host.gate.stages import Masked, Registered, Told
from host.tools.access import Files
from host.tools.external import wrapped
from host.tools.outputs import Keeping, Kept, Plain, name_of
from host.tools.tool import Receiver, ToolResult

_PIECE: Final = 1 << 16  # characters
_OWN_WORDS_BYTES: Final = 4 << 10  # that a tool with pages adds to them: totals, the call that goes on


async def tell(masked: Masked, jail: Files, receiver: Receiver) -> Told:
    """Return the result in the words that the model gets."""
    ran = masked.ran
    registered = ran.armed.confined.permitted.registered
    origin = _origin(registered, ran.result)
    kept, text = ran.result.kept, masked.text
    parts = (masked.head, text, kept.excerpt if kept else "")
    essence = masked.essence or "\n".join(part for part in parts if part)  # without the name of a file of this call
    limit = receiver.answer_bytes + (_OWN_WORDS_BYTES if registered.passport.pages else 0)
    if kept is None and len(text.encode()) > limit:
        kept, text = await _kept(text, registered, jail, receiver.answer_bytes, external=bool(origin)), ""
    body = "\n\n".join(part for part in (text, kept.excerpt if kept else "") if part)
    if origin and body.strip():
        body = wrapped(body, origin)
    words = "\n".join(part for part in (masked.head, body, kept.where if kept else "") if part)
    return Told(ran=ran, text=words, detail=masked.detail, essence=essence)


def _origin(registered: Registered, result: ToolResult) -> str:
    """Return where from outside the text of a result came; empty for what is the group's own."""
    passport = registered.passport
    if result.origin:
        return result.origin
    if passport.server:
        return f"tool server {passport.server}"
    return f"{passport.external} {registered.target}".rstrip() if passport.external else ""


async def _kept(text: str, registered: Registered, jail: Files, limit_bytes: int, *, external: bool) -> Kept | None:
    requested = registered.requested
    name = name_of(requested.caller.turn, requested.call, external=external)
    with Keeping(jail, name=name, limit_bytes=limit_bytes, stream=Plain(), what="result") as keeping:
        for start in range(0, len(text), _PIECE):
            keeping.feed(text[start : start + _PIECE])
            await asyncio.sleep(0)
        return await keeping.finish()
