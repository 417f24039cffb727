"""The text of a body in the encoding that a server names: those that texts of the web are written in, and no others.

Python knows codecs besides that take minutes for a megabyte (`punycode`), make any character out of escapes or are no
encoding at all. The list is that of browsers (WHATWG Encoding, 4.2) without what only keyboards of the past could type.
"""

import asyncio
import codecs
import re
from typing import Final

from host.tools.text import decoded

_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_UTF8: Final = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
_CODECS: Final = {
    **{f"iso-8859-{part}": f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))},
    **{f"iso8859-{part}": f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))},
    **{f"{prefix}125{part}": f"cp125{part}" for part in range(9) for prefix in ("windows-", "cp", "x-cp")},
    "latin1": "iso8859-1", "latin-1": "iso8859-1", "latin2": "iso8859-2", "latin9": "iso8859-15",
    "windows-874": "cp874", "tis-620": "tis-620", "ibm866": "cp866", "macintosh": "mac-roman",
    "koi8-r": "koi8-r", "koi8-u": "koi8-u",
    "shift-jis": "cp932", "sjis": "cp932", "x-sjis": "cp932", "windows-31j": "cp932",
    "euc-jp": "euc-jp", "iso-2022-jp": "iso2022-jp",
    "euc-kr": "cp949", "ks-c-5601-1987": "cp949", "windows-949": "cp949",
    "gb2312": "gbk", "gbk": "gbk", "gb18030": "gb18030", "big5": "big5hkscs", "big5-hkscs": "big5hkscs",
    "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
}  # fmt: skip
"""By the names that servers use, with hyphens; all are written in C and take less than a second for what is taken."""
_PIECE: Final = 1 << 18  # bytes: some milliseconds
_LOOKED_AT: Final = 8192  # characters, for the NUL that no text has


async def text_of(data: bytes, content_type: str) -> str | None:
    """Return the text of a body, None where it is none or in an encoding that is not taken; can be cancelled."""
    found = _CHARSET.search(content_type)
    charset = found[1].lower().replace("_", "-") if found else "utf-8"
    if charset in _UTF8:
        return decoded(data)
    if charset not in _CODECS:
        return None
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    codec = "utf-16-le" if charset == "utf-16" and not marked else _CODECS[charset]
    decoder = codecs.getincrementaldecoder(codec)()
    parts: list[str] = []
    try:
        for start in range(0, len(data), _PIECE):
            parts.append(decoder.decode(data[start : start + _PIECE]))
            await asyncio.sleep(0)
        parts.append(decoder.decode(b"", final=True))
    except UnicodeError:
        return None
    text = "".join(parts)
    return None if "\0" in text[:_LOOKED_AT] else text
