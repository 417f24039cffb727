"""Denials and grants over parsed commands.

A denial is a pattern of words (`git push *`); it fits whatever could be that command, so a word that is not known fits
anything (fail closed). A grant fits only what is known, and only the inner command: never a shell, never a wrapper.
"""

import enum
import fnmatch
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from host.passport import Effect
from host.policy.shell import git
from host.policy.shell.analysis import Analysis
from host.policy.shell.command import Command
from host.policy.shell.word import Word, has_mark
from host.policy.shell.wrappers import base_name, system_name

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


class Reach(enum.StrEnum):
    """How far a grant goes (APR-1)."""

    EXACT = "exact"  # this target: the same command after parsing
    UNDER = "under"  # the command with its sub-command, whatever follows, without an option that executes


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A standing answer for commands, as plain data."""

    reach: Reach
    text: str  # exact: the command's canonical text; under: its name and sub-command


def grant_exact(command: Command) -> Grant | None:
    """Return the grant of this command and no other; None where a word is not known or it is asked each time."""
    grantable = command.known and not command.once and command.floor is None and bool(command.words)
    return Grant(reach=Reach.EXACT, text=command.text) if grantable else None


def grant_under(command: Command) -> Grant | None:
    """Return the grant of this command's name and sub-command; None where it has none that is plain."""
    under = _under(command)
    return None if under is None else Grant(reach=Reach.UNDER, text=under)


def covers(grant: Grant, command: Command) -> bool:
    """Whether a grant covers one command."""
    if command.floor is not None or command.once or not command.known or not command.words:
        return False
    match grant.reach:
        case Reach.EXACT:
            return command.text == grant.text
        case Reach.UNDER:
            return _under(command) == grant.text


def all_covered(grants: Sequence[Grant], analysis: Analysis) -> bool:
    """Whether every command of a text only reads or is covered by a grant; nothing unclear is (APR-1)."""
    if analysis.unclear or analysis.floor is not None or analysis.once:
        return False
    return all(
        command.effect is Effect.READ or any(covers(grant, command) for grant in grants)
        for command in analysis.commands
    )


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


def _under(command: Command) -> str | None:
    if not command.words or not command.known or command.once or command.floor is not None:
        return None
    if command.assignments or command.where or command.writes:
        return None  # these change what it does, or are something else that it does
    words = command.words
    name = system_name(words[0].text)
    inner = _without_globals((Word(name), *words[1:]))
    if (
        inner is not None
        and len(inner) < len(words)
        and name == "git"
        and any(w.text == "-c" or w.text.startswith(("--exec-path", "--config-env")) for w in words[1:])
    ):
        return None
    inner = words if inner is None else inner
    if len(inner) == 1 or inner[1].text.startswith("-") or any(_may_execute(word.text) for word in inner[1:]):
        return None
    return f"{name} {inner[1].text}"


def _may_execute(text: str) -> bool:
    """Whether an option sounds as if it ran or wrote something; the sub-command's own options are not known here."""
    return text == "-c" or (text.startswith("-") and any(part in text for part in _EXECUTING_PARTS))


_EXECUTING_PARTS: Final = [
    "exec",
    "pre",
    "pack",
    "pager",
    "command",
    "rsh",
    "hook",
    "run",
    "eval",
    "editor",
    "program",
    "plugin",
    "script",
    "shell",
    "filter",
    "ext-diff",
    "textconv",
    "output",
]
