"""Stop in words: a message that is nothing but one of the group's stop words (STOP-1)."""

import unicodedata


def is_stop_word(text: str, stop_words: tuple[str, ...]) -> bool:
    """Whether a message is a Stop in words: equal to one, trimmed, case-folded, in NFKC."""
    return _folded(text) in {_folded(word) for word in stop_words}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()
