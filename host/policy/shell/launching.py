"""What a program that nobody knows may run: a later word of it, or a stretch of a text that it is given.

There is no end to programs that run what their words say (`setarch x86_64 rm …`, `tmux new 'rm …'`). So the question is
turned round: a closed table tells of programs that run nothing of their words, and of every other one each later word
that names a program in question counts as that program being run. Which programs are in question is the caller's: those
of the floor, those that raise rights, those that a denial names.
"""

import enum
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import msgspec

from host.policy.shell.doubt import doubt_of
from host.policy.shell.floor import SPOKEN, floor_of, on_the_floor_by_name
from host.policy.shell.programs import ANYTHING, FREE, named
from host.policy.shell.reading import why_not_reading
from host.policy.shell.rights import INTERPRETERS, raises_rights
from host.policy.shell.word import Word
from host.policy.shell.wrappers import RAISING, SHELLS, WRAPPERS, base_name, system_name

# Whatever stands in their words, these run nothing of it; what their options may run rides there (`carried`).
_QUIET: Final = named(
    """
    [ [[ apropos ar aria2c base32 base64 bg bzip2 bzip3 chattr chgrp chmod chown cksum cmp code cp cpio curl dd ddrescue
    declare diff diff3 disown dos2unix egrep elis export fc fg file fg fgrep fmt fold getfacl getopts gpg grep gunzip
    gzip head help iconv info install jq kill killall killall5 less let link ln local logger look lsof lz4 man md5sum
    mkdir mkfifo mknod mktemp more mv open ping pkill pgrep pidof patch printf pv pylint mypy ruff black pytest flake8
    read readonly rename renice rg rm rmdir scp sed set setfacl sftp sha1sum sha256sum sha512sum shellcheck shopt shred
    shuf skill sort split sponge srm ssh-keygen strip sync tar tee test tldr touch trash tree truncate typeset umount
    uniq unix2dos unlink unset unzip unxz wait wget whatis which wipe xdg-open xz yq zstd type alias unalias command
    mkfs wipefs fdisk sfdisk sgdisk parted mount swapon losetup shutdown reboot halt poweroff init telinit kexec
    dbus-send busctl gdbus nproc sysctl useradd userdel usermod groupadd passwd chpasswd chsh
    rsync git-lfs tsc eslint prettier ninja javac
    """,
)
# Programs with sub-commands, and the words with which they run others.
_QUIET_BUT: Final[dict[str, frozenset[str]]] = {
    "git": named("bisect rebase submodule filter-branch difftool mergetool for-each-repo send-email daemon config -c"),
    "docker": named("exec run create"),
    "podman": named("exec run create unshare"),
    "nerdctl": named("exec run create"),
    "docker-compose": named("exec run"),
    "kubectl": named("exec run debug"),
    "helm": named("plugin --post-renderer"),
    "apt": named("-o --option"),
    "apt-get": named("-o --option"),
    "apt-cache": named("-o --option"),
    "aptitude": named("-o"),
    "dpkg": named("--pre-invoke --post-invoke"),
    "dnf": named(""),
    "yum": named(""),
    "apk": named(""),
    "pacman": named("--config --hookdir"),
    "brew": named("sh exec command"),
    "snap": named("run"),
    "pip": named("--use-pep517"),
    "pip3": named("--use-pep517"),
    "pipx": named("run runpip"),
    "npm": named("exec x run run-script explore --script-shell"),
    "yarn": named("exec run dlx node"),
    "pnpm": named("exec run dlx"),
    "cargo": named("run --config watch"),
    "go": named("run generate tool -exec -toolexec -vettool"),
    "cmake": named("-E"),
    "gcc": named("-wrapper"),
    "g++": named("-wrapper"),
    "cc": named("-wrapper"),
    "clang": named("-wrapper"),
    "clang++": named("-wrapper"),
    "rustc": named("-C"),
    "gem": named("exec"),
    "composer": named("exec run-script"),
    "systemctl": named(""),
    "loginctl": named(""),
    "service": named(""),
    "journalctl": named(""),
    "gh": named("alias extension codespace cs"),
    "aws": named("ssm"),
    "gcloud": named("ssh"),
    "terraform": named(""),
    "svn": named("--diff-cmd --diff3-cmd --editor-cmd --config-option"),
    "virsh": named("--cmd"),
    "vagrant": named("ssh winrm"),
    "adb": named("shell"),
    "uv": named("run x tool pip"),
    "poetry": named("run"),
    "conda": named("run"),
    "ip": named("exec"),
    "openssl": named("-config"),
    "find": named(""),
    "hash": named("-p"),
}
# Programs that run a text they are given: as shell text, or by a word of theirs (`shell`, `!`).
_RUNS_TEXT: Final = named(
    """
    tmux screen byobu zellij expect gdb lldb mapfile readarray compgen complete bind crontab socat nc ncat netcat zip
    vagrant emacs sqlite3 psql mysql mariadb ed dc bc mispipe pee make gmake watchexec nodemon concurrently npx npm
    nix-shell nix direnv docker podman kubectl pssh pdsh ansible fzf entr xdotool vagrant uv poetry pipenv conda
    fish bwrap capsh parallel-ssh dtach abduco ttyd inotifywait incron at batch git svn sshpass
    """,
)
_TOKEN: Final = re.compile(r"[\w./+-]*[A-Za-z][\w./+-]*")
_NEXT: Final = re.compile(r"[^\s'\"`;|&()\[\]{}<>,\\]+")
_MODULE: Final = re.compile(r"-[A-Za-z]*?m([A-Za-z_][\w.]*)")
_STOPS: Final = re.compile(r"[;|&\n`)]")
_ENDS_BEFORE: Final = re.compile(r"(?:^|[!;|&({`\n]|\$\()\s*\Z|[\"'`]:?\Z|\b(?i:exec|system|shell):\Z")
_RUNNERS: Final = named(
    """
    ! shell system exec spawn run command eval sudo doas su env xargs nohup time nice then do else if while until -c -e
    -x --exec -- .shell .system \\! *
    """,
)
_RIGHTS: Final = frozenset({"setcap", "visudo", "nsenter", "unshare", "chmod"})
_SHOWN_BEFORE: Final = 24  # characters before a name that tell whether a command begins there
_MOST_TOKENS: Final = 64  # of a command within a text
_LONGEST_INNER: Final = 4096  # characters of a command within a text
_MOST_LAUNCHES: Final = 100  # of one command
_MOST_WORDS: Final = 20_000  # of all of them together


_Names = tuple[Callable[[str], bool], Callable[[str], bool]]


class Launch(msgspec.Struct, frozen=True):
    """A command that another one may run."""

    words: tuple[Word, ...]  # none: there is more than can be told
    sure: bool  # False: its name only stands in a text that may be prose
    bare: bool  # it is words of the command, not part of a text
    leads: bool  # it stands where a command begins


@lru_cache(maxsize=4096)
def is_watched(name: str) -> bool:
    """Whether a program of that name must not be missed where it is mentioned: of the floor, or of raised rights."""
    return on_the_floor_by_name(name) or name in RAISING or name in _RIGHTS


def is_watched_in_program(name: str) -> bool:
    """Whether one must not be missed in a program of another language, where a common word is a common word."""
    return name not in SPOKEN and is_watched(name)


@lru_cache(maxsize=4096)
def is_watched_word(name: str) -> bool:
    """Whether one must not be missed where it is a word of a command: also a shell, or what runs a download."""
    return is_watched(name) or name in SHELLS or bool(INTERPRETERS.fullmatch(name))


class Weight(enum.Enum):
    """What a command that may be run comes to."""

    NOTHING = enum.auto()  # it need not be seen
    RUNS = enum.auto()  # it counts as run
    RAISES = enum.auto()  # it counts as run, and raises rights
    FLOOR_PERHAPS = enum.auto()  # it would be on the floor, but its words may mean something else
    MANY = enum.auto()  # there is more than can be told


def weighed(launch: Launch, cwd: str, *, fetched: bool) -> Weight:
    """Return what a command that may be run comes to; `fetched` says that it would be given a download."""
    name = base_name(launch.words[0].text)
    if on_the_floor_by_name(name) and floor_of(launch.words, cwd):
        if launch.sure and not (launch.bare and name in SPOKEN):
            return Weight.RUNS
        return Weight.FLOOR_PERHAPS if launch.leads or name not in SPOKEN else Weight.NOTHING
    if name in SHELLS or INTERPRETERS.fullmatch(name):
        return Weight.RUNS if fetched or (name in SHELLS and len(launch.words) > 1) else Weight.NOTHING
    if launch.leads and raises_rights(launch.words):
        return Weight.RAISES
    return Weight.RUNS if launch.sure and doubt_of(launch.words, cwd) else Weight.NOTHING


def runs_nothing(words: tuple[Word, ...]) -> bool:
    """Whether a command is known to run nothing of what its words say."""
    name = system_name(words[0].text)
    if name in _QUIET or name in FREE or name in ANYTHING:
        return True
    unless = _QUIET_BUT.get(name)
    if unless is not None and not any(_is_one(word.text, unless) for word in words[1:]):
        return True
    return not why_not_reading(words)


def _is_one(text: str, unless: frozenset[str]) -> bool:
    option = text.partition("=")[0]
    if option in unless:
        return True
    return option.startswith("--") and len(option) > len("--") and any(each.startswith(option) for each in unless)


def launches(
    words: tuple[Word, ...], wanted: Callable[[str], bool], within: Callable[[str], bool], given: str = ""
) -> Iterator[Launch]:
    """Yield what a command may run: by a word whose name is `wanted`, by one `within` a text.

    `given` is the text that it reads, where it is told.
    """
    name = system_name(words[0].text)
    if name in _QUIET or name in FREE or name in ANYTHING:
        return
    name, left = base_name(name), _MOST_WORDS
    for number, launch in enumerate(_found(name, words, (wanted, within), given)):
        if not number and runs_nothing(words):
            return
        left -= len(launch.words)
        if number == _MOST_LAUNCHES or left < 0:
            yield Launch((), sure=False, bare=False, leads=False)
            return
        yield launch


def _found(name: str, words: tuple[Word, ...], names: _Names, given: str) -> Iterator[Launch]:
    wanted, within = names
    if re.search(r"\s", words[0].text):  # an option's value that was not known as one
        yield from _within("", words[0], within)
    modules = name.startswith(("python", "pypy"))
    named = {text: found for text in {word.text for word in words[1:]} if (found := _name(text, wanted, modules))}
    texts = {text for text in {word.text for word in words[1:]} - named.keys() if not text.isalnum()}
    for at, word in enumerate(words[1:], 1) if named or texts else ():
        if word.text in named:
            first = Word(named[word.text], word.known)
            yield Launch((first, *words[at + 1 :]), sure=True, bare=True, leads=True)
        elif word.text in texts:
            yield from _within(name, word, within)
    if given and (name in _RUNS_TEXT or INTERPRETERS.fullmatch(name)):
        for line in given.splitlines() if name == "crontab" else [given]:
            yield from _within(name, Word(line), within)


def _name(text: str, wanted: Callable[[str], bool], modules: bool) -> str:  # noqa: FBT001 - of the program
    """Return the wanted program that a word names, as `python3 -mNAME` does too where `modules` says so; "" else."""
    if "://" in text:
        return ""
    if wanted(base_name(text)):
        return base_name(text)
    module = _MODULE.fullmatch(text) if modules else None
    return module[1] if module and wanted(module[1]) else ""


def _within(name: str, word: Word, wanted: Callable[[str], bool]) -> Iterator[Launch]:
    """Yield the commands that begin within one word."""
    text = word.text
    runs_text = (name in _RUNS_TEXT or name in SHELLS or name in WRAPPERS) and not INTERPRETERS.fullmatch(name)
    for found in _TOKEN.finditer(text):
        token = base_name(found.group())
        if not wanted(token) or "://" in text[max(0, found.start() - 3) : found.end()]:
            continue
        leads = _begins(text, found.start())
        inner = _rest(text, found.end(), Word(token, word.known))
        yield Launch(inner, sure=runs_text and leads, bare=False, leads=leads)


def _begins(text: str, at: int) -> bool:
    """Whether a command begins at that place of a text."""
    before = text[max(0, at - _SHOWN_BEFORE) : at]
    if at <= _SHOWN_BEFORE and not before.strip():
        return True
    if _ENDS_BEFORE.search(before) and (before.strip() or at <= _SHOWN_BEFORE):
        return True
    last = before.split()[-1:] if before[-1:].isspace() else []
    return bool(last) and last[0] in _RUNNERS


def _rest(text: str, at: int, first: Word) -> tuple[Word, ...]:
    """Return a command within a text, of which the first word ends at that place."""
    end = min(len(text), at + _LONGEST_INNER)
    stop = _STOPS.search(text, at, end)
    end = stop.start() if stop else end
    words = [first]
    for found in _NEXT.finditer(text, at, end):
        words.append(Word(found.group(), first.known))
        if len(words) > _MOST_TOKENS:
            break
    return tuple(words)
