"""Typical forms of secrets that nobody lent: headers, key blocks, token shapes, named values, passwords in URLs.

They are closed forms of machine text, not judgements of language: a value is taken for a secret by where it stands
(after a name or scheme that holds secrets) or by a shape that a maker of tokens documents, and left alone where it only
refers to one (a variable, a placeholder, a handle, a call). Everything works on bytes: `low` is the text in ASCII lower
case, of the same length. A form is looked for only where a word of it stands, so that ordinary text costs a few scans.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from host.vault import literals, tokens
from host.vault.lent import Span

AUTHORIZATION: Final = "authorization"
COOKIE: Final = "cookie"
PRIVATE_KEY: Final = "private-key"
TOKEN: Final = "token"  # noqa: S105 - the name of a form
NAMED: Final = "named-value"
URL_PASSWORD: Final = "url-password"  # noqa: S105 - the name of a form
KINDS: Final = frozenset({AUTHORIZATION, COOKIE, PRIVATE_KEY, TOKEN, NAMED, URL_PASSWORD})

LONGEST_BLOCK: Final = 64 * 1024  # a stream waits no longer for the end of a key block

_NAME_BEFORE: Final = 64  # bytes before a word in which the rest of its name may stand

Finder = Callable[[bytes, int], "Found | None"]
Found = tuple[int, int]
"""First and last byte + 1 of a value."""


class _Form:
    """One kind of form: the words that announce it, and what to look for at each."""

    def __init__(self, kind: str, words: tuple[bytes, ...], find: Callable[[bytes, int], list[Found]]) -> None:
        self.kind = kind
        self.words = words
        self.find = find  # values, and the end of what was looked at as the last one's end


def replacement(kind: str) -> bytes:
    """Return what stands for a value of `kind`."""
    return f"«masked:{kind}»".encode()
