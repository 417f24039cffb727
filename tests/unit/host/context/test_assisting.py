"""How the aux model's answer is read (APR-6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.context.assisting import ASSISTING, asked_about, word_of


@pytest.mark.clause("APR-6")
@pytest.mark.parametrize(("text", "word"), [("allow", "allow"), (" allow\n", "allow"), ("pass", "pass")])
def test_one_of_two_words_is_an_answer(text: str, word: str) -> None:
    """Blanks around it do not count."""
    assert word_of(text, "stop", calls=False) == word


@pytest.mark.clause("APR-6")
@given(st.text())
def test_no_other_text_allows(text: str) -> None:
    """Nothing is searched for in a reply."""
    assert (word_of(text, "stop", calls=False) == "allow") == (text.strip() == "allow")


@pytest.mark.clause("APR-6")
def test_a_cut_reply_and_one_with_calls_are_no_answer() -> None:
    """What was left out might have been the other half."""
    assert word_of("allow", "length", calls=False) == "no-clear-word"
    assert word_of("allow", "max_tokens", calls=False) == "no-clear-word"
    assert word_of("allow", "stop", calls=True) == "no-clear-word"


@pytest.mark.clause("APR-6")
@given(st.dictionaries(st.text(), st.text()))
def test_the_call_stands_in_the_message_as_one_json_value(shown: dict[str, str]) -> None:
    """No value ends it early."""
    head, _, data = asked_about(shown).text.partition("\n\n")
    assert head == "The call, as data:"
    assert "\n\n" not in data


def test_the_words_are_few_and_name_both_answers() -> None:
    """They are sent with each question."""
    assert len(ASSISTING) < 1500
    assert "`allow`" in ASSISTING
    assert "`pass`" in ASSISTING
