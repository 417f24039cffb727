"""The ways a lent secret can be spelt in what programs print: in each of them its handle stands instead (MASK-1)."""

import base64
import html
import json
import quopri
import re
import shlex
import textwrap
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, quote_plus

import pytest

from host.vault.masking import Masker

SECRETS: Final = (
    "s3cr3t-Value/42+x==",
    "ghp-ish_AbC123'\"quote$&<x>",
    "pässwörd✓-Ünïcode-42",
    "correct horse battery staple",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "tok\\nen\\\\42xyZ",
)
EDGE: Final = 12  # characters of neighbours that share a group with the value, and the clothes' own brackets


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _pieces(value: str, length: int) -> list[str]:
    return [value[at : at + length] for at in range(0, len(value), length)]


def _utf16(value: str) -> list[int]:
    wide = value.encode("utf-16-be")
    return [wide[at] << 8 | wide[at + 1] for at in range(0, len(wide), 2)]


def _xxd(value: str) -> str:
    raw = value.encode()
    rows = ((at, raw[at : at + 16]) for at in range(0, len(raw), 16))
    return "\n".join(f"{at:08x}: {row.hex(' ', -2):<39}  {_shown(row)}" for at, row in rows)


def _hexdump(value: str) -> str:
    raw = value.encode()
    rows = ((at, raw[at : at + 16]) for at in range(0, len(raw), 16))
    return "\n".join(f"{at:08x}  {row[:8].hex(' ')}  {row[8:].hex(' ')}  |{_shown(row)}|" for at, row in rows)


def _od(value: str, cell: Callable[[int], str], place: str = "07o", width: int = 1) -> str:
    """What `od` and `hexdump` write: a place, then numbers of `width` bytes each, the lowest first."""
    raw = value.encode() + bytes(-len(value.encode()) % width)
    rows = ((at, raw[at : at + 16]) for at in range(0, len(raw), 16))
    numbers = (
        (at, [int.from_bytes(row[k : k + width], "little") for k in range(0, len(row), width)]) for at, row in rows
    )
    return "\n".join(f"{at:{place}}" + "".join(map(cell, row)) for at, row in numbers)


def _sign(byte: int) -> str:
    short = {0: "\\0", 9: "\\t", 10: "\\n", 13: "\\r"}
    return f"{short.get(byte, chr(byte) if 32 <= byte < 127 else f'{byte:03o}'):>4}"


def _shown(row: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)


WAYS: Final[dict[str, Callable[[str], str]]] = {
    "as it is": str,
    "base64": lambda v: _b64(v.encode()),
    "base64 without padding": lambda v: _b64(v.encode()).rstrip("="),
    "base64 for URLs": lambda v: base64.urlsafe_b64encode(v.encode()).decode(),
    "base64 for URLs without padding": lambda v: base64.urlsafe_b64encode(v.encode()).decode().rstrip("="),
    "base64 behind one byte": lambda v: _b64(b"u" + v.encode()),
    "base64 behind two bytes": lambda v: _b64(b"u:" + v.encode()),
    "base64 between others": lambda v: _b64(b"me:" + v.encode() + b"\n"),
    "base64 for URLs between others": lambda v: base64.urlsafe_b64encode(b"me:" + v.encode() + b"xx").decode(),
    "base64 wrapped at 64": lambda v: textwrap.fill(_b64(v.encode()), 64),
    "base64 wrapped at 76 with CRLF": lambda v: base64.encodebytes(v.encode()).decode().replace("\n", "\r\n"),
    "base64 wrapped short and indented": lambda v: textwrap.indent(textwrap.fill(_b64(v.encode()), 20), "    "),
    "base64 lines in JSON": lambda v: json.dumps(base64.encodebytes(v.encode()).decode()),
    "base64 in a URL": lambda v: quote(_b64(v.encode()), safe=""),
    "base64 twice": lambda v: _b64(_b64(v.encode()).encode()),
    "base64 of percent": lambda v: _b64(quote(v, safe="").encode()),
    "base64 of JSON": lambda v: _b64(json.dumps(v).encode()),
    "base64 of UTF-16": lambda v: _b64(v.encode("utf-16-le")),
    "base32": lambda v: base64.b32encode(v.encode()).decode(),
    "base32 in lower case": lambda v: base64.b32encode(v.encode()).decode().lower(),
    "base32 without padding": lambda v: base64.b32encode(v.encode()).decode().rstrip("="),
    "base32 behind one byte": lambda v: base64.b32encode(b"u" + v.encode() + b"z").decode().rstrip("="),
    "base32 behind three bytes": lambda v: base64.b32encode(b"me:" + v.encode()).decode().rstrip("="),
    "base32 behind four bytes": lambda v: base64.b32encode(b"you:" + v.encode()).decode().rstrip("="),
    "base32hex": lambda v: base64.b32hexencode(v.encode()).decode(),
    "base32 wrapped": lambda v: textwrap.fill(base64.b32encode(v.encode()).decode(), 16),
    "percent": lambda v: quote(v, safe=""),
    "percent in lower case": lambda v: re.sub("%..", lambda found: found.group().lower(), quote(v, safe="")),
    "percent but for slashes": lambda v: quote(v),  # noqa: PLW0108 - an overloaded function is no Callable of one type
    "form": lambda v: quote_plus(v),  # noqa: PLW0108 - as above
    "every byte percent": lambda v: "".join(f"%{byte:02X}" for byte in v.encode()),
    "percent twice": lambda v: quote(quote(v, safe=""), safe=""),
    "percent three times": lambda v: quote(quote(quote(v, safe=""), safe=""), safe=""),
    "percent u": lambda v: "".join(f"%u{code:04x}" for code in _utf16(v)),
    "JSON": lambda v: json.dumps(v)[1:-1],
    "JSON with its letters": lambda v: json.dumps(v, ensure_ascii=False)[1:-1],
    "JSON with escaped slashes": lambda v: json.dumps(v)[1:-1].replace("/", "\\/"),
    "JSON in JSON": lambda v: json.dumps(json.dumps(v))[1:-1],
    "JSON in JSON in JSON": lambda v: json.dumps(json.dumps(json.dumps(v)))[1:-1],
    "every letter \\u": lambda v: "".join(f"\\u{code:04x}" for code in _utf16(v)),
    "every letter \\u in capitals": lambda v: "".join(f"\\u{code:04X}" for code in _utf16(v)),
    "every letter \\u{}": lambda v: "".join(f"\\u{{{ord(sign):x}}}" for sign in v),
    "every letter \\U": lambda v: "".join(f"\\U{ord(sign):08x}" for sign in v),
    "hex": lambda v: v.encode().hex(),
    "hex in capitals": lambda v: v.encode().hex().upper(),
    "hex as a number": lambda v: "0x" + v.encode().hex(),
    "hex with blanks": lambda v: v.encode().hex(" "),
    "hex with colons": lambda v: v.encode().hex(":").upper(),
    "hex in pairs": lambda v: v.encode().hex(" ", 2),
    "hex in lines": lambda v: textwrap.fill(v.encode().hex(), 32),
    "hex escapes": lambda v: "".join(f"\\x{byte:02x}" for byte in v.encode()),
    "hex list": lambda v: ", ".join(f"0x{byte:02X}" for byte in v.encode()),
    "hex of UTF-16": lambda v: v.encode("utf-16-le").hex(),
    "octal escapes": lambda v: "".join(f"\\{byte:03o}" for byte in v.encode()),
    "numbers": lambda v: ", ".join(str(byte) for byte in v.encode()),
    "a JSON list of numbers": lambda v: json.dumps(list(v.encode())),
    "xxd": _xxd,
    "hexdump": _hexdump,
    "xxd behind a word": lambda v: "\n".join(f"n {row}" for row in _xxd(v).splitlines()),
    "hexdump behind numbers": lambda v: "\n".join(f"{at}:{row}" for at, row in enumerate(_hexdump(v).splitlines(), 1)),
    "od -c": lambda v: _od(v, _sign),
    "od -b": lambda v: _od(v, lambda number: f" {number:03o}"),
    "od -x": lambda v: _od(v, lambda number: f" {number:04x}", width=2),
    "od": lambda v: _od(v, lambda number: f" {number:06o}", width=2),
    "od -t x4": lambda v: _od(v, lambda number: f" {number:08x}", width=4),
    "od -t u1": lambda v: _od(v, lambda number: f" {number:3}"),
    "hexdump without options": lambda v: _od(v, lambda number: f" {number:04x}", "07x", 2),
    "hexdump -d": lambda v: _od(v, lambda number: f"   {number:05}", "07x", 2),
    "HTML": html.escape,
    "HTML twice": lambda v: html.escape(html.escape(v)),
    "HTML in decimals": lambda v: "".join(f"&#{ord(sign)};" for sign in v),
    "HTML in hexadecimal": lambda v: "".join(f"&#x{ord(sign):x};" for sign in v),
    "HTML by names": lambda v: v.replace("&", "&amp;").replace("/", "&sol;").replace("+", "&plus;"),
    "a shell's single quotes": shlex.quote,
    "a shell's double quotes": lambda v: '"' + re.sub(r'([\\"$`])', r"\\\1", v) + '"',
    "a shell's backslashes": lambda v: re.sub(r"([^\w\n])", r"\\\1", v),
    "a shell's dollar quotes": lambda v: "$'" + "".join(f"\\x{byte:02x}" for byte in v.encode()) + "'",
    "Python": repr,
    "Python in ASCII": ascii,
    "Python's bytes": lambda v: repr(v.encode()),
    "Python in Python": lambda v: repr(repr(v)),
    "SQL": lambda v: "'" + v.replace("'", "''") + "'",
    "lines": lambda v: "\n".join(_pieces(v, 7)),
    "lines with CRLF": lambda v: "\r\n".join(_pieces(v, 5)),
    "a character a line": lambda v: "\n".join(v),  # noqa: PLW0108 - as above
    "lines that are continued": lambda v: "\\\n".join(_pieces(v, 6)),
    "strings put side by side": lambda v: '"\n    "'.join(_pieces(v, 6)),
    "strings added": lambda v: '" + "'.join(_pieces(v, 6)),
    "a quotation in mail": lambda v: "\n".join(f"> {piece}" for piece in _pieces(v, 9)),
    "a comment": lambda v: "\n".join(f"# {piece}" for piece in _pieces(v, 9)),
    "a diff": lambda v: "\n".join(f"+{piece}" for piece in _pieces(v, 9)),
    "quoted-printable": lambda v: quopri.encodestring(v.encode()).decode(),
    "every byte quoted-printable": lambda v: "".join(f"={byte:02X}" for byte in v.encode()),
    "blanks between": lambda v: " ".join(v),  # noqa: PLW0108 - as above
    "zero bytes between": lambda v: "\0".join(v),  # noqa: PLW0108 - as above
    "nothing visible between": lambda v: "\u200b".join(v),  # noqa: PLW0108 - as above
    "a part in colour": lambda v: f"\x1b[01;31m\x1b[K{v[:6]}\x1b[m\x1b[K{v[6:]}",
}


@pytest.mark.clause("MASK-1")
@pytest.mark.parametrize("way", WAYS)
def test_a_lent_value_is_found_however_it_is_spelt(way: str) -> None:
    """Its handle stands there, and nothing of the value is left."""
    for value in SECRETS:
        masker = Masker()
        masker.lend("api", value)
        shown = masker.text(f"before {WAYS[way](value)}\nafter")
        rest = re.sub(" +", " ", shown.replace("«secret:api»", ""))
        assert "«secret:api»" in shown, value
        assert rest.startswith("before ")
        assert rest.endswith("after")
        assert len(rest) <= len("before \nafter") + EDGE, shown


@pytest.mark.clause("MASK-1")
def test_there_are_enough_ways() -> None:
    """The set is what the clause is measured by."""
    assert len(WAYS) >= 60
