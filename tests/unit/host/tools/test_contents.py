"""The table of contents of a long text."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.tools.contents import Contents, Excerpt


def excerpt(text: str, piece: int = 1000, shown: int = 4000) -> Excerpt:
    """Feed a text in pieces."""
    contents = Contents(shown)
    for start in range(0, len(text), piece):
        contents.feed(text[start : start + piece])
    return contents.excerpt()


def table(made: Excerpt) -> list[tuple[int, int, str]]:
    """Read the table of contents."""
    found = re.findall(r"^(\d+)-(\d+): (.*)$", made.text.partition("\n\nFirst lines:")[0], re.MULTILINE)
    return [(int(first), int(last), words) for first, last, words in found]


@pytest.mark.clause("CTX-3")
def test_headings_are_told_with_their_lines() -> None:
    """The line ranges follow one another and are those of the text."""
    text = "intro\n\n# One\n" + "a\n" * 700 + "## Part of one\nb\n" + "# Two\n" + "c\n" * 900
    for piece in (1, 17, 5000):
        made = excerpt(text, piece)
        assert table(made) == [(1, 2, "…"), (3, 703, "# One"), (704, 705, "## Part of one"), (706, 1606, "# Two")]
        assert (made.lines, made.bytes) == (1606, len(text))


@pytest.mark.clause("CTX-3")
def test_without_headings_sections_begin_at_lines_and_are_told_by_their_first_words() -> None:
    """However much it is, the table stays small."""
    text = "".join(f"line {number} of this\n" for number in range(1, 60_001))
    made = excerpt(text, 4096)
    lines = table(made)
    assert 4 <= len(lines) <= 40
    assert (lines[0][0], lines[-1][1]) == (1, 60_000)
    for first, _, words in lines:
        assert words.startswith(f"line {first} of this")
    assert all(one[1] + 1 == two[0] for one, two in itertools.pairwise(lines))
    assert made.text.endswith("line 60000 of this")
    assert len(made.text.encode()) < 4000 + 200


@pytest.mark.clause("CTX-3")
def test_a_text_of_one_line_is_read_on_within_the_line() -> None:
    """The next character is the one after those that are shown."""
    text = "x" * 3000 + "y" * 50_000
    made = excerpt(text)
    assert (made.lines, made.next_line) == (1, 1)
    assert f"First lines:\n{text[: made.next_column - 1]}\n" in made.text


def test_a_thousand_headings_are_no_table() -> None:
    """Comments of a program look like headings."""
    made = excerpt("# note\nx\n" * 3000)
    assert len(table(made)) <= 40


@given(st.text(st.sampled_from("ab\n# é\U0001f600"), max_size=3000), st.integers(1, 700))
def test_any_text_is_counted_and_read_on_where_the_first_lines_end(text: str, piece: int) -> None:
    """Whatever it is and however it comes."""
    made = excerpt(text, piece, 400)
    assert made.bytes == len(text.encode())
    assert made.lines == text.count("\n") + bool(text and not text.endswith("\n"))
    before = text.split("\n")[: made.next_line - 1]
    head = "".join(f"{line}\n" for line in before) + text[: made.next_column - 1]
    assert text.startswith(head)
    assert head.rstrip() in made.text
