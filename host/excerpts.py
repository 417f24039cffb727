"""The beginning or the end of a longer text, with a mark where the rest was left out.

The mark is not only for people: where it stands masking looks for what a cut has left of a secret (MASK-1). So whoever
shortens a text from outside before it is masked does it with these.
"""

from typing import Final

LEFT_OUT: Final = "…"


def beginning(text: str, chars: int) -> str:
    """Return at most `chars` characters of the beginning, and the mark."""
    return text if len(text) <= chars else f"{text[:chars]}{LEFT_OUT}"


def ending(text: str, chars: int) -> str:
    """Return the mark, and at most `chars` characters of the end."""
    return text if len(text) <= chars else f"{LEFT_OUT}{text[-chars:]}"
