"""How far a standing answer for a command reaches (APR-1): exactly this one, or the same with other plain operands.

Both are told as lines of text: a grant holds such lines, and a command is covered where a line of it is held. They fit
only what is known, and only the inner command: never a shell, never a wrapper.

"Under" is no search for options that do harm, which nobody ends: the same command and options, in the same order, with
other plain operands at its end. It is there for a closed list of commands whose operands are only names of data.
"""

import re
import shlex
from collections.abc import Iterable
from typing import Final

from host.passport import Effect
from host.policy.shell.analysis import Analysis
from host.policy.shell.command import Command
from host.policy.shell.word import Word

# Commands whose operands are names of data and nothing that runs, and how many of the first operands stay as they are.
_NAMES_DATA: Final[dict[tuple[str, ...], int]] = {
    ("mkdir",): 0,
    ("rmdir",): 0,
    ("touch",): 0,
    ("git", "add"): 0,
    ("git", "checkout"): 0,
    ("git", "clone"): 0,
    ("git", "fetch"): 1,  # what a remote runs is set by its name
    ("git", "init"): 0,
    ("git", "merge"): 0,
    ("git", "mv"): 0,
    ("git", "pull"): 1,
    ("git", "push"): 1,
    ("git", "restore"): 0,
    ("git", "rm"): 0,
    ("git", "switch"): 0,
    ("git", "tag"): 0,
}
# Options of these that take no value, whatever the sub-command; the word behind any other counts as its value.
_STAND_ALONE: Final = {
    "mkdir": frozenset({"--", "-p", "-v", "-pv"}),
    "rmdir": frozenset({"--", "-p", "-v"}),
    "touch": frozenset({"--", "-c"}),
    "git": frozenset({"--", "-q", "--quiet"}),
}
# A name inside the workspace, none of whose folders is hidden or leads upwards; no option, assignment, scheme or host.
_PART: Final = r"[A-Za-z0-9_@,][A-Za-z0-9_.@,~^+-]*"
_NAME: Final = re.compile(rf"(?:\.|(?:\./)?{_PART}(?:/{_PART})*/?)")
_ADDRESS: Final = re.compile(r"https://[A-Za-z0-9][A-Za-z0-9.-]*(?:/[A-Za-z0-9_.~-]+)*/?")
_ANY_NAME: Final = "*"
_ANY_ADDRESS: Final = "https://*"


def exact(command: Command, cwd: str = "") -> str | None:
    """Return the line of this command and no other; None where not all is known or it is asked each time.

    `cwd` is the folder that the text was started in, "" the workspace's root.
    """
    if not command.words and not command.writes and not command.assignments:
        return None
    grantable = command.known and command.setting is not None and not command.once and command.floor is None
    return command.placed(cwd) if grantable else None


def under(command: Command, cwd: str = "") -> tuple[str, ...]:
    """Return the lines that this command lies under, the narrowest first; none where it is not of that kind."""
    if exact(command, cwd) is None or command.setting or command.assignments or command.where or command.writes:
        return ()
    words = command.words
    name = next((name for name in _NAMES_DATA if tuple(word.text for word in words[: len(name)]) == name), None)
    if name is None:
        return ()
    at = _operands(words, len(name)) + _NAMES_DATA[name]
    kinds = {_kind(word.text) for word in words[at:]}
    if not kinds or "" in kinds:
        return ()
    head = " ".join(shlex.quote(word.text) for word in words[:at])
    place = command.placed(cwd).removeprefix(command.text)
    wider = [kinds, {_ANY_ADDRESS, _ANY_NAME}] if name == ("git", "clone") else [kinds]
    lines = [f"{head} {' '.join(sorted(each, reverse=True))}{place}" for each in wider]
    return tuple(dict.fromkeys(lines))


def all_covered(lines: Iterable[str], analysis: Analysis, cwd: str = "") -> bool:
    """Whether every command of a text only reads or is covered by one of `lines`; nothing unclear is (APR-1)."""
    if analysis.unclear or analysis.floor is not None or analysis.once:
        return False
    held = set(lines)
    return all(
        command.effect is Effect.READ or not held.isdisjoint({exact(command, cwd), *under(command, cwd)} - {None})
        for command in analysis.commands
    )


def _operands(words: tuple[Word, ...], first: int) -> int:
    """Return where the operands begin that no option could take for its value."""
    last = max((at for at, word in enumerate(words) if word.text.startswith("-")), default=-1)
    if last < first:
        return first
    return last + 1 if words[last].text in _STAND_ALONE.get(words[0].text, ()) else last + 2


def _kind(text: str) -> str:
    """Return what stands for an operand in a line; "" for one that is not plain."""
    if _NAME.fullmatch(text):
        return _ANY_NAME
    return _ANY_ADDRESS if _ADDRESS.fullmatch(text) else ""
