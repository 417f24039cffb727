"""A planted secret, the forms in which it could turn up, and everything that a host keeps, shows or sends, to look in.

The looking is by bytes: files as they lie, and what is packed inside them unpacked, whatever table it stands in.
"""

import base64
import html
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus

import zstandard

VALUE: Final = "pLanted/Zk7+wQ9=x4e.T3mB"
"""Opaque, and of a spelling that JSON, addresses and base64 each change in their own way."""

DRAWN: Final = "WALNUT-4711-HARBOR"
"""One that an OCR reads without a mistake."""

_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_SQLITE: Final = b"SQLite format 3\0"
_LONG_ENOUGH: Final = 8  # bytes; of a piece of base64 that tells the value


def traces(value: str) -> dict[str, bytes]:
    """Return the forms of `value` by which it could be had back, by the name of the form."""
    raw = value.encode()
    found = {
        "as it is": raw,
        "in an address": quote(value, safe="").encode(),
        "in a form": quote_plus(value).encode(),
        "in a path": quote(value).encode(),
        "in small hex": raw.hex().encode(),
        "in large hex": raw.hex().upper().encode(),
        "in JSON": json.dumps(value)[1:-1].encode(),
        "in JSON with \\/": json.dumps(value)[1:-1].replace("/", "\\/").encode(),
        "in HTML": html.escape(value).encode(),
        "in UTF-16": value.encode("utf-16-le"),
        "in base32": base64.b32encode(raw).rstrip(b"=")[:-1],
    }
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + raw)
        sure = whole[4 if shift else 0 : len(whole) // 4 * 4 - 4]  # what stands beside it does not change this
        assert len(sure) >= _LONG_ENOUGH
        found[f"in base64 at {shift}"] = sure
        found[f"in base64 of addresses at {shift}"] = sure.translate(bytes.maketrans(b"+/", b"-_"))
    return found


def told(data: bytes, value: str) -> list[str]:
    """Return the forms in which `value` stands in `data`."""
    return [form for form, trace in traces(value).items() if trace in data]


def kept(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield everything that stands in the files under `folder`, with its place."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        yield str(path.relative_to(folder)), data
        if data.startswith(_SQLITE):
            yield from _rows(path, folder)


def _rows(path: Path, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every value of every table, unpacked."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        tables = [name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")]
        for table in tables:
            try:
                rows = connection.execute(f'select * from "{table}"').fetchall()  # noqa: S608 - a name that it has told
            except sqlite3.Error:
                continue  # a table whose texts are kept elsewhere; its own bytes stand in the tables beneath it
            for row in rows:
                for cell in row:
                    data = cell if isinstance(cell, bytes) else str(cell).encode(errors="surrogatepass")
                    yield f"{path.relative_to(folder)}:{table}", _unpacked(data)
    finally:
        connection.close()


def _unpacked(data: bytes) -> bytes:
    return zstandard.decompress(data) if data.startswith(_ZSTD) else data
