"""What a terminal is shown: every character of a stranger's text is a character, never an order to the terminal."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.cli.screen import Screen, visible

SHOWN = [
    ("a\x1b[2Kb", r"a\x1b[2Kb"),
    ("rm x\r ls", r"rm x\r ls"),
    ("\x07\x08\x0b\x0c\x7f\0", r"\x07\x08\x0b\x0c\x7f\x00"),
    ("\x9b31m\x9d0;t\x9c", r"\x9b31m\x9d0;t\x9c"),
    ("\x85next", r"\x85next"),
    ("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd"),
    ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
    ("a\u200bb\ufeffc\u00add\u2060e", r"a\u200bb\ufeffc\xadd\u2060e"),
    ("a\U000e0041b", r"a\U000e0041b"),
    ("bad \udcff byte", r"bad \udcff byte"),
    ("lines\nand\ttabs stay", "lines\nand\ttabs stay"),
    ("ёж 漢字 é ñ 🦔 — “ok”", "ёж 漢字 é ñ 🦔 — “ok”"),
    ("a\u200db", r"a\u200db"),
]
STYLING = re.compile(r"\x1b\[[0-9;]*m")  # the only orders that the screen itself gives for a line of text
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def on_terminal() -> tuple[Screen, io.StringIO]:
    """Return a screen that takes its file for a terminal, and the file."""
    file = io.StringIO()
    return Screen(file=file, terminal=True, width=120), file


@pytest.mark.clause("APR-1")
@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_what_cannot_be_seen_is_shown_as_an_escape(text: str, shown: str) -> None:
    """Controls, turns of direction, separators and what has no width; writing of all kinds stays."""
    assert visible(text) == shown


def test_joiners_stay_in_a_reply_where_they_belong_to_the_writing() -> None:
    """A family is one sign and Persian is spelt with them; between letters of a command they are shown."""
    assert visible("👩\u200d👧 می\u200cروم", joiners=True) == "👩\u200d👧 می\u200cروم"
    assert visible("r\u200dm", joiners=True) == r"r\u200dm"
    assert visible("👩\u200d👧") == "👩\\u200d👧"


@given(st.text())
def test_no_text_at_all_gives_the_terminal_an_order(text: str) -> None:
    """By whichever way it is printed, what is left beside the screen's own colours can be seen."""
    screen, file = on_terminal()
    screen.line(text, (text, "bold"))
    screen.table(("one", "two"), [(text, (text, "red"))], "nothing")
    screen.reply(text)
    screen.rule(text)
    assert HIDDEN.search(STYLING.sub("", file.getvalue())) is None or "\u200d" in text or "\u200c" in text


@pytest.mark.parametrize(
    "reply",
    ["&#27;[2Jgone", "&#x1b;]0;title&#7;", "a&#x202e;b", "`\x1b[2J`", "[ok](http://x/&#27;[2J)", "```\n\x1b[2J\n```"],
)
def test_a_reply_in_markdown_gives_no_orders_either(reply: str) -> None:
    """Its entities are characters only once it was read, so it is looked at again after that."""
    screen, file = on_terminal()
    screen.reply(reply)
    assert HIDDEN.search(STYLING.sub("", file.getvalue())) is None


def test_a_link_shows_where_it_leads() -> None:
    """It is no link of the terminal's own, which would show words and lead elsewhere."""
    screen, file = on_terminal()
    screen.reply("[your bank](https://elsewhere.example)")
    assert "https://elsewhere.example" in file.getvalue()
    assert "\x1b]8" not in file.getvalue()
