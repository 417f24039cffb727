"""What `read_file` makes of an image: shown to a model that sees, read by OCR for another, or refused (TURN-7).

The event of the call says which of them happened. The decoding is done in `host.tools.images`.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from host.errors import Unsupported
from host.stops import Reason
from host.tools.images import Report, Seen, fitted, read
from host.tools.text import counted
from host.tools.tool import Scope, ToolResult

VISION: Final = "vision"
_WAYS_OUT: Final = (
    'Two ways out, both the operator\'s: a model with image input (capabilities = ["tools", "vision"] in its [models] '
    "entry), or the local OCR (sh deploy/ocr)."
)


async def look_at(
    shown: str,
    kind: str,
    data: bytes,
    scope: Scope,
    *,
    reading: Callable[[bytes], Awaitable[Report]] = read,
) -> ToolResult:
    """Return what the model gets of an image file; raise ToolFailed for one that cannot be decoded.

    `reading` is the OCR.
    """
    if VISION in scope.receiver.capabilities:
        report, picture = await fitted(data)
        seen = Seen(
            how="shown",
            media_type=report.media_type,
            data=picture,
            width=report.shown_width,
            height=report.shown_height,
            name=shown,
        )
        smaller = (report.shown_width, report.shown_height) != (report.width, report.height)
        scaled = f", scaled to {report.shown_width} x {report.shown_height}" if smaller else ""
        return ToolResult(text=f"{_what(shown, kind, data, report)}. It is shown to you{scaled}.", image=seen)
    try:
        report = await reading(data)
    except Unsupported as error:
        return _refused(shown, f"{shown} is an image ({kind}). {error.message}")
    if report.absent:
        return _refused(
            shown, f"{shown} is an image ({kind}). This model has no image input, and there is no OCR here."
        )
    what = _what(shown, kind, data, report)
    if not report.text.strip():
        return _refused(shown, f"{what}. This model has no image input, and OCR found no text in it.")
    told = f"{what}. This model has no image input; OCR read this in it, which may hold mistakes:\n{report.text}"
    return ToolResult(text=told, image=Seen(how="read", width=report.width, height=report.height, name=shown))


def _what(shown: str, kind: str, data: bytes, report: Report) -> str:
    frames = f", the first of {report.frames} frames" if report.frames > 1 else ""
    return f"{shown} is an image ({kind}, {report.width} x {report.height}, {counted(len(data), 'byte')}{frames})"


def _refused(shown: str, why: str) -> ToolResult:
    return ToolResult(
        text=f"{why} {_WAYS_OUT}",
        ok=False,
        reason=Reason.UNSUPPORTED,
        detail="an image that can neither be shown nor read",
        image=Seen(how="refused", name=shown),
    )
