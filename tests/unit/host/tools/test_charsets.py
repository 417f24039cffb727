"""Encodings of bodies: a closed list, none of which holds the host up."""

import time

import pytest

from host.tools.charsets import text_of

SIZE = 4 << 20  # bytes
LISTED = (
    "iso-8859-1", "latin1", "iso_8859-15", "windows-1252", "cp1251", "koi8-r", "koi8-u", "shift_jis", "euc-jp",
    "euc-kr", "iso-2022-jp", "gb2312", "gbk", "gb18030", "big5", "utf-16", "utf-16le", "utf-16be", "macintosh",
    "ibm866", "tis-620", "windows-31j", "UTF-8", "us-ascii",
)  # fmt: skip


@pytest.mark.parametrize("charset", LISTED)
async def test_an_encoding_of_the_list_takes_less_than_seconds(charset: str) -> None:
    """For bytes that it takes as letters, and for such that it refuses late."""
    data = b"a " * (SIZE // 2)
    began = time.process_time()
    text = await text_of(data, f"text/plain; charset={charset}")
    await text_of(data + b"\xff", f"text/plain; charset={charset}")
    assert time.process_time() - began < 3
    assert text


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "utf-7", "unicode_escape", "hex", "rot13", "undefined", "x" * 99]
)
async def test_what_is_not_on_the_list_is_no_text(charset: str) -> None:
    """Nothing is looked up that a server names."""
    assert await text_of(b"abc", f"text/plain; charset={charset}") is None


@pytest.mark.parametrize(
    ("data", "charset"),
    [(b"\0\0a", "latin1"), (b"a\0\0\0", "utf-16-le"), (b"\xff\xfe\0\0", "utf-16"), (b"\x81", "cp1252")],
)
async def test_a_nul_or_a_byte_that_is_no_letter_makes_it_no_text(data: bytes, charset: str) -> None:
    """The NUL counts in the text that comes out, as in any other file."""
    assert await text_of(data, f"text/plain; charset={charset}") is None
