"""Commands that stand behind a program which may run them, whatever program that is (POL-4, POL-9, `deny_commands`).

Nobody lists all programs that run another: `setarch`, `prlimit`, `docker exec`, `tmux new`, the next one. So what runs
none of its operands is the closed list here, and behind any other program the name of a command counts as that command.
It finds too much rather than too little, and serves refusals and questions alone, never a permission.
"""

import re
from collections.abc import Callable
from typing import Final

from host.policy.shell.programs import ANYTHING, FREE, LISTED
from host.policy.shell.word import Word
from host.policy.shell.wrappers import base_name, system_name

MOST: Final = 8  # commands behind one program that are looked at
_MOST_WORDS: Final = 60  # of a command that stands inside a word
_RUNS_NONE: Final = frozenset(
    """
    alias apk apropos apt apt-cache apt-get basename brew bzip2 cargo chgrp chmod chown cp curl dd dig dirname dnf dpkg
    gh gunzip gzip help host info install kill killall ln logger man mkdir mkfifo mktemp mv node nslookup pacman pip
    pip3 pkill rename rm rmdir rpm scp sftp shred shutdown sleep snap split systemctl service tar tee tldr touch
    truncate unalias unlink unset unzip wget wipefs xz yum zypper
    """.split()  # noqa: SIM905 - one list a line is not to be read
)
_RUNS: Final = frozenset({"fd", "fdfind"})  # reading programs that run what an option says
_BETWEEN: Final = re.compile(r"[\s=:,;'\"`()|&{}<>\[\]!]+")


def behind(words: tuple[Word, ...], wanted: Callable[[str], bool]) -> list[tuple[Word, ...]]:
    """Return the commands with a `wanted` name that a command may run, by its words or inside of one of them."""
    name = system_name(words[0].text)
    if not _may_run(name):
        return []
    found = _inside(words[0], wanted) if _BETWEEN.search(name) else []  # no name, but a text that something runs
    for at, word in enumerate(words[1:], 1):
        if len(found) >= MOST:
            break
        if _is(word.text, wanted):
            found.append((Word(base_name(word.text), word.known), *words[at + 1 :]))
        elif len(word.text) > 2 and _BETWEEN.search(word.text):  # noqa: PLR2004 - two characters hold no two words
            found += _inside(word, wanted)
    return found


def names_in(words: tuple[Word, ...]) -> set[str]:
    """Return every name that `behind` could find in a command."""
    parts = (part for word in words for part in (word.text, *_BETWEEN.split(word.text)))
    return {base_name(part) for part in parts}


def _is(text: str, wanted: Callable[[str], bool]) -> bool:
    """Whether a word names a wanted program of the system; a file of another folder is none."""
    name = base_name(text)
    return wanted(name) and system_name(text) == name


def _may_run(name: str) -> bool:
    if name in _RUNS:
        return True
    listed = name in ANYTHING or name in FREE or name in LISTED or name in _RUNS_NONE
    return not listed and base_name(name) != "git"  # its options that run something are looked at apart


def _inside(word: Word, wanted: Callable[[str], bool]) -> list[tuple[Word, ...]]:
    parts = [part for part in _BETWEEN.split(word.text) if part]
    places = [at for at, part in enumerate(parts) if _is(part, wanted)][:MOST]
    return [(Word(base_name(parts[at])), *(Word(part) for part in parts[at + 1 : at + _MOST_WORDS])) for at in places]
