"""Which commands provably only read: a closed table; a program or an option outside it makes a command execute.

Three kinds of entries: programs none of whose options write or run anything, programs with the options that keep them
reading, and programs with a judge of their own (`languages`, `git`). A word that is not known may be an option only
where options matter. Programs that read what configuration in the workspace names (git's drivers, a `.ripgreprc`) count
as reading: the sandbox bounds them, and asking about every `git diff` would only teach people to agree.
"""

import re
from collections.abc import Callable
from typing import Final

from host.policy.shell import environment, git, languages
from host.policy.shell.floor import find_roots
from host.policy.shell.options import LISTED, Options
from host.policy.shell.programs import ANYTHING, LEADING_ASTRAY, LEADING_ASTRAY_SHORT, SUBCOMMANDS, VERSIONED
from host.policy.shell.word import Word, has_mark
from host.policy.shell.wrappers import system_name

_ASKING: Final = frozenset({"--version", "-V", "--help", "-version"})
_WITH_ONE: Final = 2  # words: a name and one argument
_FIND_EXECUTES: Final = re.compile(r"-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)")
_COMPOSITE: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})  # judged by what they run


def why_not_reading(words: tuple[Word, ...]) -> str:
    """Return "" when a command provably only reads, else what keeps it from that, in words."""
    name = system_name(words[0].text)
    judge = _JUDGES.get(name)
    if judge is not None:
        return judge(words)
    if name in ANYTHING or (name in VERSIONED and len(words) == _WITH_ONE and words[1].text in _ASKING):
        return ""
    listed = LISTED.get(name)
    if listed is not None:
        return _outside(name, words[1:], listed)
    if name in SUBCOMMANDS and _sub_command_reads(name, words[1:]):
        return ""
    return f"{name} is not known to only read"


def _sub_command_reads(name: str, words: tuple[Word, ...]) -> bool:
    if not words or not words[0].known or words[0].text not in SUBCOMMANDS[name]:
        return False
    astray = LEADING_ASTRAY_SHORT.get(name, frozenset())
    return not any(
        _may_be_option(word) or LEADING_ASTRAY.fullmatch(word.text) or word.text[:2] in astray for word in words[1:]
    )


def _outside(name: str, words: tuple[Word, ...], options: Options) -> str:
    """Return what of the words is outside the options that keep a program reading."""
    operands, at = 0, 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.text == "--":
            operands += len(words) - at
            break
        if _may_be_option(word) and (options.writing or word.text[:1] not in {"*", "?"}):
            return f"a word of {name} may turn out to be an option"
        if word.text.startswith("--"):
            long = word.text[2:].partition("=")[0]
            if not _long_reads(long, options):
                return f"{name} --{long} is not known to only read"
        elif word.text.startswith("-") and len(word.text) > 1:
            used = _letters_read(word.text[1:], options)
            if used is None:
                return f"{name} {word.text} is not known to only read"
            at += used
        else:
            operands += 1
    if options.operands is not None and operands > options.operands:
        return f"{name} with that many operands is not known to only read"
    return ""


def _may_be_option(word: Word) -> bool:
    return word.could_be_option and not word.known and not word.text.startswith("--")


def _long_reads(long: str, options: Options) -> bool:
    if long in options.longs:
        return True
    if any(each.startswith(long) for each in options.writing):
        return False  # an abbreviation counts as the option that does harm
    return len(long) > 1 and any(each.startswith(long) for each in options.longs)


def _letters_read(letters: str, options: Options) -> int | None:
    """Return how many further words a cluster of short options takes, or None when one is not listed."""
    if letters.isdigit():
        return 0  # -5: a count, in head's manner
    for at, letter in enumerate(letters):
        place = options.letters.find(letter)
        if place < 0 or letter == ":":
            return None
        if options.letters[place + 1 : place + 2] == ":":
            optional = options.letters[place + 2 : place + 3] == ":"
            return 0 if optional or at + 1 < len(letters) else 1
    return 0


def _date(words: tuple[Word, ...]) -> str:
    for at, word in enumerate(words[1:], 1):
        before = words[at - 1].text
        if not word.text.startswith(("-", "+")) and before not in {"-d", "--date", "-r", "-f", "--reference", "--file"}:
            return "date may set the clock"
    kept = tuple(word for word in words[1:] if not word.text.startswith("+"))
    return _outside("date", kept, LISTED["date"])


def _find(words: tuple[Word, ...]) -> str:
    inner = False
    for word in words[1:]:
        if inner:
            inner = word.text not in {";", "+"}
            continue
        if word.text in _COMPOSITE:
            inner = True
        elif _FIND_EXECUTES.fullmatch(word.text):
            return f"find {word.text} is not known to only read"
        elif word.could_be_option and not word.known and has_mark(word.text[:1]):
            return "a word of find may turn out to be an action"
    return "" if find_roots([word.text for word in words[1:]]) else "find without a start"


def _tar(words: tuple[Word, ...]) -> str:
    mode = words[1].text if len(words) > 1 else ""
    if mode == "--list":
        mode = "t"
    rest = [word.text for word in words[2:]]
    if re.fullmatch(r"-?[tvzjJfa]*t[tvzjJfa]*", mode) and not any(text.startswith("-") or ":" in text for text in rest):
        return ""
    return "tar does more than list"


def _gzip(words: tuple[Word, ...]) -> str:
    texts = [word.text for word in words[1:]]
    keeps = words[0].text.endswith("zcat") or any(
        re.match(r"-\w*[clt]|--(stdout|to-stdout|list|test)", text) for text in texts
    )
    return _outside("gzip", words[1:], LISTED["gzip"]) if keeps else "gzip replaces the file"


def _ip(words: tuple[Word, ...]) -> str:
    texts = [word.text for word in words[1:]]
    looks = {
        "a",
        "addr",
        "address",
        "l",
        "link",
        "r",
        "ro",
        "route",
        "n",
        "neigh",
        "rule",
        "show",
        "list",
        "ls",
        "dev",
        "s",
    }
    operands = [text for text in texts if not text.startswith("-")]
    fine = (
        operands[:1]
        and operands[0] in looks
        and all(o in looks or (i and operands[i - 1] in {"dev", "show"}) for i, o in enumerate(operands))
    )
    return _outside("ip", words[1:], LISTED["ip"]) if fine else "ip may change the network"


def _declaration(words: tuple[Word, ...]) -> str:
    texts = [word.text for word in words[1:]]
    if words[0].text == "shopt" and "expand_aliases" in texts:
        return "aliases change what later words mean"
    if (
        words[0].text == "set"
        and any(not text.startswith(("-", "+")) for text in texts)
        and "--" not in texts
        and "pipefail" not in texts
    ):
        return "set changes the parameters"
    return ""


def _unzip(words: tuple[Word, ...]) -> str:
    if not any(re.fullmatch(r"-[qv]*[lvZtp][qv]*", word.text) for word in words[1:]):
        return "unzip writes what it unpacks"
    return _outside("unzip", words[1:], LISTED["unzip"])


def _command(words: tuple[Word, ...]) -> str:
    asks = len(words) > 1 and bool(re.fullmatch(r"-[vV]+", words[1].text))
    return "" if asks else "command runs what it names"


def _tee(words: tuple[Word, ...]) -> str:
    operands = [word for word in words[1:] if not word.text.startswith("-") or not word.known]
    return (
        ""
        if all(word.known and word.text in {"/dev/null", "/dev/stdout", "/dev/stderr"} for word in operands)
        else "tee writes"
    )


def _hash(words: tuple[Word, ...]) -> str:
    return (
        ""
        if all(word.text in {"-r", "-t", "-l"} or not word.could_be_option for word in words[1:])
        else "hash changes what a name runs"
    )


def _setting(words: tuple[Word, ...]) -> str:
    """`read`, `printf -v` and the like: the variables they set may rule what runs."""
    name, texts = words[0].text, [word.text for word in words[1:]]
    if name == "printf" and texts[:1] != ["-v"]:
        return "" if not texts or not _may_be_option(words[1]) else "printf may set a variable"
    set_here = texts[1:2] if name == "printf" else [text for text in texts if not text.startswith("-")]
    if any(not text.isidentifier() or environment.rules(text) for text in set_here):
        return f"{name} sets a variable that changes what runs"
    return "" if name not in {"mapfile", "readarray"} else _outside(name, words[1:], LISTED[name])


_JUDGES: Final[dict[str, Callable[[tuple[Word, ...]], str]]] = {
    "command": _command,
    "tee": _tee,
    "hash": _hash,
    "printf": _setting,
    "read": _setting,
    "mapfile": _setting,
    "readarray": _setting,
    "getopts": _setting,
    "git": git.why_not_reading,
    "sed": languages.sed_writes,
    "awk": languages.awk_executes,
    "gawk": languages.awk_executes,
    "mawk": languages.awk_executes,
    "nawk": languages.awk_executes,
    "date": _date,
    "find": _find,
    "tar": _tar,
    "gzip": _gzip,
    "gunzip": _gzip,
    "ip": _ip,
    "unzip": _unzip,
    "set": _declaration,
    "shopt": _declaration,
}
