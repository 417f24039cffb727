"""How names that are no UTF-8 are shown, and found again."""

import os

import pytest

from host.tools.names import escaped, unescaped


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain", "plain"),
        ("gr\u00fc\u00dfe \U0001f600".encode(), "gr\u00fc\u00dfe \U0001f600"),
        (b"caf\xe9.txt", r"caf\xe9.txt"),
        (b"\x80\xff", r"\x80\xff"),
        (b"\xc3\xa9\xc3", "\u00e9\\xc3"),
        (b"\xed\xa0\x80", r"\xed\xa0\x80"),  # a surrogate in what is nearly UTF-8
    ],
)
def test_a_name_is_shown_in_a_form_that_finds_it_again(raw: bytes, shown: str) -> None:
    """And that can be encoded."""
    name = os.fsdecode(raw)
    assert escaped(name) == shown
    assert shown.encode()
    assert unescaped(shown) == name


@pytest.mark.parametrize("name", [r"a\x41", r"\xc3\xa9", r"caf\xE9", r"\x", "\\", r"\ud800"])
def test_an_escape_that_no_name_is_shown_with_stands_for_itself(name: str) -> None:
    """So that every file has one spelling only."""
    assert unescaped(name) == name


def test_a_surrogate_that_stands_for_no_byte_is_shown_too() -> None:
    """It comes from programs, not from the disk."""
    assert escaped("a\ud800\udfffb\udc7f") == r"a\ud800\udfffb\udc7f"
