"""How text becomes tokens."""

import pytest

from memory.analyser import fold, phrase, tokens


@pytest.mark.clause("MEM-10")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("昨晚吃", ["昨", "昨晚", "晚", "晚吃", "吃"]),
        ("run running runs", ["run", "run", "run"]),
        ("книга книги книгой", ["книг", "книг", "книг"]),
        ("Ёлка ёлки", ["елк", "елк"]),
        ("parse_config(x2)", ["pars", "config", "x2"]),
        ("Pythonで", ["python", "で"]),
        (
            "カタカナ・ひらがな",
            ["カ", "カタ", "タ", "タカ", "カ", "カナ", "ナ", "ひ", "ひら", "ら", "らが", "が", "がな", "な"],
        ),
        ("한국어", ["한", "한국", "국", "국어", "어"]),
        ("🎉 → ok", ["u1f389", "u2192", "ok"]),
        ("… — ?!", []),
    ],
)
def test_every_script_gets_its_tokens(text: str, expected: list[str]) -> None:
    """Characters and pairs for Chinese, Japanese and Korean, stems for Russian and English, nothing for signs."""
    assert tokens(fold(text)) == expected


@pytest.mark.clause("MEM-10")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ÉCOLE naïve Straße", "ecole naive strasse"),
        ("Ｆｕｌｌ ｗｉｄｔｈ ｶﾀｶﾅ", "full width カタカナ"),
        ("Йод и ёж", "йод и еж"),
        ("a\0b", "a b"),
        ("a\0é", "a e"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
    ],
)
def test_folding_keeps_letters_apart_and_their_forms_together(text: str, expected: str) -> None:
    """Case, accents and width do not matter; й is not и; nothing is left that a store cannot hold."""
    assert fold(text) == expected


@pytest.mark.clause("MEM-10")
@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("昨晚", "我昨晚吃了"),
        ("晚", "昨晚吃"),
        ("東京tower", "在東京tower下"),
        ("tower東京", "the tower東京都"),
        ("a/b.py", "(a/b.py)"),
    ],
)
def test_the_phrase_of_a_part_stands_in_the_tokens_of_the_whole(part: str, whole: str) -> None:
    """What is looked for inside a longer run of characters is found side by side in it."""
    wanted, found = phrase(fold(part)), tokens(fold(whole))
    assert any(found[at : at + len(wanted)] == wanted for at in range(len(found)))


@pytest.mark.clause("MEM-10")
def test_characters_that_stand_apart_are_no_phrase() -> None:
    """昨晚 is not found where 昨 and 晚 merely both occur."""
    assert phrase("昨晚") == ["昨晚"]
    assert "昨晚" not in tokens("昨天晚上")


def test_long_strings_are_cut_and_not_stemmed() -> None:
    """A hash or encoded data makes one token of bounded length."""
    assert tokens("ab" * 500) == [("ab" * 500)[:64]]
