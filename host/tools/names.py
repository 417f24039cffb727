r"""How a file's name is shown to models and people on one line, and found again by what was shown.

A name may hold anything but `/` and NUL. Python holds bytes that are no UTF-8 as lone surrogates, which nothing can
send or store; a line break would begin a line in the host's own name, and what shows nothing, turns the line round or
steers a terminal would show another name. All of it is shown as backslash escapes, `caf\xe9.txt`, `a\x0ab`, `\u202e`,
and the file tools take that form back; decided here, once. Knows no disk and imports nothing of the host: the search
child uses it too.
"""

import re
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# Controls, what breaks lines, turns their direction, or is not seen; joiners stay, which belong to some writing.
_UNSEEN: Final = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
    "\ud800-\udfff]"
)
_ESCAPE: Final = re.compile(r"\\(?:x([0189a-f][0-9a-f]|7f)|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_BYTES: Final = 0xDC00  # the surrogate of the byte 0; those of bytes that are no UTF-8 start at 0xDC80
_FIRST: Final = 0xDC80
_LAST: Final = 0xDCFF
_ASCII: Final = 0x80
_BASIC: Final = 0x10000
_MOST: Final = 0x110000


def escaped(text: str) -> str:
    r"""Return `text` as it can be encoded: a byte that was no UTF-8 as `\xe9`, any other surrogate as `\ud800`."""
    return text if text.isascii() else _SURROGATE.sub(_escape, text)


def shown(name: str) -> str:
    r"""Return a name or path as it stands on one line: what can be encoded, and seen. Done twice it is the same."""
    return name if name.isascii() and name.isprintable() else _UNSEEN.sub(_escape, name)


def unescaped(name: str) -> str:
    r"""Return the name that is shown as `name` because of what is in it; `name` itself when there is none.

    One name has one shown form: escapes that no name would be shown with (`\xc3\xa9` for é) stand for themselves.
    """
    raw = _ESCAPE.sub(_unescape, name)
    if raw == name:
        return name
    raw = raw.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return raw if shown(raw) == name else name


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if _FIRST <= code <= _LAST:
        return f"\\x{code - _BYTES:02x}"
    # From 0x80 on two digits are a byte that is no UTF-8; U+0085 is another thing.
    return f"\\x{code:02x}" if code < _ASCII else f"\\u{code:04x}" if code < _BASIC else f"\\U{code:08x}"


def _unescape(found: re.Match[str]) -> str:
    """Return what was escaped; the text itself where nothing is shown like that."""
    code = int(found[1] or found[2] or found[3], 16)
    if found[1] and code >= _ASCII:
        return chr(_BYTES + code)
    if code == 0 or code >= _MOST or _SURROGATE.match(chr(code)):
        return found[0]  # no name holds it
    return chr(code) if _UNSEEN.sub(_escape, chr(code)) == found[0] else found[0]
