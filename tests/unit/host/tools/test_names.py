"""How names are shown on one line, and found again."""

import os

import pytest

from host.tools.names import escaped, shown, unescaped


@pytest.mark.parametrize(
    ("raw", "form"),
    [
        (b"plain", "plain"),
        ("gr\u00fc\u00dfe \U0001f600".encode(), "gr\u00fc\u00dfe \U0001f600"),
        (b"caf\xe9.txt", r"caf\xe9.txt"),
        (b"\x80\xff", r"\x80\xff"),
        (b"\xc3\xa9\xc3", "\u00e9\\xc3"),
        (b"\xed\xa0\x80", r"\xed\xa0\x80"),  # a surrogate in what is nearly UTF-8
        (b"a\nb 5\rc\td\x0b\x0c\x7f", r"a\x0ab 5\x0dc\x09d\x0b\x0c\x7f"),
        (b"\x1b[2J\x08\x01", r"\x1b[2J\x08\x01"),
        ("a\u0085b\u2028c\u2029d\u009be".encode(), r"a\u0085b\u2028c\u2029d\u009be"),
        (b"\xc2\x85\x85", r"\u0085\x85"),  # a control of two bytes, and the second byte alone
        ("txt.\u202egpj\u2066\u200e\u061c".encode(), r"txt.\u202egpj\u2066\u200e\u061c"),
        ("\u200b\ufeff\U000e0041".encode(), r"\u200b\ufeff\U000e0041"),
        ("\U0001f469\u200d\U0001f4bb".encode(), "\U0001f469\u200d\U0001f4bb"),  # one sign, joined of two
    ],
)
def test_a_name_is_shown_in_a_form_that_finds_it_again(raw: bytes, form: str) -> None:
    """And that can be encoded, is one line whatever takes it apart, and shows all that is in it."""
    name = os.fsdecode(raw)
    assert shown(name) == shown(form) == form
    assert form.encode()
    assert form.splitlines() == [form]
    assert unescaped(form) == name


@pytest.mark.parametrize(
    "name",
    [
        r"a\x41",
        r"\xc3\xa9",
        r"caf\xE9",
        r"\x",
        "\\",
        r"\ud800",
        r"\x00",
        r"\u0041",
        r"\u000a",
        r"\U0000000a",
        r"\Uffffffff",
    ],
)
def test_an_escape_that_no_name_is_shown_with_stands_for_itself(name: str) -> None:
    """So that every file has one spelling only."""
    assert unescaped(name) == name


def test_escapes_that_mean_something_are_read_beside_such_as_do_not() -> None:
    """In one name."""
    assert unescaped(r"C:\u0041\x0a\u2028\n") == "C:\\u0041\n\u2028\\n"


def test_a_surrogate_that_stands_for_no_byte_is_shown_too() -> None:
    """It comes from programs, not from the disk."""
    assert escaped("a\ud800\udfffb\udc7f") == shown("a\ud800\udfffb\udc7f") == r"a\ud800\udfffb\udc7f"


def test_a_text_keeps_its_lines() -> None:
    """What is not a name is only made fit to be encoded."""
    assert escaped("a\n\tb\x1b\u2028") == "a\n\tb\x1b\u2028"
