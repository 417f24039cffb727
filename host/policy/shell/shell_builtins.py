"""Which uses of the shell's own commands only read, and which set what later words mean, or run text."""

import re
from collections.abc import Callable
from typing import Final

from host.policy.shell import environment
from host.policy.shell.options import Options, is_quoted, may_be_option, options_of, split
from host.policy.shell.programs import LISTED
from host.policy.shell.word import Word, has_mark

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_PROGRAM: Final = re.compile(r"\w[\w.+-]*")
_SET_LETTERS: Final = re.compile(r"[-+][euxvfCo]+")
_SET_NAMES: Final = frozenset({"errexit", "nounset", "xtrace", "verbose", "noglob", "noclobber", "pipefail"})
_SHOPT: Final = frozenset({"globstar", "nullglob", "dotglob", "nocaseglob", "failglob", "extglob", "nocasematch"})
_STORES: Final = re.compile(r"%[^%A-Za-z]*n")
_DECLARATION: Final = re.compile(r"[-+][aAlrtuxgpfF]+")  # -i would evaluate what is assigned, -n names another variable
_READ: Final = options_of("rsea:d:i:n:N:p:t:u:")
_TEST_SETS: Final = frozenset({"-v", "-R"})  # evaluate a subscript
_OPERATOR: Final = re.compile(r"[!=]?=|[<>]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef|a|o)|\]|\)")
_LAST: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


def _names(name: str, words: tuple[Word, ...]) -> str:
    """Return what is wrong with words that name variables to be set."""
    for word in words:
        if not word.known or not _NAME.fullmatch(word.text) or environment.rules(word.text):
            return f"{name} sets a variable that may change what runs"
    return ""


def _command(words: tuple[Word, ...]) -> str:
    asks = len(words) > 1 and words[1].known and bool(re.fullmatch(r"-[vV]", words[1].text))
    return "" if asks else "command runs what it names"


def _tee(words: tuple[Word, ...]) -> str:
    operands, why = split("tee", words[1:], options_of("ai append ignore-interrupts"))
    return why or ("" if all(word.known and word.text in _LAST for word in operands) else "tee writes")


def _hash(words: tuple[Word, ...]) -> str:
    fine = all(word.known and (word.text in {"-r", "-t", "-l"} or _PROGRAM.fullmatch(word.text)) for word in words[1:])
    return "" if fine else "hash changes what a name runs"


def _printf(words: tuple[Word, ...]) -> str:
    rest = words[1:]
    if rest and rest[0].text == "-v" and rest[0].known:
        if why := _names("printf", rest[1:2]):
            return why
        rest = rest[2:]
    elif rest and rest[0].text == "--" and rest[0].known:
        rest = rest[1:]
    elif rest and (rest[0].text.startswith("-") or _may_come_to_more(rest[0])):
        return "printf may set a variable"
    values = rest[1:]
    if values and (has_mark(rest[0].text) or not (rest[0].known or is_quoted(rest[0]))):
        return "what printf prints, or sets, is not known"
    return "printf sets a variable" if rest and _STORES.search(rest[0].text) else ""


def _may_come_to_more(word: Word) -> bool:
    return may_be_option(word) and not is_quoted(word)


def _read(words: tuple[Word, ...]) -> str:
    operands, why = split("read", words[1:], _READ)
    arrays = tuple(words[at + 1] for at, word in enumerate(words[:-1]) if at and re.fullmatch(r"-[rse]*a", word.text))
    joined = any(re.match(r"-[rse]*a.", word.text) for word in words[1:])
    return why or ("read sets a variable" if joined else "") or _names("read", (*arrays, *operands))


def _mapfile(words: tuple[Word, ...]) -> str:
    operands, why = split("mapfile", words[1:], LISTED["mapfile"])
    return why or _names("mapfile", operands)


def _getopts(words: tuple[Word, ...]) -> str:
    if len(words) < len(("getopts", "letters", "name")) or may_be_option(words[1]) or words[1].text.startswith("-"):
        return "getopts may set a variable"
    return _names("getopts", words[2:3])


def _unset(words: tuple[Word, ...]) -> str:
    options: Options = options_of("vf")
    operands, why = split("unset", words[1:], options)
    return why or _names("unset", operands)


def _declaration(words: tuple[Word, ...]) -> str:
    """`export` and its like; what they assign is judged as assignments."""
    for word in words[1:]:
        name, _, _ = word.text.partition("=")
        if word.known and _DECLARATION.fullmatch(word.text):
            continue
        if not _NAME.fullmatch(name.removesuffix("+")) or (not word.known and name == word.text):
            return f"{words[0].text} may change what later words mean"
        if environment.rules(name.removesuffix("+")) and name != word.text:
            return f"{name} changes what runs"
    return ""


def _set(words: tuple[Word, ...]) -> str:
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if not word.known:
            return "set changes how the shell reads"
        if word.text == "--":
            return ""
        if not _SET_LETTERS.fullmatch(word.text):
            return "set changes the parameters, or how the shell reads"
        if "o" in word.text and at < len(words):
            if not words[at].known or words[at].text not in _SET_NAMES:
                return "set changes how the shell reads"
            at += 1
    return ""


def _shopt(words: tuple[Word, ...]) -> str:
    for word in words[1:]:
        if not word.known or word.text not in {"-s", "-u", "-q", "-p", *_SHOPT}:
            return "shopt changes how the shell reads"
    return ""


def _test(words: tuple[Word, ...]) -> str:
    for word, follows in zip(words[1:], (*words[2:], None)[: len(words) - 1], strict=True):
        if word.text in _TEST_SETS and (follows is None or not follows.known or not _NAME.fullmatch(follows.text)):
            return "test may evaluate a subscript"
        before_operator = follows is None or (follows.known and _OPERATOR.fullmatch(follows.text))
        if may_be_option(word) and not (is_quoted(word) and before_operator):
            return "a word of test may turn out to be an operator"
    return ""


def _history(words: tuple[Word, ...]) -> str:
    return "" if all(word.known and word.text.isdigit() for word in words[1:]) else "history may write its file"


def _wait(words: tuple[Word, ...]) -> str:
    fine = all(word.known and re.fullmatch(r"-n|%?\d+", word.text) for word in words[1:])
    return "" if fine or all(word.source in {"$!", '"$!"'} for word in words[1:]) else "wait may set a variable"


JUDGES: Final[dict[str, Callable[[tuple[Word, ...]], str]]] = {
    "command": _command,
    "tee": _tee,
    "hash": _hash,
    "printf": _printf,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "getopts": _getopts,
    "unset": _unset,
    "declare": _declaration,
    "typeset": _declaration,
    "local": _declaration,
    "export": _declaration,
    "readonly": _declaration,
    "set": _set,
    "shopt": _shopt,
    "test": _test,
    "[": _test,
    "history": _history,
    "wait": _wait,
}
