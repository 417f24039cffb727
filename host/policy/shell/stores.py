"""Which of the shell's own commands set variables by name, and which of their words name these: the one list.

Whether such a command only reads, what its variables may hold behind it, and whether it rules the commands of a grant
is asked here alike. What is assigned by signs (`x=`, arithmetic, loops, `{x}>file`) is followed where it stands.
"""

import re
from collections.abc import Callable
from typing import Final

from host.policy.shell.options import is_quoted, may_be_option, options_of, split
from host.policy.shell.word import Word, has_mark

_READ: Final = options_of("rsea:d:i:n:N:p:t:u:")
_MAPFILE: Final = options_of("d:n:O:s:tu:")
_UNSET: Final = options_of("vf")
_WAIT: Final = options_of("fnp:")
_ARRAY: Final = re.compile(r"-[rse]*a")
# A format of which every conversion prints: `%n` stores how much was printed so far, `%ln` and its like do as well.
_PRINTING: Final = re.compile(
    r"(?:[^%]|%%|%[-+ #0']*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[hlLjtz]*[diouxXeEfFgGaAcsbqQ]"
    r"|%[-+ #0']*\d*\([^()%]*(?:%[A-Za-z%][^()%]*)*\)T)*+"
)


def stored(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """Return the words that name the variables which a command sets; None where it may set others."""
    find = _FINDERS.get(words[0].text) if words else None
    return () if find is None else find(words)


def _read(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    operands, why = split("read", words[1:], _READ)
    if why or any(re.match(r"-[rse]*a.", word.text) for word in words[1:]):
        return None
    return *(words[at + 1] for at, word in enumerate(words[:-1]) if at and _ARRAY.fullmatch(word.text)), *operands


def _mapfile(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    operands, why = split("mapfile", words[1:], _MAPFILE)
    return None if why else operands


def _unset(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    operands, why = split("unset", words[1:], _UNSET)
    return None if why else operands


def _getopts(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    if len(words) < len(("getopts", "letters", "name")) or may_be_option(words[1]) or words[1].text.startswith("-"):
        return None
    return words[2:3]


def _wait(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    if all(word.source in {"$!", '"$!"'} for word in words[1:]):
        return ()
    _, why = split("wait", words[1:], _WAIT)
    if why or any(re.match(r"-[fn]*p.", word.text) for word in words[1:]):
        return None
    return tuple(words[at + 1] for at, word in enumerate(words[:-1]) if re.fullmatch(r"-[fn]*p", word.text))


def _printf(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    rest, names = words[1:], words[:0]
    if rest and rest[0].text == "-v" and rest[0].known:
        names, rest = rest[1:2], rest[2:]
    if rest and rest[0].text == "--" and rest[0].known:
        rest = rest[1:]
    elif rest and (rest[0].text.startswith("-") or (may_be_option(rest[0]) and not is_quoted(rest[0]))):
        return None
    if len(rest) > 1 and not (_is_told(rest[0]) and _PRINTING.fullmatch(rest[0].text)):
        return None
    return names


def _is_told(form: Word) -> bool:
    return not has_mark(form.text) and (form.known or is_quoted(form))


_FINDERS: Final[dict[str, Callable[[tuple[Word, ...]], tuple[Word, ...] | None]]] = {
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "getopts": _getopts,
    "unset": _unset,
    "wait": _wait,
    "printf": _printf,
}
