"""What a query means, without any store."""

import pytest

from memory.errors import SearchError
from memory.search import Query, snippet_of


def asked(text: str) -> Query:
    """Return a query for a text."""
    return Query.read(text, limit=10, newest_first=False, before=None)


@pytest.mark.clause("JRN-3")
def test_quotes_in_a_query_are_quoted() -> None:
    """Nothing a person types can end the quotation it stands in."""
    assert asked('say "hi" x').parts == ""
    assert asked('"hi" say').parts == '"""hi""" AND "say"'
    assert asked("a OR b*").words == '"a" AND "or" AND "b"'


@pytest.mark.clause("JRN-3")
@pytest.mark.parametrize(
    ("query", "text", "tier"),
    [
        ("run", "run", 0),
        ("run", "runs", 0),
        ("running", "runs", 1),
        ("run", "crunch", 2),
        ("a/b.py", "see a/b.py", 0),
        ("a/b.py", "see xa/b.pyx", 1),
        ("a/b.py", "a b py", 2),
        ("running crun", "runs and crunches", 3),
        ("run", "walk", None),
        ("run fast", "run slowly", None),
    ],
)
def test_a_match_has_a_tier(query: str, text: str, tier: int | None) -> None:
    """Both ways first, then words for words and signs for signs; every term must match."""
    assert asked(query).tier(text) == tier


@pytest.mark.clause("JRN-3")
def test_a_sign_beside_words_does_not_narrow() -> None:
    """A stretch of one or two signs is passed over when there is something else to look for."""
    assert asked("foo => bar").tier("foo bar") is not None


@pytest.mark.parametrize("text", ["", " ", "?", "?!"])
def test_nothing_to_look_for_is_an_error(text: str) -> None:
    """The error says what to give."""
    with pytest.raises(SearchError, match="give a word"):
        asked(text)


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("short", "short", "short"),
        ("two\n  lines", "lines", "two lines"),
        ("x" * 300, "xxx", "x" * 180 + "…"),
        ("Книги лежат", "книга", "Книги лежат"),
    ],
)
def test_a_snippet_is_one_line_around_the_match(text: str, query: str, expected: str) -> None:
    """Blanks are folded, what was cut is marked."""
    assert snippet_of(text, asked(query)) == expected
