"""Programs that only read in some orders of their words: find, tar, unzip, gzip, ip, date, xxd, man, sysctl."""

import re
from collections.abc import Callable
from typing import Final

from host.policy.shell.options import is_quoted, may_be_option, may_vanish, options_of, outside, split
from host.policy.shell.programs import LISTED, named
from host.policy.shell.word import MARKS, Word

_DATE: Final = options_of(
    "d:f:I::r:Ru date= iso-8601[= reference= rfc-email rfc-3339= utc universal file= debug resolution help version"
)
_XXD: Final = options_of("abCeEhiprduvc:g:l:n:o:s: !single !1")


def _date(words: tuple[Word, ...]) -> str:
    operands, why = split("date", tuple(word for word in words[1:] if not word.text.startswith("+")), _DATE)
    loose = any(word.text.startswith("+") and not word.known and not is_quoted(word) for word in words[1:])
    return why or ("date may set the clock" if operands or loose else "")


def _xxd(words: tuple[Word, ...]) -> str:
    spelt = tuple(Word("-p") if word.known and word.text in {"-ps", "-plain"} else word for word in words[1:])
    operands, _ = split("xxd", spelt, _XXD)
    if operands and operands[0] is not spelt[-1]:
        return "xxd writes to what stands behind the file that it reads"
    return outside("xxd", spelt, _XXD)


_FIND_VALUES: Final = named(
    """
    -maxdepth -mindepth -regextype -name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname
    -type -xtype -size -perm -user -group -uid -gid -links -inum -samefile -fstype -used -newer -anewer -cnewer
    -mtime -ctime -atime -mmin -cmin -amin -printf
    """,
)
_FIND_ALONE: Final = named(
    """
    -depth -d -xdev -mount -noleaf -warn -nowarn -daystart -follow -ignore_readdir_race -noignore_readdir_race -empty
    -executable -readable -writable -nouser -nogroup -true -false -print -print0 -ls -prune -quit ( ) ! , -not -a -and
    -o -or --version --help -version -help
    """,
)
_FIND_NEWER: Final = re.compile(r"-newer[aBcm][aBcmt]")
_FIND_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})  # judged by what they run
_FIND_BEFORE: Final = re.compile(r"-[HLP]|-O[0-3]")


def _find(words: tuple[Word, ...]) -> str:
    at = 1
    while at < len(words) and words[at].known and _FIND_BEFORE.fullmatch(words[at].text):
        at += 1
    while at < len(words) and not _is_expression(words[at]):
        if may_be_option(words[at]):
            return "a word of find may turn out to be an action"
        at += 1
    while at < len(words):
        word = words[at]
        at += 1
        if not word.known:
            return "a word of find may turn out to be an action"
        if word.text in _FIND_RUNS:
            while at < len(words) and words[at].text not in {";", "+"}:
                if may_be_option(words[at]):
                    return "what find runs may end early, and an action follow"
                at += 1
            at += 1
        elif word.text in _FIND_VALUES or _FIND_NEWER.fullmatch(word.text):
            if at < len(words) and _may_be_action(words[at]):
                return f"what find {word.text} is given may turn out to be an action"
            at += 1
        elif word.text not in _FIND_ALONE:
            return f"find {word.text[:40]} is not known to only read"
    return ""


def _is_expression(word: Word) -> bool:
    return word.text.startswith(("-", "(", ")", ",", "!"))


def _may_be_action(value: Word) -> bool:
    """Whether the value of a test may come to further words that are actions: no action has a dot in its name."""
    if may_vanish(value):
        return True
    return may_be_option(value) and not is_quoted(value) and not re.fullmatch(r"\*?[\w*-]*\.\w[\w*.-]*", value.text)


_IN_FOLDER: Final = re.compile(rf"[^{''.join(MARKS)}*?\[]*/")
_TAR: Final = options_of("tvzjJf: list verbose file= gzip bzip2 xz")
_TAR_PRINTS: Final = re.compile(r"-[vzjJ]*(?:x[vzjJ]*O|O[vzjJ]*x)[vzjJ]*f?")


def _tar(words: tuple[Word, ...]) -> str:
    given = words[1:]
    if given and given[0].known and re.fullmatch(r"[txOvzjJf]+", given[0].text):
        given = (Word(f"-{given[0].text.replace('f', '')}{'f' if 'f' in given[0].text else ''}"), *given[1:])
    if given and given[0].known and _TAR_PRINTS.fullmatch(given[0].text):  # what is extracted to the output is read
        given = (Word(given[0].text.replace("O", "").replace("x", "t")), *given[1:])
    shows = any(
        word.known and (word.text == "--list" or re.fullmatch(r"-[vzjJ]*t[tvzjJ]*f?", word.text)) for word in given[:1]
    )
    if not shows or any(map(_may_be_far, given)):
        return "tar does more than list or print"
    return outside("tar", given, _TAR)


def _may_be_far(word: Word) -> bool:
    """Whether a word may be HOST:FILE, for which tar logs in there: a colon with no slash before it says so."""
    return ":" in word.text or (not word.known and not _IN_FOLDER.match(word.text))


def _gzip(words: tuple[Word, ...]) -> str:
    keeps = False
    for word in words[1:]:
        if word.text == "--" or not word.known:
            break
        keeps |= bool(re.fullmatch(r"-[cdltvkq]*[clt][cdltvkq]*|--(?:stdout|to-stdout|list|test)", word.text))
    return outside("gzip", words[1:], LISTED["gzip"]) if keeps else "gzip replaces the file"


_UNZIP: Final = re.compile(r"-(?:q{0,2}[lvtp]v?q{0,2}|Z[12]?)")


def _unzip(words: tuple[Word, ...]) -> str:
    rest = words[1:]
    if not rest or not rest[0].known or not _UNZIP.fullmatch(rest[0].text):
        return "unzip writes what it unpacks"
    return outside("unzip", rest[1:], options_of("-"))


_IP: Final = named("-4 -6 -0 -br -brief -s -stats -d -details -j -json -p -pretty -o -oneline -c -color")
_IP_OBJECTS: Final = named("a addr address l link r ro route n neigh neighbour rule")
_IP_SHOWS: Final = named("show list ls lst")
_IP_NAME: Final = re.compile(r"\w[\w.@:/-]*")


def _ip(words: tuple[Word, ...]) -> str:
    texts = [word.text for word in words[1:]]
    if not all(word.known for word in words):
        return "ip may change the network"
    while texts and texts[0] in _IP:
        texts = texts[1:]
    if texts[:1] == ["-V"] or not texts:
        return ""
    looks = texts[0] in _IP_OBJECTS
    rest = texts[1:]
    if rest and (rest[0] in _IP_SHOWS or (rest[0] == "get" and texts[0] in {"r", "ro", "route"})):
        rest = rest[1:]
        if rest[:1] == ["dev"]:
            rest = rest[1:]
        looks &= len(rest) <= 1 and all(_IP_NAME.fullmatch(text) for text in rest)
    else:
        looks &= not rest
    return "" if looks else "ip may change the network"


_LOCAL: Final = named("passwd group shadow gshadow services protocols rpc ethers initgroups aliases")


def _getent(words: tuple[Word, ...]) -> str:
    """Of hosts and networks a server is asked; without a name only the files are shown."""
    texts = [word.text for word in words[1:]]
    fine = bool(texts) and words[1].known and (texts[0] in _LOCAL or texts in (["hosts"], ["ahosts"], ["networks"]))
    return "" if fine and not any(map(may_be_option, words)) else "getent may ask a server"


def _shell(words: tuple[Word, ...]) -> str:
    """`bash -n FILE` looks whether a script could be parsed, and runs nothing of it."""
    file = words[2:]
    fine = len(file) == 1 and words[1].known and words[1].text == "-n" and not file[0].text.startswith(("-", "+"))
    return "" if fine and not may_be_option(file[0]) else f"{words[0].text} is not known to only read"


_MAN: Final = options_of("kfwa whatis apropos where path all")
_PAGE: Final = re.compile(r"[\w.+:@-]+")


def _man(words: tuple[Word, ...]) -> str:
    operands, why = split("man", words[1:], _MAN)
    if why:
        return why
    fine = all(word.known and _PAGE.fullmatch(word.text) for word in operands)
    return "" if fine else "man may format a file of the workspace"


def _sysctl(words: tuple[Word, ...]) -> str:
    texts = [word.text for word in words[1:]]
    if not all(word.known for word in words):
        return "sysctl may set"
    if texts in (["-a"], ["--all"]):
        return ""
    names = texts[1:] if texts[:1] in (["-n"], ["-N"], ["-e"]) else texts
    fine = bool(names) and all(re.fullmatch(r"\w[\w./*-]*", text) for text in names)
    return "" if fine else "sysctl may set"


def _ifconfig(words: tuple[Word, ...]) -> str:
    texts = [word.text for word in words[1:]]
    fine = all(word.known for word in words) and len(texts) <= 1 and all(re.fullmatch(r"-a|-s|\w+", t) for t in texts)
    return "" if fine else "ifconfig may change the network"


def _go_env(words: tuple[Word, ...]) -> str:
    texts = [word.text for word in words[1:]]
    fine = all(word.known for word in words) and (
        texts == ["version"] or (texts[:1] == ["env"] and all(re.fullmatch(r"[A-Z0-9_]+", text) for text in texts[1:]))
    )
    return "" if fine else "go is not known to only read"


def _bare(name: str) -> Callable[[tuple[Word, ...]], str]:
    return lambda words: "" if len(words) == 1 else f"{name} with words is not known to only read"


JUDGES: Final[dict[str, Callable[[tuple[Word, ...]], str]]] = {
    "date": _date,
    "xxd": _xxd,
    "find": _find,
    "tar": _tar,
    "gzip": _gzip,
    "gunzip": _gzip,
    "unzip": _unzip,
    "ip": _ip,
    "man": _man,
    "sysctl": _sysctl,
    "ifconfig": _ifconfig,
    "go": _go_env,
    "env": _bare("env"),
    "getent": _getent,
    "bash": _shell,
    "dash": _shell,
    "sh": _shell,
}
