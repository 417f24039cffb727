"""How text becomes the words that are searched: one analyser for every store (MEM-10).

Stores' own tokenizers find nothing in Chinese and Japanese and a third of what they should in Russian, so this one
makes a shadow text of plain tokens: single characters and pairs of them for Chinese, Japanese and Korean, snowball
stems for Russian and English words. Pure; it knows no store. Bump `VERSION` when the same text gives other tokens.
"""

import itertools
import re
import threading
import unicodedata
from collections.abc import Callable
from typing import Final, Protocol

import Stemmer

VERSION: Final = 1
"""The version of the tokens; an index that was made with another one is made anew."""

_PAIRED: Final = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_SIGNS: Final = "\u2190-\u2bff\U0001f000-\U0001faff"  # arrows to pictographs: people search for these too
_TOKEN: Final = re.compile(rf"([{_PAIRED}]+)|([^\W_{_PAIRED}]+)|([{_SIGNS}])")
_WORD_CHARS: Final = 64  # longer ones are hashes and encoded data, which are looked for literally
_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]+\Z")


def _plain_letters() -> dict[int, str]:
    """Accented Latin letters without their accents, and Russian ё as the е it is usually written as."""
    table = {ord("ё"): "е"}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base.isascii() and base.isalpha():
            table[code] = base
    return table


_PLAIN: Final = _plain_letters()


class _Stemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...  # noqa: N802 - PyStemmer's name


_stemmer: Final[Callable[[str], _Stemmer]] = Stemmer.Stemmer  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped


class _Stemmers(threading.local):
    """PyStemmer's objects keep a cache and may not be used by two threads at once."""

    def __init__(self) -> None:
        self.english = _stemmer("english")
        self.russian = _stemmer("russian")


_stemmers: Final = _Stemmers()


def fold(text: str) -> str:
    """Return `text` as it is compared: one form of each letter, no case, no accents, nothing UTF-8 cannot hold."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates
        text = unicodedata.normalize("NFKC", text).casefold().translate(_PLAIN)
    return text.lower().replace("\0", " ")


def tokens(folded: str) -> list[str]:
    """Return the tokens of a folded text, in order."""
    found: list[str] = []
    for paired, word, sign in _TOKEN.findall(folded):
        if word:
            found.append(_stem(word))
        elif paired:
            found.extend(_pairs(paired))
        else:
            found.append(f"u{ord(sign):x}")
    return found


def phrase(folded: str) -> list[str]:
    """Return the tokens that stand side by side wherever `folded` occurs, inside a longer run of characters as well.

    The first and last single character of a run are left out where a pair holds them: in a longer run another pair
    stands between.
    """
    runs = [match.group(1) for match in _TOKEN.finditer(folded)]
    found = tokens(folded)
    start = 1 if runs and runs[0] and len(runs[0]) > 1 else 0
    end = len(found) - 1 if runs and runs[-1] and len(runs[-1]) > 1 else len(found)
    return found[start:end]


def _stem(word: str) -> str:
    word = word[:_WORD_CHARS]
    if not word.isalpha():
        return word
    if word.isascii():
        return _stemmers.english.stemWord(word)
    if _CYRILLIC.match(word):
        return _stemmers.russian.stemWord(word)
    return word


def _pairs(run: str) -> list[str]:
    """Return the single characters and the pairs of a run: `abc` gives a, ab, b, bc, c."""
    found = [run[0]]
    for first, second in itertools.pairwise(run):
        found.extend((first + second, second))
    return found
