"""Words of a tool server as they may stand among the host's own: bounded, in plain characters, without its signs."""

import re
from typing import Final

from host.excerpts import beginning

_CONTROLS: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What shows nothing, turns the direction of the line, or cannot be encoded: descriptions hide orders in these."""

_SIGNS: Final = str.maketrans({"«": "<<", "»": ">>", "⟦": "[[", "⟧": "]]"})
"""The host writes handles and marks with these; nobody else's words may look like one."""


def clean(text: str, limit_chars: int) -> str:
    """Return the beginning of `text` in characters that show; what is left out is said."""
    plain = _CONTROLS.sub("", text.translate(_SIGNS)).strip()
    return plain if len(plain) <= limit_chars else f"{beginning(plain, limit_chars)} [{len(plain) - limit_chars} more]"
