"""The child process in which images are decoded: scaled for a model that sees, or read by OCR.

It gets the image and a place for the result as descriptors and prints one JSON object. Hostile data can hold or end
this process only, which has limits of its own. OCR is an extra (`deploy/ocr` installs it); its models lie in its wheel,
so that nothing is downloaded.
"""

import importlib
import importlib.util
import io
import json
import os
import resource
import sys
import warnings
from typing import Any, Final

from PIL import Image, ImageOps

from host.excerpts import beginning

_FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
_MOST_PIXELS: Final = 100_000_000  # of a decoded image: 400 MB
_MEMORY_BYTES: Final = 4 << 30  # of addresses; the OCR's own libraries take half of it
_QUALITY: Final = (85, 70, 50, 30)
_ENGINE: Final = "rapidocr_onnxruntime"


def main() -> None:
    """Do as the arguments say: mode, descriptors of image and result, longest side, most bytes, seconds."""
    mode = sys.argv[1]
    given, made, side, most_bytes, seconds = (int(word) for word in sys.argv[2:7])
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (2 * seconds, 2 * seconds))  # ends it without a host
    if mode == "read" and importlib.util.find_spec(_ENGINE) is None:
        _tell(absent=True)
        return
    warnings.simplefilter("ignore")
    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS // 2  # Pillow refuses twice as many
    try:
        with os.fdopen(given, "rb") as file, Image.open(file, formats=_FORMATS) as image:
            size, frames = image.size, int(getattr(image, "n_frames", 1))
            picture = _scaled(image, side)
            if mode == "read":
                _tell(width=size[0], height=size[1], frames=frames, text=_text(picture))
                return
            media_type, data = _encoded(picture, most_bytes)
    except Exception as error:  # noqa: BLE001 - whatever a decoder says of foreign data, it is told in one line
        _tell(bad=beginning(f"{type(error).__name__}: {error}", 300))
        return
    with os.fdopen(made, "wb") as result:
        result.write(data)
    _tell(
        width=size[0],
        height=size[1],
        frames=frames,
        media_type=media_type,
        shown_width=picture.width,
        shown_height=picture.height,
    )


def _scaled(image: Image.Image, side: int) -> Image.Image:
    """Return the first frame upright, on white, at most `side` pixels long."""
    image.draft("RGB", (side, side))  # a JPEG is decoded at a fraction of its size
    turned = ImageOps.exif_transpose(image)
    if "A" in turned.getbands() or "transparency" in turned.info:
        seen = turned.convert("RGBA")
        plain = Image.new("RGB", seen.size, "white")
        plain.paste(seen, mask=seen.getchannel("A"))
    else:
        plain = turned.convert("RGB")
    plain.thumbnail((side, side), Image.Resampling.LANCZOS)
    return plain


def _encoded(picture: Image.Image, most_bytes: int) -> tuple[str, bytes]:
    """Return what loses nothing if it is small enough, else a JPEG."""
    data = _saved(picture, "PNG", optimize=False)
    if len(data) <= most_bytes:
        return "image/png", data
    for quality in _QUALITY:
        data = _saved(picture, "JPEG", quality=quality)
        if len(data) <= most_bytes:
            break
    return "image/jpeg", data


def _saved(picture: Image.Image, kind: str, **options: Any) -> bytes:  # noqa: ANN401 - Pillow's options
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def _text(picture: Image.Image) -> str:
    """Return the lines that OCR finds, from top to bottom."""
    engine: Any = importlib.import_module(_ENGINE)
    numpy: Any = importlib.import_module("numpy")
    pixels = numpy.asarray(picture)[:, :, ::-1]  # it takes blue first
    found, _ = engine.RapidOCR(intra_op_num_threads=2)(pixels)
    return "\n".join(str(line[1]) for line in found or ())


def _tell(**words: Any) -> None:  # noqa: ANN401 - JSON
    sys.stdout.write("\n" + json.dumps(words) + "\n")


if __name__ == "__main__":
    main()
