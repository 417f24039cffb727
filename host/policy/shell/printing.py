"""What the commands print whose output a text itself tells: the shell's own, and a few that give a name or a number.

Whatever is not worked out here is unknown text. It knows words with marks, and no shell.
"""

import re
from typing import Final

from host.policy.shell.word import NAMED, NUMBER, SPLITS, UNKNOWN

_MOST_ROUNDS: Final = 64  # of a printf's format
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_LETTERS: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}
_COUNTING: Final = re.compile(r"-[clmw]|--(?:bytes|chars|lines|words)")
_DATE: Final = re.compile(r"\+%[A-Za-z][\w%:.]*(?:-[\w%:.]+)*")
_SECONDS: Final = re.compile(r"\+%[smdHMSYyjuN]+")
_REVISION: Final = re.compile(r"(?:HEAD|@|[A-Za-z]\w*)[\w~^/.]*")
_FIXED: Final = frozenset({"whoami", "hostname", "uname", "arch", "tty", "date"})  # without words: of the machine
_PROGRAM: Final = re.compile(r"\w[\w.+-]*")
_PAIR: Final = 2


def printed_by(words: list[str], *, known: bool, alone: bool) -> str:
    """Return what a command prints, with marks; `alone` is one that no pipe gives anything.

    A name or a number is told of the commands of which every word is known, so that no word is an option unseen.
    """
    name, *rest = words or [""]
    if alone and name == "echo":
        return echoed(rest)
    if alone and name == "printf":
        return printed(rest)
    if not known:
        return UNKNOWN
    return NUMBER if _counts(name, rest) else _named(name, rest) if alone else UNKNOWN


def _counts(name: str, rest: list[str]) -> bool:
    """Whether a command prints a whole number and nothing else."""
    match name, rest:
        case "wc", [option]:
            return bool(_COUNTING.fullmatch(option))
        case (("grep" | "egrep" | "fgrep"), ["-c", *words]) if len(words) in {1, 2}:  # of one file at most
            return not any(text.startswith("-") for text in words)
        case ("nproc", []) | ("id", ["-u" | "-g"]):
            return True
        case "date", [form]:
            return bool(_SECONDS.fullmatch(form))
        case "seq", [*numbers]:
            return bool(numbers) and all(text.isdigit() for text in numbers)
        case _:
            return False


def _named(name: str, rest: list[str]) -> str:
    """Return a mark for what a command prints, where it is a name that no option looks like."""
    match name, rest:
        case "date", [form] if _DATE.fullmatch(form):
            return NAMED
        case "pwd", [] | ["-P"]:
            return f".{SPLITS}"
        case "mktemp", _ if all(text in {"-d", "-q", "-u", "--directory"} for text in rest):
            return f"/tmp/{NAMED}"  # noqa: S108 - where it makes them
        case "which", [program] if _PROGRAM.fullmatch(program):
            return NAMED
        case "git", ["rev-parse", *asked]:
            return _revision(asked)
        case "git", ["merge-base", *names] if len(names) == _PAIR and all(map(_REVISION.fullmatch, names)):
            return NAMED
        case _:
            return NAMED if name in _FIXED and not rest else UNKNOWN


def _revision(asked: list[str]) -> str:
    if asked == ["--show-toplevel"]:
        return f"{NAMED}{SPLITS}"
    names = [text for text in asked if text not in {"--short", "--verify", "--abbrev-ref"}]
    return NAMED if len(names) == 1 and _REVISION.fullmatch(names[0]) else UNKNOWN


def decoded(text: str) -> str:
    """Undo the escapes of `$'…'`, `echo -e` and `printf`."""

    def char(found: re.Match[str]) -> str:
        for digits in found.groups()[:3]:
            if digits:
                return chr(min(int(digits, 16), 0x10FFFF))
        if found[4]:
            return chr(int(found[4], 8) & 0xFF)
        return chr(ord(found[5]) & 0x1F) if found[5] else _LETTERS.get(found[6], found[6])

    return _ESCAPE.sub(char, text)


def echoed(words: list[str]) -> str:
    """Return what `echo` prints, its newline left out."""
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escapes |= "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    return decoded(text) if escapes else text


def printed(words: list[str]) -> str:
    """Return what `printf` prints where its format is plain, a mark elsewhere."""
    if not words or words[0].startswith("-"):
        return UNKNOWN
    form, values = decoded(words[0]), words[1:]
    if "%" not in form:
        return form
    if set(re.findall(r"%(.?)", form)) <= {"s", "b"}:
        pieces = form.replace("%b", "%s").split("%s")
        rounds = max(1, -(-len(values) // (len(pieces) - 1)))
        text = "".join(
            piece + (values.pop(0) if values and at < len(pieces) - 1 else "")
            for _ in range(min(rounds, _MOST_ROUNDS))
            for at, piece in enumerate(pieces)
        )
        return decoded(text)
    return UNKNOWN
