"""What the aux model is told when it is asked about a call before a person is, and how its answer is read (APR-6).

It gets no conversation, no page, no file and no result: the fixed words below, and the call as JSON. Its answer is one
of two words; anything else, an explanation included, is no answer. Reasons are not asked for, since their words would
come from a model that reads what a stranger may have written.
"""

from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

import msgspec

from host.models.conversation import Said

ALLOW: Final = "allow"
NO_CLEAR_WORD: Final = "no-clear-word"
CUT_FINISHES: Final = frozenset({"length", "max_tokens"})  # how the two wire formats say that a reply was cut

_WORDS: Final = frozenset({ALLOW, "pass"})

ASSISTING: Final = (resources.files("host.context") / "assisting.md").read_text(encoding="utf-8").strip()


def asked_about(shown: Mapping[str, Any]) -> Said:
    """Return the one message of the request; JSON quotes what it holds, so nothing in it ends it early."""
    return Said(f"The call, as data:\n\n{msgspec.json.format(msgspec.json.encode(shown), indent=1).decode()}")


def word_of(text: str, finish: str, *, calls: bool) -> str:
    """Return the model's word: `allow`, `pass` or none; blanks around it do not count, `calls` were not on offer."""
    word = text.strip()
    return word if word in _WORDS and finish not in CUT_FINISHES and not calls else NO_CLEAR_WORD
