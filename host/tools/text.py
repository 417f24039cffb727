"""Text in files: what is text at all, and how much of it one answer holds (PASS-5, CTX-3).

Answers to a model are bounded by its window; what a bound leaves out is always said, with the call that reads on.
"""

import json
from typing import Any, Final

ANSWER_BYTES: Final = 48 << 10  # of one answer at most: some 12,000 tokens; a larger window is no reason to fill it
_LEAST_BYTES: Final = 2 << 10  # of one answer: below this nothing can be told
_WINDOW_SHARE: Final = 0.25  # of one answer: a few of them must fit beside prefix and reply
_TOKEN_BYTES: Final = 3  # below the 3.5 to 4.5 of English and code
FILE_BYTES: Final = 16 << 20  # the file tools take files up to here; larger ones are for programs
TYPICAL: Final = frozenset({"authorization", "cookie", "named-value", "private-key", "token", "url-password"})
"""The forms of secrets that may stand in what tools find: all that the vault knows by their shape."""

_LOOKED_AT_BYTES: Final = 8192


def answer_bytes(context_tokens: int) -> int:
    """Return how many bytes one answer to a model with this window may have."""
    return max(_LEAST_BYTES, min(ANSWER_BYTES, int(context_tokens * _WINDOW_SHARE) * _TOKEN_BYTES))


def decoded(data: bytes) -> str | None:
    """Return the text of a file, None when it is not UTF-8 text."""
    if b"\0" in data[:_LOOKED_AT_BYTES]:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def what_else(data: bytes) -> str:
    """Say what a file is that holds no UTF-8 text."""
    return "a binary file" if b"\0" in data[:_LOOKED_AT_BYTES] else "a text in another encoding than UTF-8"


def call(tool: str, **arguments: Any) -> str:  # noqa: ANN401 - JSON
    """Write a call as a model would make it."""
    return f"{tool} {json.dumps(arguments, ensure_ascii=False)}"


def shortened(text: str, limit_bytes: int) -> str:
    """Return as many characters from the start of `text` as fit into `limit_bytes` of UTF-8."""
    return text.encode(errors="surrogatepass")[:limit_bytes].decode(errors="ignore")


def counted(count: int, one: str, many: str = "") -> str:
    """Write a number with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"
