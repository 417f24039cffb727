"""Images in files: told by their content, made fit for a model that sees, read by OCR for one that does not (TURN-7).

All that decodes an image runs in a child process with bounds (`host.tools.image_child`): foreign data goes through C
code there, which may hold the interpreter, fail, or use all it can get. What a model is shown is always encoded anew:
bounded, valid, and without what cameras write into their files.
"""

import json
import os
import sys
import sysconfig
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import msgspec

from host.errors import ToolFailed, Unsupported
from host.excerpts import ending
from host.tools.child import Child
from host.tools.output import Output
from host.tools.replace import read_all

LONGEST_SIDE: Final = 1568  # pixels of what is shown: more is scaled down by the providers themselves
MOST_BYTES: Final = 1 << 20  # of what is shown; providers refuse 5 MB and more
_OCR_SIDE: Final = 2400  # pixels: what small print needs, within the child's memory
_SECONDS: Final = {"show": 20.0, "read": 60.0}
_PACKAGES: Final = Path(__file__).parents[2]  # where `host` is imported from
_BEGINNINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF87a", "GIF"), (b"GIF89a", "GIF"),
    (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"),
)  # fmt: skip
_BMP_HEADERS: Final = frozenset({12, 40, 52, 56, 64, 108, 124})  # bytes of the second header, by its version


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """An image that a tool met, and what became of it."""

    how: str  # shown | read (by OCR) | refused
    media_type: str = ""  # of `data`
    data: bytes = b""  # what the model is shown
    width: int = 0  # pixels of what is shown
    height: int = 0
    name: str = ""  # of the file


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What the child told of an image."""

    width: int = 0  # pixels of the image itself
    height: int = 0
    frames: int = 1
    media_type: str = ""
    shown_width: int = 0
    shown_height: int = 0
    text: str = ""  # that OCR found
    absent: bool = False  # there is no OCR here
    bad: str = ""  # why it could not be decoded


def kind_of(data: bytes) -> str | None:
    """Return which of the known kinds of images this is, None for none; the file's name says nothing."""
    for beginning, kind in _BEGINNINGS:
        if data.startswith(beginning):
            return kind
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WebP"
    if data.startswith(b"BM") and int.from_bytes(data[14:18], "little") in _BMP_HEADERS:
        return "BMP"
    return None


async def fitted(data: bytes) -> tuple[Report, bytes]:
    """Return the image as a model can be shown it; raise ToolFailed for one that cannot be decoded."""
    return await _child("show", data, LONGEST_SIDE)


async def read(data: bytes) -> Report:
    """Return the text in an image; `absent` where there is no OCR; raise ToolFailed."""
    return (await _child("read", data, _OCR_SIDE))[0]


async def _child(mode: str, data: bytes, side: int) -> tuple[Report, bytes]:
    output = Output()
    with ExitStack() as closing_:
        given, made = (_memory(closing_, name) for name in ("elis-image", "elis-image-made"))
        with os.fdopen(os.dup(given), "wb") as file:
            file.write(data)
        os.lseek(given, 0, os.SEEK_SET)
        numbers = [str(number) for number in (given, made, side, MOST_BYTES, int(_SECONDS[mode]))]
        argv = [sys.executable, "-P", "-s", "-S", "-B", "-m", "host.tools.image_child", mode, *numbers]
        try:
            child = Child(argv, environment=_environment(), descriptors=[given, made])
        except OSError as error:
            message = f"images cannot be looked at ({error}); ask the operator to run elis doctor"
            raise Unsupported(message) from error
        with closing(child):
            timed_out = await child.attend(output, _SECONDS[mode], child.kill_group)
        report = _report(output.text(), timed_out=timed_out, exit_code=child.exit_code)
        return report, read_all(made, 4 * MOST_BYTES)


def _report(told: str, *, timed_out: bool, exit_code: int) -> Report:
    for line in reversed(told.splitlines()):
        if line.startswith('{"'):
            try:
                found: Any = json.loads(line)
                report = msgspec.convert(found, Report)
            except (json.JSONDecodeError, msgspec.ValidationError):
                continue
            if report.bad:
                message = f"the image cannot be decoded ({report.bad})"
                raise ToolFailed(message)
            return report
    why = "it takes too long" if timed_out else f"its decoder ended with code {exit_code}"
    message = f"the image cannot be decoded ({why}: {ending(told.strip(), 200)})"
    raise ToolFailed(message)


def _memory(closing_: ExitStack, name: str) -> int:
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    closing_.callback(os.close, descriptor)
    return descriptor


def _environment() -> dict[str, str]:
    """Return what the child needs to find its packages; it starts without site's additions."""
    folders = [str(_PACKAGES), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(folders)),
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "OMP_NUM_THREADS": "2",
    }
