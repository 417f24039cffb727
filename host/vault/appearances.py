"""What a lent value may look like in each view of a text: as it is, and in the alphabets that programs write bytes in.

Characters of an encoding that also depend on neighbours are left to `edges`. Nothing here looks at a text.
"""

import base64
from typing import Final

import msgspec

from host.vault import dumps, rare, views

FLAT: Final = "flat"
BARE: Final = "bare"
ONCE: Final = "once"
HEX: Final = "hex"
SMALLEST_CORE: Final = 6  # characters of base64 that are compared at least; of base32, whose characters say less, 8


class Form(msgspec.Struct, frozen=True):
    """One appearance in a view; the edges are characters that carry a part of the value."""

    core: bytes
    left_edge: bool = False
    right_edge: bool = False


def forms_of(plain: bytes) -> dict[str, tuple[Form, ...]]:
    """Return the forms of a value by the view in which they are looked for."""
    wide = _wide(plain)
    encoded = (*_base64(plain), *(form for each in wide for form in _base64(each)))
    digits = Form(plain.hex().encode())
    wide_digits = tuple(Form(each.hex().encode()) for each in wide)
    return {
        FLAT: (Form(views.flat(plain)), *_short_characters(plain), *encoded),
        BARE: (Form(views.bare(plain)), *encoded),
        ONCE: (Form(views.bare(plain)),),
        HEX: (digits, *wide_digits, *_base32(plain)),
        rare.PRINTABLE: (Form(views.bare(plain)), *encoded),
        rare.JOINED: (Form(rare.joined(plain)), *encoded),
        **dict.fromkeys(dumps.WAYS, (Form(plain), *(Form(each) for each in wide))),
        rare.NUMBERS: (Form(plain),),
    }


def _short_characters(plain: bytes) -> tuple[Form, ...]:
    """What escapes of one byte a character make of letters such as ä: Python's `ascii`, old forms of web pages."""
    text = plain.decode("utf-8", "surrogatepass")
    short = b"".join(
        bytes([ord(sign)]) if ord(sign) < 256 else sign.encode("utf-8", "surrogatepass")  # noqa: PLR2004 - a byte
        for sign in text
    )
    return () if short == plain else (Form(views.flat(short)),)


def _wide(plain: bytes) -> tuple[bytes, ...]:
    """The value in UTF-16, as shells of Windows encode their commands."""
    text = plain.decode("utf-8", "surrogatepass")
    return text.encode("utf-16-le", "surrogatepass"), text.encode("utf-16-be", "surrogatepass")


def _base64(plain: bytes) -> tuple[Form, ...]:
    """The characters that depend on `plain` alone, for each number of bytes that may precede it in a group of three."""
    forms: dict[bytes, Form] = {}
    for before in range(3):
        whole = base64.b64encode(bytes(before) + plain).rstrip(b"=")
        first = (0, 2, 3)[before]  # characters that the bytes before take part in
        partial = (before + len(plain)) % 3 != 0  # the last character waits for what follows
        core = whole[first : len(whole) - partial]
        if len(core) < SMALLEST_CORE:
            continue
        for alphabet in (core, core.translate(bytes.maketrans(b"+/", b"-_"))):
            shown = views.flat(alphabet)
            forms.setdefault(shown, Form(shown, left_edge=before > 0, right_edge=partial))
    return tuple(forms.values())


def _base32(plain: bytes) -> tuple[Form, ...]:
    """The same for groups of five bytes, in lower case, in the usual alphabet and in that of `base32hex`."""
    forms: dict[bytes, Form] = {}
    for encode in (base64.b32encode, base64.b32hexencode):
        for before in range(5):
            whole = encode(bytes(before) + plain).rstrip(b"=").lower()
            first = -(-8 * before // 5)
            partial = (8 * (before + len(plain))) % 5 != 0
            core = whole[first : len(whole) - partial]
            if len(core) >= SMALLEST_CORE + 2:
                forms.setdefault(core, Form(core, left_edge=before > 0, right_edge=partial))
    return tuple(forms.values())
