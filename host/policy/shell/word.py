"""One word of a command as bash would see it: quoting undone, and marks where its text is not fully known.

Above it stand the modules that build words from a parse and judge them; it knows neither parser nor policy.
"""

from typing import Final

import msgspec

UNKNOWN: Final = "\ufff9"  # a stretch that could be anything
NAMED: Final = "\ufffa"  # a stretch that is some name, path or date, and not an option; it holds no blank
FETCHED: Final = "\ufffb"  # a stretch that came from a download
NUMBER: Final = "\ufffc"  # a stretch that is a whole number
ALTERNATIVE: Final = "\ue7ff"  # between the values that a variable may have
SPLITS: Final = "\uf8f0"  # it stands for nothing, and says that the text may come apart outside quotes
MARKS: Final = (UNKNOWN, NAMED, FETCHED, NUMBER)


class Word(msgspec.Struct, frozen=True):
    """A word, resolved as far as its text allows."""

    text: str  # with a mark for every stretch that is not known; a value told by the text stands in its place
    known: bool = True  # False: a variable, substitution, glob or brace had a part in it, so that text is a guess
    source: str = ""  # as it was written, for showing; "" when it is as plain as its text

    @property
    def shown(self) -> str:
        """Return the word as it was written, or else its text."""
        return self.source or self.text

    @property
    def could_be_option(self) -> bool:
        """Whether the word may turn out to begin with a dash."""
        return self.text[:1] in {"-", "+", UNKNOWN, FETCHED} or (not self.known and self.text[:1] in {"", *"*?["})

    @property
    def could_be_several(self) -> bool:
        """Whether bash may make several words of it: unknown text outside quotes."""
        return not self.known and any(mark in self.text for mark in (UNKNOWN, FETCHED)) and self.source[:1] != '"'


def plain(*texts: str) -> tuple[Word, ...]:
    """Return words that are what they say."""
    return tuple(Word(text) for text in texts)


def has_mark(text: str) -> bool:
    """Whether a text holds a stretch that is not known."""
    return not text.isascii() and any(mark in text for mark in MARKS)
