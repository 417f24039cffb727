"""Whether a piece of machine text is itself a secret's value or only refers to one.

Judged by form alone: variables, placeholders, templates, calls and paths refer; characters without the pattern of
words are opaque. No word of a natural language is looked at. Used by the forms of `host.vault`.
"""

import re
from typing import Final

_REFERENCE: Final = re.compile(
    rb"[$<!]"  # a variable, a placeholder, a YAML tag
    rb"|%[A-Za-z_]\w*%\Z|%[sdr(]"  # a Windows variable, a format
    rb"|\{"  # a template
    rb"|\xc2\xab"  # a handle or a mask
    rb"|(?:env|file|keyring|op|bw|pass|vault|secret|ref|arn):"
    rb"|lambda:"
    rb"|(?:none|null|nil|true|false|yes|no|on|off|undefined)\Z"
    rb"|([*x.#?_-])\1*\Z",  # blacked out
    re.IGNORECASE,
)
_CONSTANT: Final = re.compile(rb"[A-Z]+(?:_[A-Z]+)+\Z")
_REFERS_INSIDE: Final = (b"(", b"${", b"{{", b"...", "…".encode(), "«".encode(), b"***")
_ATTRIBUTE: Final = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_PATH: Final = re.compile(rb"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\]+[a-z0-9._-]+)+/?\Z|[A-Za-z]:\\")
_WORDS: Final = re.compile(
    rb"(?:[A-Za-z]+[0-9]{0,4}|[0-9]{1,4}[A-Za-z]{0,2})(?:[._/:-]+(?:[A-Za-z]+[0-9]{0,4}|[0-9]{1,4}[A-Za-z]{0,2}))*\Z"
)
_DIGIT: Final = re.compile(rb"[0-9]")
_LETTER: Final = re.compile(rb"[A-Za-z]")
_NO_WORD: Final = re.compile(rb"[^A-Za-z_.-]")

_OPAQUE_BYTES: Final = 8
_LONG_BYTES: Final = 16
_DIGITS_ALONE: Final = 12  # shorter numbers are counts, ports, years
_CAPITALS_SHARE: Final = 0.25  # CamelCase has fewer capitals, random letters have half


def refers(value: bytes) -> bool:
    """Tell whether `value` stands for something kept elsewhere, or for nothing."""
    if _CONSTANT.match(value) or any(sign in value for sign in _REFERS_INSIDE):
        return True
    return _REFERENCE.match(value) is not None


def is_path(value: bytes) -> bool:
    """Tell whether `value` reads as a path of files."""
    return _PATH.match(value) is not None


def is_attribute(value: bytes) -> bool:
    """Tell whether `value` reads as a name of code with dots."""
    return _ATTRIBUTE.match(value) is not None


def opaque(value: bytes) -> bool:
    """Tell whether `value` has no pattern of words, numbers or dates: what generators of secrets make."""
    if len(value) < _OPAQUE_BYTES:
        return False
    if not _DIGIT.search(value):
        return len(value) >= _LONG_BYTES and is_mixed(value)
    if not _LETTER.search(value):
        return value.isdigit() and len(value) >= _DIGITS_ALONE
    return _WORDS.match(value) is None


def likely(value: bytes) -> bool:
    """Tell whether `value` may be a credential where one is expected: any digit, sign or mixture will do."""
    return _DIGIT.search(value) is not None or any(sign in value for sign in b"+/=~!@#%^*") or is_mixed(value)


def has_sign(value: bytes) -> bool:
    """Tell whether `value` holds anything but letters and what joins words."""
    return _NO_WORD.search(value) is not None


def is_long_word(value: bytes) -> bool:
    """Tell whether `value` is letters without a break, more than words of one language commonly have."""
    return len(value) >= _LONG_BYTES and value.isalpha()


def is_number(value: bytes) -> bool:
    """Tell whether `value` is a number too short for a secret."""
    return value.replace(b".", b"").isdigit() and len(value) < _DIGITS_ALONE


def is_mixed(value: bytes) -> bool:
    """Tell whether capitals and small letters stand in `value` as in random letters."""
    capitals = sum(65 <= byte <= 90 for byte in value)  # noqa: PLR2004 - A to Z
    small = sum(97 <= byte <= 122 for byte in value)  # noqa: PLR2004 - a to z
    return min(capitals, small) >= max(2, _CAPITALS_SHARE * len(value))
