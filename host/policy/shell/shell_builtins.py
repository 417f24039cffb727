"""Which uses of the shell's own commands only read, and which set what later words mean, or run text."""

import re
from collections.abc import Callable
from typing import Final

from host.policy.shell import environment
from host.policy.shell.options import is_quoted, may_be_option, options_of, split
from host.policy.shell.stores import stored
from host.policy.shell.word import Word

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_PROGRAM: Final = re.compile(r"\w[\w.+-]*")
_SET_LETTERS: Final = re.compile(r"[-+][euxvfCo]+")
_SET_NAMES: Final = frozenset({"errexit", "nounset", "xtrace", "verbose", "noglob", "noclobber", "pipefail"})
_SHOPT: Final = frozenset({"globstar", "nullglob", "dotglob", "nocaseglob", "failglob", "extglob", "nocasematch"})
_DECLARATION: Final = re.compile(r"[-+][aAlrtuxgpfF]+")  # -i would evaluate what is assigned, -n names another variable
_SHOWS: Final = re.compile(r"-[aArtuxg]*[pfF][aArtuxgpfF]*")  # a declaration, or a function's
_TEST_SETS: Final = frozenset({"-v", "-R"})  # evaluate a subscript
_OPERATOR: Final = re.compile(r"[!=]?=|[<>]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef|a|o)|\]|\)")
_LAST: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


def _storing(words: tuple[Word, ...]) -> str:
    """Return what is wrong with the variables that a command sets."""
    names = stored(words)
    if names is None:
        return f"{words[0].text} may set a variable that is not told"
    for word in names:
        if not word.known or not _NAME.fullmatch(word.text) or environment.rules(word.text):
            return f"{words[0].text} sets a variable that may change what runs"
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


def _declaration(words: tuple[Word, ...]) -> str:
    """`export` and its like; what they assign is judged as assignments."""
    shows = any(word.known and _SHOWS.fullmatch(word.text) for word in words[1:])
    for word in words[1:]:
        name, _, _ = word.text.partition("=")
        if word.known and _DECLARATION.fullmatch(word.text):
            continue
        if not _NAME.fullmatch(name.removesuffix("+")) or (not word.known and name == word.text):
            return f"{words[0].text} may change what later words mean"
        if environment.rules(name.removesuffix("+")) and not (shows and name == word.text):
            return f"{words[0].text} sets {name}, which may change what runs"
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


JUDGES: Final[dict[str, Callable[[tuple[Word, ...]], str]]] = {
    "command": _command,
    "tee": _tee,
    "hash": _hash,
    "printf": _storing,
    "read": _storing,
    "mapfile": _storing,
    "readarray": _storing,
    "getopts": _storing,
    "unset": _storing,
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
    "wait": _storing,
}
