"""Denials over parsed commands (`deny_commands`).

A denial is a pattern of words (`git push *`); it fits whatever could be that command, so a word that is not known fits
anything, and what cannot be told apart from it is denied too (fail closed): options in whatever spelling, options with
or without a value before a sub-command, and the command behind any program that may run it.
"""

import fnmatch
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from host.policy.shell import git
from host.policy.shell.analysis import Analysis
from host.policy.shell.launching import behind, names_in
from host.policy.shell.word import Word, has_mark
from host.policy.shell.wrappers import base_name

_MOST_OPTIONS: Final = 12  # before a sub-command that are tried with and without a value
# Programs of which each operand is a command of its own.
_TARGETS: Final = frozenset({"make", "gmake", "ninja", "just", "task", "rake", "ant", "gradle", "gradlew", "mvn"})
# One program under several names.
_NAMES: Final = (
    (re.compile(r"pip\d[\d.]*"), "pip"),
    (re.compile(r"python[\d.]+"), "python"),
    (re.compile(r"gmake"), "make"),
    (re.compile(r"nodejs"), "node"),
    (re.compile(r"grm"), "rm"),
)
# Long names of short options, where the first letter does not tell.
_LONG: Final[dict[str, dict[str, str]]] = {
    "git": {"f": "force", "d": "delete", "D": "delete", "m": "message", "a": "all", "n": "dry-run"},
    "rm": {"R": "recursive"},
    "chmod": {"R": "recursive"},
    "chown": {"R": "recursive"},
}
_SAME_LETTER: Final = {("rm", "R"): "r", ("cp", "R"): "r"}
_LEAST_ABBREVIATION: Final = 3  # characters of `--re`, the least that is taken for the beginning of a long option
_ALIAS: Final = re.compile(r"alias\.[\w-]+=(.*)", re.DOTALL)


def denied_by(patterns: Iterable[str], analysis: Analysis) -> str | None:
    """Return the first pattern that fits a command of a text, None when none does (`deny_commands`)."""
    fitting = Fitting(analysis)
    return next((pattern for pattern in patterns if fitting.fits(pattern)), None)


class Fitting:
    """The commands of one text, held against any number of patterns."""

    def __init__(self, analysis: Analysis) -> None:
        self._commands = [command.words for command in analysis.commands if command.words]

    def fits(self, pattern: str) -> bool:
        """Whether a command is, or could be, one that a pattern's words name.

        `*` at the end fits any rest, also none; elsewhere it fits within one word. Options in the pattern may stand
        anywhere; its other words have to be the command's first operands in that order.
        """
        words = pattern.split()
        if not words:
            return False
        names = {name for name in self._names if _is_name(words[0], name)}
        return any(
            _words_fit(words, form)
            for command in self._commands
            for each in (command, *(behind(command, names.__contains__) if names else ()))
            for form in _forms(each)
        )

    @cached_property
    def _names(self) -> set[str]:
        return {name for command in self._commands for name in names_in(command)}


def _is_name(wanted: str, name: str) -> bool:
    return any(fnmatch.fnmatchcase(each, _plain(wanted)) for each in {name, _one_name(name)})


def _forms(words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """Return what a command could be: itself, and with the options before its sub-command taken out."""
    own = base_name(words[0].text)
    forms: list[tuple[Word, ...]] = []
    for name in dict.fromkeys((own, _one_name(own))):
        named = (Word(name, words[0].known), *words[1:])
        forms += [named, *_sub_commands(named)]
        if name == "python" and (at := next((at for at, word in enumerate(words) if word.text == "-m"), 0)):
            forms += _forms(words[at + 1 :]) if at + 1 < len(words) else []
        if name == "git":
            forms += [(named[0], *git.without_globals(named)[1]), *_git_aliases(named)]
    return forms


def _one_name(name: str) -> str:
    return next((one for form, one in _NAMES if form.fullmatch(name)), name)


def _sub_commands(words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """Return the command from each word on that may be its sub-command: an option before it may take a value or not."""
    forms: list[tuple[Word, ...]] = []
    for at, word in enumerate(words[1:], 1):
        if len(forms) > _MOST_OPTIONS:
            break
        if _is_option(word):
            continue
        forms.append((words[0], *words[at:]))
        may_be_value = at > 1 and words[at - 1].text.startswith("-") and "=" not in words[at - 1].text
        if not may_be_value and words[0].text not in _TARGETS:
            break
    return forms


def _is_option(word: Word) -> bool:
    """Whether a word is none of a command's operands: an option, a toolchain (`+nightly`), a variable for make."""
    return word.text[:1] in {"-", "+"} or bool(re.match(r"[A-Za-z_]\w*=", word.text))


def _git_aliases(words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    found = [match[1] for word in words[1:] if (match := _ALIAS.search(word.text))]
    return [(words[0], *(Word(part) for part in text.lstrip("!").split())) for text in found[:_MOST_OPTIONS]]


def _words_fit(pattern: Sequence[str], words: tuple[Word, ...]) -> bool:
    """Match from left to right; an option of the command that the pattern does not name is passed over."""
    name, open_end = words[0].text, len(pattern) > 1 and pattern[-1] == "*"
    options = [wanted for wanted in pattern[1:] if wanted.startswith("-")]
    if not all(_option_fits(name, wanted, words[1:]) for wanted in options):
        return False
    operands = [word for word in words if not _passed_over(word)]
    wanted_operands = [wanted for wanted in (pattern[:-1] if open_end else pattern) if wanted not in options]
    if len(operands) < len(wanted_operands) or (len(operands) > len(wanted_operands) and not open_end):
        return False
    return all(_word_fits(wanted, word) for wanted, word in zip(wanted_operands, operands, strict=False))


def _passed_over(word: Word) -> bool:
    return word.text.startswith("-") and len(word.text) > 1


def _option_fits(name: str, wanted: str, words: Sequence[Word]) -> bool:
    """Whether an option of a pattern stands among a command's words, in whatever spelling."""
    if any(_word_fits(wanted, word) for word in words):
        return True
    given = [word.text for word in words if _passed_over(word) and word.text != "--"]
    if wanted.startswith("--"):
        return any(_is_long(name, wanted[2:].rstrip("*").rstrip("="), text) for text in given)
    letters = [_SAME_LETTER.get((name, letter), letter) for letter in wanted[1:]]
    return letters != [] and all(any(_spells(name, letter, text) for text in given) for letter in letters)


def _is_long(name: str, wanted: str, text: str) -> bool:
    """Whether an option is `--wanted`, abbreviated, or by its letter among others."""
    if text.startswith("--"):
        spelt = text[2:].partition("=")[0]
        return len(spelt) >= min(_LEAST_ABBREVIATION, len(wanted)) and wanted.startswith(spelt)
    letter = next((each for each, long in _LONG.get(name, {}).items() if long == wanted), wanted[:1])
    return letter in text[1:]


def _spells(name: str, letter: str, text: str) -> bool:
    """Whether an option is, or holds, a letter, as itself or by its long name."""
    if not text.startswith("--"):
        return any(_SAME_LETTER.get((name, each), each) == letter for each in text[1:])
    spelt, long = text[2:].partition("=")[0], _LONG.get(name, {}).get(letter, "")
    return long.startswith(spelt) if long else spelt[:1] == letter.lower()


def _word_fits(wanted: str, word: Word) -> bool:
    return fnmatch.fnmatchcase(word.text, _plain(wanted)) or _open(word)


def _plain(wanted: str) -> str:
    return wanted.replace("[", "[[]")


def _open(word: Word) -> bool:
    """Whether a word could be anything."""
    return not word.known and (has_mark(word.text) or any(char in word.text for char in "*?["))
