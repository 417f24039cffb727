"""Which files are images."""

import pytest

from host.tools.images import kind_of


@pytest.mark.clause("TURN-7")
@pytest.mark.parametrize(
    ("beginning", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"GIF89a", "GIF"),
        (b"II*\0", "TIFF"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "WebP"),
        (b"BM" + b"\0" * 12 + b"\x28\0\0\0", "BMP"),
        (b"BMW is a maker of cars.\n", None),
        (b"RIFF\x10\0\0\0WAVEfmt ", None),
        (b"hello", None),
        (b"", None),
    ],
)
def test_an_image_is_known_by_how_it_begins(beginning: bytes, kind: str | None) -> None:
    """A text that begins with the same two letters is none."""
    assert kind_of(beginning) == kind
