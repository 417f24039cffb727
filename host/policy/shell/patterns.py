"""Denials over parsed commands (`deny_commands`).

A denial is a pattern of words (`git push *`); it fits whatever could be that command, so a word that is not known fits
anything (fail closed).
"""

import fnmatch
from collections.abc import Iterable, Sequence
from typing import Final

from host.policy.shell import git
from host.policy.shell.analysis import Analysis
from host.policy.shell.command import Command
from host.policy.shell.word import Word, has_mark
from host.policy.shell.wrappers import base_name

# Programs whose options may stand before the sub-command, and those of them that take a value (git has its own).
_GLOBALS: Final[dict[str, frozenset[str]]] = {
    "docker": frozenset({"-H", "--host", "-c", "--context", "--config", "-l", "--log-level"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "-s", "--cluster", "--user"}),
    "npm": frozenset({"--prefix", "-C", "--loglevel"}),
    "yarn": frozenset({"--cwd"}),
    "pnpm": frozenset({"-C", "--dir", "--filter"}),
    "systemctl": frozenset({"-H", "--host", "-M", "-t", "-p"}),
    "cargo": frozenset({"--config", "-C", "-Z", "--color"}),
    "pip": frozenset({"--proxy", "--log", "--timeout"}),
    "apt": frozenset({"-o", "-c", "-t"}),
    "apt-get": frozenset({"-o", "-c", "-t"}),
    "aws": frozenset({"--profile", "--region", "--output"}),
    "helm": frozenset({"-n", "--namespace", "--kube-context"}),
    "terraform": frozenset(),
    "gh": frozenset({"-R", "--repo"}),
    "make": frozenset({"-C", "-f", "-I", "-j"}),
    "go": frozenset({"-C"}),
    "uv": frozenset({"--directory", "--project"}),
    "poetry": frozenset({"-C", "--directory"}),
}


def denied_by(patterns: Iterable[str], analysis: Analysis) -> str | None:
    """Return the first pattern that fits a command of a text, None when none does (`deny_commands`)."""
    for pattern in patterns:
        words = pattern.split()
        if words and any(fits(words, command) for command in analysis.commands):
            return pattern
    return None


def fits(pattern: Sequence[str], command: Command) -> bool:
    """Whether a command is, or could be, one that a pattern's words name.

    `*` at the end fits any rest, also none; elsewhere it fits within one word. Options in the pattern may stand
    anywhere; its other words have to be the command's first operands in that order.
    """
    if not command.words:
        return False
    return any(_words_fit(pattern, form) for form in _forms(command.words))


def _forms(words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """Return a command as it stands, and with the options before its sub-command taken out."""
    named = (Word(base_name(words[0].text), words[0].known), *words[1:])
    without = _without_globals(named)
    return [named] if without is None else [named, without]


def _without_globals(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    name = words[0].text
    if name == "git":
        return (words[0], *git.without_globals(words)[1])
    values = _GLOBALS.get(name)
    if values is None:
        return None
    at = 1
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in values else 1
    return (words[0], *words[at:])


def _words_fit(pattern: Sequence[str], words: tuple[Word, ...]) -> bool:
    """Match from left to right; an option of the command that the pattern does not name is passed over."""
    at, rest = 0, False
    for place, wanted in enumerate(pattern):
        if wanted == "*" and place == len(pattern) - 1:
            rest = True
            break
        if wanted.startswith("-") and place:
            if not any(_word_fits(wanted, word) for word in words[1:]):
                return False
            continue
        while at < len(words) and place and words[at].text.startswith("-") and not _word_fits(wanted, words[at]):
            at += 1
        if at >= len(words) or not _word_fits(wanted, words[at]):
            return False
        at += 1
    left = [word for word in words[at:] if not any(_word_fits(each, word) for each in pattern if each.startswith("-"))]
    return rest or not left


def _word_fits(wanted: str, word: Word) -> bool:
    return fnmatch.fnmatchcase(word.text, wanted.replace("[", "[[]")) or _open(word)


def _open(word: Word) -> bool:
    """Whether a word could be anything."""
    return not word.known and (has_mark(word.text) or any(char in word.text for char in "*?["))
