r"""How a file name that is no UTF-8 is shown to models and people, and found again by what was shown.

Python holds the bytes of such a name as lone surrogates, which nothing can send or store. They are shown as
backslash escapes, `caf\xe9.txt`, and the file tools take that form back; decided here, once. Knows no disk and imports
nothing of the host: the search child uses it too.
"""

import re
from typing import Final

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPE: Final = re.compile(r"\\x([89a-f][0-9a-f])")
_BYTES: Final = 0xDC00  # the surrogate of the byte 0; those of bytes that are no UTF-8 start at 0xDC80
_FIRST: Final = 0xDC80
_LAST: Final = 0xDCFF


def escaped(text: str) -> str:
    r"""Return `text` as it can be encoded: a byte that was no UTF-8 as `\xe9`, any other surrogate as `\ud800`."""
    return text if text.isascii() else _SURROGATE.sub(_escape, text)


def unescaped(name: str) -> str:
    r"""Return the name that is shown as `name` because it is no UTF-8; `name` itself when there is none.

    One name has one shown form: escapes that no name would be shown with (`\xc3\xa9` for é) stand for themselves.
    """
    raw = _ESCAPE.sub(lambda found: chr(_BYTES + int(found[1], 16)), name)
    if raw == name:
        return name
    raw = raw.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return raw if escaped(raw) == name else name


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code - _BYTES:02x}" if _FIRST <= code <= _LAST else f"\\u{code:04x}"
