"""Denials over parsed commands (`deny_commands`).

A denial is a pattern of words (`git push *`). It fits what is that command however it is spelt (options bundled, apart,
in any order, by their long name; words moved by options; other versions of the program) and whatever runs it. A word
that is not known fits anything. Where a command may be the denied one or not, the denial may fit: a person is asked.
"""

import enum
import fnmatch
import itertools
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from host.passport import Effect
from host.policy.shell.analysis import Analysis
from host.policy.shell.command import Command
from host.policy.shell.launching import launches
from host.policy.shell.operands import GIT_FOUND, GIT_OWN, Operand, has_sub_commands, operands_of
from host.policy.shell.spelling import Spelt
from host.policy.shell.word import Word, has_mark
from host.policy.shell.wrappers import base_name

# First operands that change nothing of what the next one means.
_PASSED: Final[dict[str, frozenset[str]]] = {
    "docker": frozenset({"image", "container"}),
    "podman": frozenset({"image", "container"}),
    "nerdctl": frozenset({"image", "container"}),
    "gcloud": frozenset({"alpha", "beta"}),
    "yarn": frozenset({"npm"}),
}
# Programs each operand of which stands for itself.
_TARGETS: Final = frozenset({"make", "gmake", "ninja", "just", "rake", "gradle", "gradlew", "mvn", "mvnw", "task"})
# Programs that take an abbreviated sub-command.
_ABBREVIATE: Final = frozenset({"npm", "ip", "tmux", "hg", "nmcli"})
_VERSION: Final = re.compile(r"(?<=[A-Za-z])-?\d[\d.]*\Z")
_DASHED: Final = frozenset({"git", "docker"})
_SETTING: Final = re.compile(r"[A-Za-z_]\w*[:+?]?=|\+[\w.-]+\Z")
_MOST_VALUES: Final = 4  # options of a denial of which the next word is tried as a value too


class Fit(enum.IntEnum):
    """Whether a denial fits."""

    NO = 0
    MAY = 1  # the command may be the denied one, or run it: a person is asked
    YES = 2


class _Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A denial, read in one of its ways."""

    program: str
    literals: tuple[str, ...]  # the operands that it names, in their order
    options: tuple[str, ...]
    values: tuple[tuple[str, str], ...]  # options with the value that they must have
    rest: bool  # whether anything may follow


def fit(pattern: str, analysis: Analysis) -> Fit:
    """Return how far a pattern fits one of the commands of a text, or something around them.

    `*` at the end fits any rest, also none; elsewhere it fits within one word.
    """
    rules = _read(pattern)
    if not rules:
        return Fit.NO
    best = max((_wrapped(rules, words) for words in analysis.wrapped), default=Fit.NO)
    for command in analysis.commands:
        if best is Fit.YES or not command.words:
            continue
        best = max(best, _command(rules, command))
    return best


@lru_cache(maxsize=256)
def _read(pattern: str) -> tuple[_Rule, ...]:
    """Return the ways to read a pattern: behind an option a word may be its value or an operand."""
    program, *words = pattern.split() or [""]
    rest = words[-1:] == ["*"]
    words = words[:-1] if rest else words
    pairs = [at for at in range(len(words) - 1) if _is_option(words[at]) and not _is_option(words[at + 1])]
    rules: list[_Rule] = []
    for chosen in itertools.product((False, True), repeat=len(pairs[:_MOST_VALUES])):
        valued = {at for at, is_value in zip(pairs, chosen, strict=False) if is_value}
        rules.append(
            _Rule(
                program=base_name(program),
                literals=tuple(w for at, w in enumerate(words) if not _is_option(w) and at - 1 not in valued),
                options=tuple(w for at, w in enumerate(words) if _is_option(w) and at not in valued),
                values=tuple((words[at], words[at + 1]) for at in sorted(valued)),
                rest=rest,
            )
        )
    return tuple(rules) if program else ()


def _is_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1


def _wrapped(rules: tuple[_Rule, ...], words: tuple[Word, ...]) -> Fit:
    return max(_direct(rule, words, reads=False) for rule in rules)


def _command(rules: tuple[_Rule, ...], command: Command) -> Fit:
    reads = command.effect is Effect.READ
    if command.where.startswith("in ") and not command.words[0].known:
        return Fit.NO  # of a text in another language: what computes names there could compute any
    best = max(_direct(rule, words, reads=reads) for rule in rules for words in _forms(command.words))
    if command.perhaps:
        return min(best, Fit.MAY)
    return best if best is Fit.YES else max(best, _launched(rules, command))


def _forms(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Yield a command as it stands, and by the program whose sub-command it is: `git-push` is `git push`."""
    yield words
    program, dash, sub_command = base_name(words[0].text).partition("-")
    if dash and program in _DASHED:
        yield (Word(program), Word(sub_command), *words[1:])


def _launched(rules: tuple[_Rule, ...], command: Command) -> Fit:
    """Return how far a denial fits what a command may run of its words."""
    program, best = rules[0].program, Fit.NO
    stem = _VERSION.sub("", max(re.split(r"[*?]", program), key=len))
    if not stem or not any(stem in text for text in (*(word.text for word in command.words), command.given)):
        return best

    def named(name: str) -> bool:
        return _is_program(program, name)

    for launch in launches(command.words, named, named, command.given):
        if not launch.words:
            return max(best, Fit.MAY)
        found = max(_direct(rule, launch.words, reads=False) for rule in rules)
        if not launch.sure:
            found = Fit.MAY if found is Fit.YES else Fit.NO
        best = max(best, found)
        if best is Fit.YES:
            break
    return best


@lru_cache(maxsize=4096)
def _is_program(wanted: str, name: str) -> bool:
    """Whether a program is the one that a denial names, in whatever version."""
    if fnmatch.fnmatchcase(name, wanted.replace("[", "[[]")):
        return True
    mine, its = _VERSION.search(name), _VERSION.search(wanted)
    if (mine is None and its is None) or _VERSION.sub("", name) != _VERSION.sub("", wanted):
        return False
    one, other = (found.group().lstrip("-") if found else "" for found in (mine, its))
    return one.startswith(other) or other.startswith(one)


def _direct(rule: _Rule, words: tuple[Word, ...], *, reads: bool) -> Fit:
    """Return how far a denial fits a command as such."""
    name = base_name(words[0].text)
    if not (_is_program(rule.program, name) or _open(words[0])):
        return Fit.NO
    known = _VERSION.sub("", name)
    options = _options(rule, Spelt(known, words))
    if options is Fit.NO:
        return Fit.NO
    return min(options, _operands(rule, known, words, reads=reads))


def _options(rule: _Rule, spelt: Spelt) -> Fit:
    if not all(spelt.has_value(option, value) for option, value in rule.values):
        return Fit.NO
    if all(spelt.has(option) for option in rule.options):
        return Fit.YES
    return Fit.MAY if all(spelt.may_have(option) for option in rule.options) else Fit.NO


def _operands(rule: _Rule, name: str, words: tuple[Word, ...], *, reads: bool) -> Fit:
    operands = operands_of(name, words)
    if _in_place(rule, name, words, operands):
        return Fit.YES
    first = operands[0].word.text if operands and operands[0].sure else ""
    if name == "git" and first and first not in GIT_OWN | GIT_FOUND:
        return Fit.MAY  # an alias may be any command
    if (
        not rule.literals
        or not rule.rest
        or (has_sub_commands(name) and (reads or (name == "git" and first in GIT_OWN)))
    ):
        return Fit.NO
    left = list(rule.literals)
    for operand in operands:
        if left and _word_fits(name, left[0], operand.word):
            left.pop(0)
    return Fit.NO if left else Fit.MAY


def _in_place(rule: _Rule, name: str, words: tuple[Word, ...], operands: list[Operand]) -> bool:
    """Whether the operands that a denial names are the first of the command, in one of its readings."""
    wanted, states = rule.literals, {0: 0}  # how many of them were found, and the place of the last of these
    for operand in operands:
        passed = not operand.sure or name in _TARGETS or _is_passed(name, operand.word)
        following: dict[int, int] = {}
        for state, last in states.items():
            if state == len(wanted):
                if rule.rest or name in _TARGETS:
                    return True
                if passed:
                    following[state] = last
                continue
            if _word_fits(name, wanted[state], operand.word):
                following[state + 1] = operand.at
            if passed:
                following.setdefault(state, last)
        states = following
    done = {state: last for state, last in states.items() if state == len(wanted)}
    if rule.rest or name in _TARGETS:
        return bool(done)
    return any(_nothing_left(rule, words[last + 1 :]) for last in done.values())


def _nothing_left(rule: _Rule, words: tuple[Word, ...]) -> bool:
    """Whether a pattern without a star is all of the command: options of its own may stand behind."""
    named = (*rule.options, *(option for option, _ in rule.values))
    return not words or (bool(named) and all(any(_spells(option, word) for option in named) for word in words))


def _spells(option: str, word: Word) -> bool:
    return Spelt("", (Word(""), word)).has(option)


def _is_passed(name: str, word: Word) -> bool:
    return word.text in _PASSED.get(name, ()) or bool(_SETTING.match(word.text))


def _word_fits(name: str, wanted: str, word: Word) -> bool:
    text = word.text
    if fnmatch.fnmatchcase(text, wanted.replace("[", "[[]")) or _open(word):
        return True
    return name in _ABBREVIATE and bool(text) and wanted.startswith(text)


def _open(word: Word) -> bool:
    """Whether a word could be anything."""
    return not word.known and (has_mark(word.text) or any(char in word.text for char in "*?["))
