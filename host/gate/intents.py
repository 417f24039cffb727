"""What a command sets out to do, command by command, so that a no is not asked for again in other words (APR-2).

An intent is an effect and a target. One of a command is its real name with its operands, paths in one spelling; what a
redirection or `tee` writes to is the intent of a file tool that writes there. Options, wrappers, folders, variables and
whatever else stands in the text around it make it no other.
"""

import hashlib
import re
import shlex
from collections.abc import Iterator
from typing import Final

from host.gate.stages import Registered
from host.passport import Effect
from host.policy.shell.analysis import Analysis
from host.policy.shell.command import Command, Once
from host.policy.shell.reading import why_not_reading
from host.policy.shell.rights import INTERPRETERS
from host.policy.shell.setting import joined, normal
from host.policy.shell.word import Word, has_mark
from host.policy.shell.wrappers import SHELLS, base_name
from host.record.events import Intent
from host.tools.names import escaped

ASKED: Final = "approval:"
_RAISED: Final = "with raised rights: "
_TELLS_NO_PATH: Final = re.compile(r"\s")
# What only says how. An option that holds more than a name and a value in plain characters may be a program or a text.
_OPTION: Final = re.compile(r"-[\w.,:@%+/-]+|--[\w-]+(?:=[\w.,:@%+/=-]*)?")


def started_in(registered: Registered) -> str:
    """Return the folder that a shell text is started in, "" the workspace's root."""
    passport = registered.passport
    value = getattr(registered.arguments, min(passport.paths), "") if passport.command and passport.paths else ""
    return joined("", value) if isinstance(value, str) else ""


def contained(registered: Registered) -> tuple[Intent, ...]:
    """Return every intent that a call has: of its single commands, where they can be told, and else of the whole."""
    effect, analysis = registered.passport.effect.value, registered.analysis
    found: list[Intent] = []
    if analysis is None or analysis.unclear:
        found = [(effect, target) for target in (registered.target, registered.within) if target]
    elif registered.hosts:
        found = [(effect, registered.target)]
    if analysis is not None:
        cwd = started_in(registered)
        for command in _grave(analysis):
            found += [*_deeds(command, cwd), *_writes(command, cwd)]
    return tuple(dict.fromkeys(found))


def refused_with(registered: Registered, rule: str) -> tuple[Intent, ...]:
    """Return the intents of single commands that a no to the call is a no to; none where `rule` is no question.

    Where the model is told how it may say or do it better (plainly, without raised rights, without a host), only what
    it was told that about is refused.
    """
    analysis = registered.analysis
    if analysis is None or not rule.startswith(ASKED) or analysis.unclear or registered.hosts:
        return ()
    cwd, found = started_in(registered), list[Intent]()
    for command in _grave(analysis):
        if analysis.once and not command.once:
            continue
        deeds = _deeds(command, cwd)
        if Once.RAISES_RIGHTS in command.once:
            deeds = [deed for deed in deeds if deed[1].startswith(_RAISED)]
        found += deeds or _writes(command, cwd)
    return tuple(dict.fromkeys(found))


def _grave(analysis: Analysis) -> list[Command]:
    return [command for command in analysis.commands if command.effect is not Effect.READ] or [*analysis.commands]


def _deeds(command: Command, cwd: str) -> list[Intent]:
    """Return what a command does by its name, where that is more than printing what is then written."""
    words = command.words
    if not words or (command.writes and not why_not_reading(words)) or _writes_only(words):
        return []
    folder, name = joined(cwd, command.folder), base_name(words[0].text)
    text = " ".join(shlex.quote(each) for each in (name, *(_operand(word, folder) for word in _operands(words))))
    if (INTERPRETERS.fullmatch(name) or name in SHELLS) and all(word.text.startswith("-") for word in words[1:]):
        told = command.given or "".join(command.setting or ())  # what it runs is what it reads
        text += f" < {hashlib.blake2b(told.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"
    text = escaped(f"{command.where}: {text}" if command.where else text)
    effect = Effect.EXECUTE.value
    raised = [(effect, f"{_RAISED}{text}")] if Once.RAISES_RIGHTS in command.once else []
    return [*raised, (effect, text)]


def _operands(words: tuple[Word, ...]) -> Iterator[Word]:
    """Yield what a command acts on: its words but for the options that stand before `--`."""
    ended = False
    for word in words[1:]:
        if ended or not word.known or not _OPTION.fullmatch(word.text):
            if word.text != "--" or ended:
                yield word
            ended |= word.text == "--"


def _writes(command: Command, cwd: str) -> list[Intent]:
    folder = joined(cwd, command.folder)
    targets = [*command.writes]
    if _writes_only(command.words):
        targets += [word for word in command.words[1:] if not word.text.startswith("-")]
    return [
        (Effect.WRITE.value, escaped(normal(folder, target.text))) for target in targets if not has_mark(target.text)
    ]


def _writes_only(words: tuple[Word, ...]) -> bool:
    return bool(words) and base_name(words[0].text) == "tee"


def _operand(word: Word, folder: str) -> str:
    if has_mark(word.text):
        return word.shown
    plain = word.text.startswith("-") or _TELLS_NO_PATH.search(word.text)
    return word.text if plain else normal(folder, word.text)
