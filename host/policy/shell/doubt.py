"""What cannot be told from the floor: asked about in every mode, as the floor itself is refused in every mode (POL-4).

A program that removes, or makes a file system, may be pointed at a root by text that is not known; a shell or an
interpreter that is fed such text may do anything. Only what would be on the floor if the text said so counts: a name
that is not known behind a folder that is (`build/$x`) is taken to stay in it.
"""

import itertools
import re
from typing import Final

from host.policy.shell.floor import find_roots, narrowed_by_name, operands, recursive, whole
from host.policy.shell.rights import INTERPRETERS
from host.policy.shell.word import MARKS, NUMBER, Word, has_mark
from host.policy.shell.wrappers import RAISING, SHELLS, base_name

_REMOVING: Final = frozenset({"rm", "grm", "srm", "wipe", "trash"})
_ALWAYS_RECURSIVE: Final = frozenset({"srm", "wipe", "trash"})
_RAW: Final = frozenset({"shred", "wipefs", "blkdiscard", "badblocks"})
_OFS: Final = frozenset({"dd", "dcfldd", "dc3dd"})
_MARK: Final = re.compile("[" + "".join(mark for mark in MARKS if mark != NUMBER) + "]+")
_START_SHELLS: Final = frozenset({"setarch", "linux32", "linux64", "i386", "x86_64", "unshare", "chroot", "fakeroot"})
_PROGRAM_OPTIONS: Final = frozenset({"-c", "-e", "-r", "-E", "--eval", "-p", "eval"})


def doubt_of(words: tuple[Word, ...], cwd: str) -> str:
    """Return why a command cannot be told from the floor, "" when it can."""
    name = base_name(words[0].text)
    rest, texts = words[1:], [word.text for word in words[1:]]
    if name in _REMOVING and _removes_unknown(name, rest, cwd):
        return f"what {name} removes is not known"
    if name == "hash" and any(re.match(r"-\w*p", text) for text in texts):
        return "hash changes what a name runs"
    if name == "find" and _find_removes_unknown(texts, cwd):
        return "what find removes is not known"
    if name == "rsync" and any(text.startswith("--del") for text in texts):
        return "what rsync removes is not known" if could_be_whole((operands(texts) or [""])[-1], cwd) else ""
    if (name in _RAW and any(_MARK.match(text) for text in operands(texts))) or (
        name in _OFS and any(text.startswith("of=") and _could_be_device(text[3:]) for text in texts)
    ):
        return f"what {name} overwrites is not known"
    if (name in SHELLS and rest and _is_open(rest[0])) or (INTERPRETERS.fullmatch(name) and _program_is_open(words)):
        return f"what {name} runs is not known"
    return ""


def fed_blindly(words: tuple[Word, ...]) -> bool:
    """Whether a command runs what it is given as input."""
    name, texts = base_name(words[0].text), [word.text for word in words[1:]]
    operand = next((text for text in texts if not text.startswith("-") or text == "-"), "")
    if name in SHELLS:
        return "-s" in texts or (operand in {"", "-", "/dev/stdin"} and not any(_takes_text(text) for text in texts))
    if name == "crontab":
        return "-" in texts or not (operand or {"-l", "-r", "-e"}.intersection(texts))
    if name in _START_SHELLS:
        return not operands(texts)
    if name in RAISING:  # a shell with raised rights, when it is told no command
        return not any(text.startswith(("-c", "--command", "-l", "-v", "-k", "-K")) for text in texts)
    if not INTERPRETERS.fullmatch(name) or re.match(r"[gm]?awk", name):
        return False
    asks = {"--version", "-V", "--help", "-h", "-v"}.intersection(texts)
    return operand in {"", "-", "/dev/stdin"} and not asks and not _gives_program(texts)


def could_be_whole(text: str, cwd: str) -> bool:
    """Whether a path with a stretch that is not known may be all of a root or a home, the empty text among others."""
    found = _MARK.search(text)
    if found is None:
        return bool(_MARK.search(cwd)) and could_be_whole(cwd, "") and whole(text, "/")
    before, behind = text[: found.start()], _MARK.sub("", text[found.end() :])
    if (before or behind.strip("/")) and whole(before + behind, cwd):
        return True
    return (not before or whole(before, cwd)) and whole(f"/{behind}", "")


def _removes_unknown(name: str, rest: tuple[Word, ...], cwd: str) -> bool:
    texts = [word.text for word in rest]
    loose = any(word.could_be_several and word.text[:1] in MARKS for word in rest)  # an option may be in it
    if not (loose or name in _ALWAYS_RECURSIVE or recursive(texts)):
        return False
    return any(could_be_whole(each, cwd) for each in operands(texts))


def _find_removes_unknown(texts: list[str], cwd: str) -> bool:
    removes = "-delete" in texts or any(
        text in {"-exec", "-execdir", "-ok", "-okdir"} and base_name(behind) in _REMOVING
        for text, behind in itertools.pairwise(texts)
    )
    if not removes or narrowed_by_name(texts):
        return False
    return any(whole(root, cwd) or could_be_whole(root, cwd) for root in find_roots(texts))


def _program_is_open(words: tuple[Word, ...]) -> bool:
    """Whether an interpreter is given a program of which nothing is known."""
    return any(
        before.text in _PROGRAM_OPTIONS and has_mark(word.text) and not _MARK.sub("", word.text).strip()
        for before, word in itertools.pairwise(words)
    )


def _could_be_device(text: str) -> bool:
    found = _MARK.search(text)
    return found is not None and ("/dev/".startswith(text[: found.start()]) or text.startswith("/dev/"))


def _is_open(word: Word) -> bool:
    return not word.known and bool(_MARK.match(word.text)) and not word.text.startswith(MARKS[1])


def _takes_text(text: str) -> bool:
    return bool(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*|--command|--version|--help", text))


def _gives_program(texts: list[str]) -> bool:
    return any(re.match(r"-\w*[cemr]|--eval|--print|-p", text) for text in texts)
