"""The hard floor: the few commands that no mode lets through (POL-4). Small, closed, and this is the whole of it.

It judges one command, every wrapper taken off, with its folder; what a variable holds by the text is taken as said.
"""

import enum
import re
from typing import Final

from host.policy.shell.operands import could_be_first
from host.policy.shell.word import Word, plain
from host.policy.shell.wrappers import base_name


class Floor(enum.StrEnum):
    """Why a text is never run."""

    WIPES = "wipes"  # removes, moves away or replaces all of a root or a home
    RAW_WRITE = "raw-write"  # writes to a block device or to memory
    FILE_SYSTEM = "file-system"  # makes a file system
    FORK_BOMB = "fork-bomb"  # starts itself without end
    SHUTDOWN = "shutdown"  # turns the machine off or restarts it
    DOWNLOAD_AS_ROOT = "download-as-root"  # runs what was just fetched with raised rights
    KILLS_HOST = "kills-host"  # ends all processes, or those of this host


_DEVICE: Final = re.compile(
    r"/dev/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd|nvme\d|mmcblk\d|dm-\d|mapper/|md\d|loop\d|disk/|sr\d|nbd\d|zd\d|ram\d|block/"
    r"|mem\b|kmem\b|port\b|root\b).*|/proc/(?:kcore|sysrq-trigger)",
)
_HOME: Final = re.compile(r"~[\w.-]*|/root|/home|/Users|/home/[^/]+|/Users/[^/]+|/var/root")
# Folders at the root without which there is no system, or no data: removing one of them wipes the root.
_SYSTEM: Final = re.compile(
    r"/(?:bin|boot|dev|etc|home|lib|lib32|lib64|libx32|mnt|media|opt|proc|root|run|sbin|srv|sys|usr|var|Applications"
    r"|Library|System|Users|Volumes|usr/(?:bin|lib|lib64|sbin|share)|var/lib)"
)
_WORKSPACE: Final = "/workspace"  # as the sandbox sees it
_ALL: Final = re.compile(r"(?:\.?\*+|\.?\?\*|\.\[.*|\[[^\]]*\]\*|\*\.\*)")
_NARROWS: Final = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"})
_SAYS: Final = re.compile(r"[A-Za-z0-9_]{2}")  # a pattern that leaves something out holds at least so much
# Tests by which less may be found: whether that is little cannot be told.
_TESTS: Final = frozenset(
    """
    -atime -ctime -mtime -amin -cmin -mmin -size -user -group -perm -newer -anewer -cnewer -inum -links -samefile -uid
    -gid -nouser -nogroup -fstype -used -lname -ilname -empty -maxdepth
    """.split()  # noqa: SIM905 - one list a line is not to be read
)
_MAKERS: Final = re.compile(
    r"(?:mkfs(?:\..*)?|mke2fs|mkswap|mkntfs|mkdosfs|mkexfatfs|newfs(?:_.*)?|mkudffs|mkreiserfs)"
)
_DISK: Final = frozenset(
    [
        "wipefs",
        "blkdiscard",
        "badblocks",
        "sgdisk",
        "sfdisk",
        "parted",
        "cfdisk",
        "gdisk",
        "nvme",
        "hdparm",
        "shred",
        "cryptsetup",
        "pvcreate",
    ]
)
_LOOKING: Final = frozenset(
    {
        "-l",
        "--list",
        "-L",
        "--help",
        "-h",
        "--version",
        "-V",
        "print",
        "list",
        "-I",
        "-i",
        "-p",
        "--print",
        "-n",
        "--no-act",
        "-J",
        "--json",
    }
)
_OFF: Final = frozenset(["poweroff", "reboot", "halt", "kexec", "soft-reboot", "emergency", "rescue"])
_HOST: Final = re.compile(r"\b(?:elis|ray|raylet|gcs_server|nats-server|nats)\b|ray::")
_FORKING: Final = re.compile(
    r"fork\s{1,9}while\s{1,9}(?:fork|1)"
    r"|while\s{0,9}\(?\s{0,9}(?:1|True|true)\s{0,9}\)?\s{0,9}[:{]?\s{0,9}(?:os\.)?fork"
)


def on_the_floor_by_name(name: str) -> bool:
    """Whether some use of a program of that name is on the floor."""
    return name in _NAMED or bool(_MAKERS.fullmatch(name))


def floor_of(words: tuple[Word, ...], cwd: str) -> Floor | None:
    """Return the floor that a command is on, or None."""
    name = base_name(words[0].text)
    texts = [word.text for word in words[1:]]
    for kind, judge in _JUDGES:
        if judge(name, texts, cwd):
            return kind
    if name in _KILLERS and _kills_host(name, texts, [word.source for word in words]):
        return Floor.KILLS_HOST
    return None


def writes_raw(target: str) -> Floor | None:
    """Return the floor that a redirection to `target` is on, or None."""
    if not target.startswith("/"):
        return None
    path = _normal(target, "")
    if path == "/proc/sysrq-trigger":
        return Floor.SHUTDOWN
    return Floor.RAW_WRITE if _DEVICE.fullmatch(path) else None


def whole(target: str, cwd: str) -> bool:
    """Whether a path names all of a root or a home, as itself or by what it holds."""
    path = _normal(target, cwd)
    return path == "/" or bool(_HOME.fullmatch(path) or _SYSTEM.fullmatch(path))


def _normal(target: str, cwd: str) -> str:
    """Return a path without `.`, `..`, doubled slashes and the glob at its end."""
    if not target.startswith(("/", "~")):
        if not cwd:
            return target
        target = f"{cwd}/{target}"
    parts: list[str] = []
    for part in target.split("/"):
        if part == "..":
            parts = parts[:-1] if parts and not parts[0].startswith("~") else []
        elif part not in {"", "."}:
            parts.append(part)
    while parts and _ALL.fullmatch(parts[-1]):
        parts.pop()
    if parts and parts[0].startswith("~"):
        return "/".join(parts)
    return "/" + "/".join(parts)


def operands(texts: list[str]) -> list[str]:
    """Return what is no option among a command's arguments."""
    if "--" in texts:
        at = texts.index("--")
        return [text for text in texts[:at] if not text.startswith("-")] + texts[at + 1 :]
    return [text for text in texts if not text.startswith("-")]


def recursive(texts: list[str]) -> bool:
    """Whether options of `rm` make it remove folders."""
    return any(
        ("--recursive".startswith(text) and len(text) > len("--"))
        or (text[:1] == "-" and text[1:2] != "-" and re.search("[rR]", text))
        for text in texts
    )


def _wipes(name: str, texts: list[str], cwd: str) -> bool:
    match name:
        case "rm" | "srm" | "grm" | "wipe" | "trash":
            hits = any(whole(target, cwd) or _normal(target, cwd) == _WORKSPACE for target in operands(texts))
            return hits and (name in {"srm", "wipe", "trash"} or recursive(texts))
        case "mv" | "gmv":
            *sources, place = operands(texts) or [""]
            return any(whole(each, cwd) and (place == "/dev/null" or "*" not in each) for each in sources)
        case "find":
            return _find_wipes(texts, cwd)
        case "rsync":
            return any(text.startswith("--del") for text in texts) and any(whole(t, cwd) for t in operands(texts)[-1:])
        case _:
            return False


def find_roots(texts: list[str]) -> list[str]:
    """Return the folders that `find` starts at."""
    roots: list[str] = []
    for text in texts:
        if text in {"-H", "-L", "-P"} or text.startswith(("-O", "-D")):
            continue
        if text.startswith(("-", "(", "!")):
            break
        roots.append(text)
    return roots or ["."]


def unnarrowed(texts: list[str]) -> bool:
    """Whether a `find` finds everything beneath where it starts, but for kinds and depths."""
    return not any(_narrows(texts, at) for at in range(len(texts))) and not _TESTS.intersection(texts)


def narrowed_by_name(texts: list[str]) -> bool:
    """Whether a `find` finds only what has a name that is told: nothing is negated, and no other test stands beside."""
    return any(_narrows(texts, at) for at in range(len(texts))) and not {"-o", "-or", ","}.intersection(texts)


def _narrows(texts: list[str], at: int) -> bool:
    negated = at > 0 and texts[at - 1] in {"!", "-not"}
    return texts[at] in _NARROWS and not negated and at + 1 < len(texts) and bool(_SAYS.search(texts[at + 1]))


def _find_wipes(texts: list[str], cwd: str) -> bool:
    if "-delete" not in texts or not unnarrowed(texts):
        return False
    return any(whole(root, cwd) or _normal(root, cwd) == _WORKSPACE for root in find_roots(texts))


def _writes_raw(name: str, texts: list[str], cwd: str) -> bool:
    del cwd
    if name in {"dd", "dcfldd", "dc3dd"}:
        return any(text.startswith("of=") and writes_raw(text[3:]) for text in texts)
    if name in {"cp", "mv", "install", "rsync", "pv"}:
        return writes_raw((operands(texts) or [""])[-1]) is not None
    if name in {"tee", "sponge", "truncate", "ddrescue", "curl", "wget"}:
        return any(writes_raw(text) for text in texts)
    return name in _DISK and any(writes_raw(text) for text in texts) and not _LOOKING & set(texts)


def _makes_file_system(name: str, texts: list[str], cwd: str) -> bool:
    del cwd
    if name in {"zpool", "vgcreate", "lvcreate"}:
        return name != "zpool" or texts[:1] == ["create"]
    return bool(_MAKERS.fullmatch(name)) and not {"-V", "--version", "-h", "--help"} & set(texts)


def _shuts_down(name: str, texts: list[str], cwd: str) -> bool:
    del cwd
    match name:
        case "shutdown":
            return not {"-c", "--help", "--show"} & set(texts)
        case "reboot" | "halt" | "poweroff":
            return "--help" not in texts
        case "init" | "telinit":
            return operands(texts)[:1] in (["0"], ["6"])
        case "systemctl" | "loginctl":
            words, targets = plain(name, *texts), {f"{off}.target" for off in _OFF}
            return could_be_first(name, words, _OFF) or (
                could_be_first(name, words, {"isolate", "start"}) and bool(targets.intersection(texts))
            )
        case "kexec":
            return any(text in {"-e", "--exec"} for text in texts)
        case "dbus-send" | "busctl" | "gdbus":
            return any(re.search(r"\b(?:PowerOff|Reboot|Halt)\b", text) for text in texts)
        case _:
            return False


def _forks(name: str, texts: list[str], cwd: str) -> bool:
    del cwd
    return bool(re.match(r"perl|python|ruby|php|node", name)) and any(_FORKING.search(text) for text in texts)


def _kills_host(name: str, texts: list[str], sources: list[str]) -> bool:
    if name == "killall5":
        return True
    if name == "kill":
        targets = [text for at, text in enumerate(texts) if at and text != "--" and texts[at - 1] not in {"-s", "-n"}]
        everyone = [text for text in targets if text in {"-1", "1"}] or texts in (["-1"], ["1"], ["--", "-1"])
        return bool(everyone) or any(re.search(r"\b(?:pgrep|pidof|ps)\b", s) and _HOST.search(s) for s in sources)
    if name in {"pkill", "killall", "skill"}:
        return any(_HOST.search(text) or text in {".", ".*", "python", "python3"} for text in texts)
    if name == "elis":
        return "down" in texts
    return (
        name in {"systemctl", "service"}
        and bool({"stop", "kill", "disable", "restart", "mask"} & set(texts))
        and any(_HOST.search(text) for text in texts)
    )


_KILLERS: Final = frozenset(["kill", "pkill", "killall", "killall5", "skill", "elis", "systemctl", "service"])
# Programs that this module judges, but for those of `_MAKERS`.
_NAMED: Final = (
    _KILLERS
    | _DISK
    | frozenset(
        """
    rm srm grm wipe trash mv gmv find rsync dd dcfldd dc3dd tee sponge truncate ddrescue cp install pv curl wget zpool
    vgcreate lvcreate shutdown reboot halt poweroff init telinit loginctl kexec dbus-send busctl gdbus perl python
    python3 ruby php node
    """.split()  # noqa: SIM905 - one list a line is not to be read
    )
)
# Of these, names that are also sub-commands of programs for other machines, targets, words of a sentence.
SPOKEN: Final = frozenset({"shutdown", "reboot", "halt", "poweroff", "init", "telinit", "elis", "service"})
_JUDGES: Final = (
    (Floor.WIPES, _wipes),
    (Floor.RAW_WRITE, _writes_raw),
    (Floor.FILE_SYSTEM, _makes_file_system),
    (Floor.SHUTDOWN, _shuts_down),
    (Floor.FORK_BOMB, _forks),
)
