"""Programs that run another command, and how far to peel them: a closed table.

An option that is not known is taken to stand alone; if it took a value, the value is then judged as a command of its
own, which is asked about. It knows words and options, and nothing of what the inner commands do.
"""

import re
from typing import Final

import msgspec

from host.policy.shell.word import Word

SHELLS: Final = frozenset(
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "yash", "fish", "csh", "tcsh", "pdksh"]
)
RAISING: Final = frozenset(
    ["sudo", "su", "doas", "pkexec", "run0", "runuser", "gosu", "su-exec", "sudoedit", "sg", "newgrp", "machinectl"]
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_SYSTEM: Final = re.compile(r"/(?:usr/(?:local/)?)?s?bin/[^/]+")
_LOADER: Final = re.compile(r"ld(?:-linux[\w.-]*|-musl[\w.-]*|)\.so[\d.]*")


class Wrapper(msgspec.Struct, frozen=True):
    """How a program names the command it runs."""

    values: str = ""  # short options that take a value
    longs: frozenset[str] = frozenset()  # long options that take a value, without dashes
    skip: int = 0  # operands before the command
    assigns: bool = False  # whether NAME=VALUE may precede the command
    joins: bool = False  # whether the command is shell text, put together from the words
    text: str = ""  # the short option whose value is shell text
    joined: str = ""  # short options that take a value only where it is joined to them
    alone: str = ""  # short options without a value, where it matters that no other stands there
    alone_longs: frozenset[str] = frozenset()  # the same, long
    same: bool = False  # whether a command run by it is still the same one, on the same things
    inner_reads: bool = False  # whether a command that only reads still does when run by it
    renames: str = ""  # short options that give the command another name, by which some are another program


def _wrapper(
    values: str = "", longs: str = "", skip: int = 0, *, assigns: bool = False, joins: bool = False, text: str = ""
) -> Wrapper:
    return Wrapper(values=values, longs=frozenset(longs.split()), skip=skip, assigns=assigns, joins=joins, text=text)


def _around(values: str = "", longs: str = "", skip: int = 0) -> Wrapper:
    """A wrapper that changes circumstances of a command; by itself it may start a shell, or change another process."""
    return msgspec.structs.replace(_wrapper(values, longs, skip), same=True)


def _clear(
    values: str = "", longs: str = "", alone: str = "", alone_longs: str = "", skip: int = 0, *, env: bool = False
) -> Wrapper:
    """A wrapper under which reading stays reading, as long as nothing but these options is used."""
    return Wrapper(
        values=values,
        longs=frozenset(longs.split()),
        skip=skip,
        alone=alone,
        alone_longs=frozenset(alone_longs.split()),
        assigns=env,
        text="S" if env else "",
        same=True,
        inner_reads=True,
    )


WRAPPERS: Final[dict[str, Wrapper]] = {
    "env": _clear("uC", "unset chdir", "i0v", "ignore-environment null debug", env=True),
    "timeout": _clear("ks", "kill-after signal", "v", "foreground preserve-status verbose", 1),
    "nice": _clear("n", "adjustment"),
    "ionice": _clear("cn", "class classdata", "t"),
    "nohup": _clear(),
    "stdbuf": _clear("ioe", "input output error"),
    "setsid": _clear("", "", "wfc", "wait fork ctty"),
    "time": _clear("", "", "pv", "portability verbose"),
    "command": _clear("", "", "p"),
    "builtin": _clear(),
    "exec": Wrapper(values="a", alone="c", inner_reads=True, renames="a"),
    "busybox": _clear(),
    "toybox": _clear(),
    "chrt": _clear("TPD", "sched-runtime sched-period sched-deadline", "rfobi", "", 1),
    "taskset": _clear("", "", "c", "cpu-list", 1),
    "unbuffer": _clear(),
    "chronic": _clear(),
    "coproc": _wrapper(),
    "sudo": _wrapper(
        "ugpCrtTUDhR",
        "user group prompt close-from role type command-timeout other-user chdir host chroot",
        assigns=True,
    ),
    "doas": _wrapper("Cu"),
    "pkexec": _wrapper("u", "user"),
    "run0": _wrapper("ugD", "user group chdir", assigns=True),
    "su": _wrapper("sgGw", "shell group supp-group whitelist-environment", 1, text="c"),
    "runuser": _wrapper("ugGsw", "user group supp-group shell", text="c"),
    "sg": _wrapper("", "", 1, text="c", joins=True),
    "gosu": _wrapper("", "", 1),
    "su-exec": _wrapper("", "", 1),
    "strace": _wrapper("abeEIoOpPsSuUX", "trace output user columns"),
    "setarch": _around(),  # the architecture behind it is a program of that name too
    "linux32": _around(),
    "linux64": _around(),
    "i386": _around(),
    "x86_64": _around(),
    "prlimit": _around("po", "pid output"),
    "choom": _around("np", "adjust pid"),
    "numactl": _around("NmCipPfS", "cpunodebind membind physcpubind interleave preferred"),
    "uclampset": _around("mMp", "pid"),
    "cpulimit": _around("lpeP", "limit pid exe"),
    "aa-exec": _wrapper("pn", "profile namespace"),
    "ssh-agent": _around("aEtPO"),
    "dbus-launch": _around(),
    "systemd-inhibit": _around("", "what who why mode"),
    "systemd-cat": _around("tp", "identifier priority stderr-priority"),
    "eatmydata": _around(),
    "faketime": _wrapper("", "", 1),
    "catchsegv": _around(),
    "proxychains": _wrapper("f"),
    "proxychains4": _wrapper("f"),
    "torsocks": _wrapper(),
    "torify": _wrapper(),
    "ifne": _around(),
    "ltrace": _wrapper("aDeFlnopsuwx"),
    "valgrind": _wrapper(),
    "perf": _wrapper("", "", 1),
    "script": _wrapper("ETBIOmo", "echo log-io log-in log-out logging-format output-limit", 1, text="c"),
    "flock": _wrapper("wE", "timeout wait conflict-exit-code", 1, text="c"),
    "chroot": _wrapper("", "userspec groups", 1),
    "unshare": _wrapper("RwSG", "root wd setuid setgid map-user map-group"),
    "nsenter": _wrapper("tSGW", "target setuid setgid"),
    "setpriv": _wrapper("", "reuid regid groups securebits"),
    "capsh": _wrapper(text="c"),
    "firejail": _wrapper(),
    "bwrap": _wrapper(),
    "proot": _wrapper("rbwq"),
    "fakeroot": _wrapper("lfsib"),
    "systemd-run": _wrapper("pMHEu", "property unit description slice machine host working-directory uid gid setenv"),
    "start-stop-daemon": _wrapper("", "exec startas name pidfile user chuid"),
    "daemonize": _wrapper("ceElopu"),
    "dbus-run-session": _wrapper(),
    "xvfb-run": _wrapper("efnpsw"),
    "ssh": _wrapper("BbcDEeFIiJLlmOopQRSWw", "", 1, joins=True),
    "watch": _wrapper("n", "interval", joins=True),
    "parallel": _wrapper("jSNaIdLPE", "jobs sshlogin arg-file joblog results tmpdir delay timeout", joins=True),
    "entr": _wrapper(),
    "trap": _wrapper(),
    "hyperfine": _wrapper(joins=True),
    "dumb-init": _wrapper(),
    "tini": _wrapper(),
    "xargs": msgspec.structs.replace(
        _clear(
            "adEILnPs",
            "arg-file delimiter max-args max-procs max-chars",
            "0rtx",
            "null no-run-if-empty verbose exit eof replace max-lines",
        ),
        joined="eil",
    ),
}


class Peeled(msgspec.Struct, frozen=True, kw_only=True):
    """What a wrapper runs."""

    words: tuple[Word, ...]  # the inner command; () when there is none
    texts: tuple[Word, ...] = ()  # shell texts that it runs
    own: tuple[Word, ...]  # the wrapper and what belongs to it
    assignments: tuple[tuple[str, Word], ...] = ()
    cwd: str = ""  # the folder it changes to
    strange: str = ""  # an option of the wrapper that its table does not know
    unsure: bool = False  # an option's value could not be told from the command


def base_name(text: str) -> str:
    """Return a program's name without its path."""
    return text.rpartition("/")[2]


def system_name(text: str) -> str:
    """Return the name of a system's program, or the text itself where it names some other file."""
    return base_name(text) if _SYSTEM.fullmatch(text) else text


def wrapper_of(name: str) -> Wrapper | None:
    """Return how the program of that name runs another, or None."""
    if _LOADER.fullmatch(name):
        return Wrapper(longs=frozenset({"library-path", "preload", "argv0", "audit", "inhibit-rpath"}))
    return WRAPPERS.get(name)


def peel(words: tuple[Word, ...], wrapper: Wrapper) -> Peeled:
    """Take a wrapper off."""
    at, skip, texts, assignments, cwd = 1, wrapper.skip, list[Word](), list[tuple[str, Word]](), ""
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            if not skip:
                break
        elif text.startswith("-") and not (wrapper.skip and wrapper.joins and at > 1 and not skip):
            value, used = _option(words, at, wrapper)
            if value is not None and _is_text(text, wrapper):
                texts.append(value)
            if value is not None and re.match(r"-[CD]|--chdir|--working-directory", text):
                cwd = value.text
            at += used
        elif wrapper.assigns and _ASSIGNMENT.match(text):
            name, _, rest = text.partition("=")
            assignments.append((name, Word(rest, words[at].known)))
            at += 1
        elif skip:
            skip -= 1
            at += 1
        elif (
            wrapper.text == "c"
            and not texts
            and any(_is_text(word.text, wrapper) for word in words[at:] if word.text[:1] == "-")
        ):
            at += 1  # su, flock and their like take their options after the operands too
        else:
            break
    unsure = any(not word.known and word.could_be_option for word in words[1:at])
    texts, inner = _split(texts, words[at:], wrapper)
    return Peeled(
        words=inner,
        texts=tuple(texts),
        own=words[:at],
        assignments=tuple(assignments),
        cwd=cwd,
        strange=next((word.text for word in words[1:at] if _is_strange(word.text, wrapper)), ""),
        unsure=unsure,
    )


def _split(texts: list[Word], inner: tuple[Word, ...], wrapper: Wrapper) -> tuple[list[Word], tuple[Word, ...]]:
    """Tell the shell texts that a wrapper runs from a command of words."""
    if texts and wrapper.assigns:  # env -S: the split text is the front of the command
        return [_joined([*texts, *inner])], ()
    if texts:
        return texts, ()
    return ([_joined([*inner])], ()) if wrapper.joins and inner else ([], inner)


def _is_strange(text: str, wrapper: Wrapper) -> bool:
    if not text.startswith("-") or text in {"-", "--"} or text[1:].isdigit():
        return False
    if text.startswith("--"):
        return text[2:].partition("=")[0] not in wrapper.longs | wrapper.alone_longs and not _is_text(text, wrapper)
    for letter in text[1:]:
        if letter in wrapper.renames:
            return True
        if letter in wrapper.values or letter in wrapper.joined or letter == wrapper.text:
            return False
        if letter not in wrapper.alone:
            return True
    return False


def _joined(words: list[Word]) -> Word:
    return Word(" ".join(word.text for word in words), all(word.known for word in words))


def _is_text(option: str, wrapper: Wrapper) -> bool:
    if option.startswith("--"):
        longs = {"S": "--split-string", "c": "--command"}
        return (
            bool(wrapper.text) and longs[wrapper.text].startswith(option.partition("=")[0]) and len(option) > len("--")
        )
    return bool(wrapper.text) and wrapper.text in option


def _option(words: tuple[Word, ...], at: int, wrapper: Wrapper) -> tuple[Word | None, int]:
    """Return an option's value, if it has one, and how many words both take."""
    word = words[at]
    following = words[at + 1] if at + 1 < len(words) else None
    if word.text.startswith("--"):
        name, equals, value = word.text[2:].partition("=")
        if equals:
            return Word(value, word.known), 1
        takes = any(long.startswith(name) for long in wrapper.longs) or _is_text(word.text, wrapper)
        return (following, 2) if takes else (None, 1)
    for position, letter in enumerate(word.text[1:], 2):
        if letter in wrapper.values or letter == wrapper.text:
            rest = word.text[position:]
            return (Word(rest, word.known), 1) if rest else (following, 2)
    return None, 1
