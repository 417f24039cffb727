"""What a command sees inside bubblewrap: its namespaces, file system and variables, as bubblewrap's arguments (BOX-1).

The workspace and folders are bound by descriptor; of the system /usr is bound read-only and
of /etc single files, never the folder: the user inside is the host's user to the kernel, and as root could read it
all. `host.tools.bwrap` starts and ends what is described here.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from host.errors import Unsupported
from host.tools.limits import Limits
from host.tools.paths import HOME, PACKAGES, PRIVATE, WORKSPACE
from host.tools.roots import Root, real_path

COMMAND: Final = "/run/elis/command"  # the text of the command lies here: a process list must not show it
USER: Final = 1000  # as user and group inside; the person's own on most machines, so that tools behave

_NAMESPACES: Final = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net")
# Every mount costs a third of a millisecond of each start: what a shell needs, and no more.
ETC: Final = ("ld.so.cache", "localtime", "ssl/openssl.cnf", "ssl/certs/ca-certificates.crt")
_ALTERNATIVES: Final = "/etc/alternatives"  # Debian's links to awk, editor, …: nothing but links to what is seen anyway
_MADE: Final = {
    "passwd": f"elis:x:{USER}:{USER}:Elis:{HOME}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": f"elis:x:{USER}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_PROC: Final = Path("/proc")
_KEYS: Final = _PROC / "keys"  # everybody may read it, and each sees the names of his own: here, of Elis's user
# Below these: processes, whose are the sandbox's own, and switches, which can be looked at and not be written.
_SEEN: Final = re.compile(r"[0-9]+|self|thread-self|net|sys")
SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_VARIABLES: Final = {
    # Installed packages come last: a program of theirs never stands in the place of the system's.
    "PATH": f"{SYSTEM_PATH}:{WORKSPACE}/{PACKAGES}/bin",
    "PYTHONPATH": f"{WORKSPACE}/{PACKAGES}",
    "HOME": HOME,  # not the workspace: programs would take their settings from files that a model wrote there
    "USER": "elis",
    "LOGNAME": "elis",
    "SHELL": "/bin/sh",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
}


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """What this bubblewrap can do."""

    bind_fd: bool  # without it descriptors of folders would stay open in the command, and lead out: not served
    disable_userns: bool
    size: bool


def features_of(help_text: str) -> Features:
    """Read the features from the text of `bwrap --help`."""
    words = set(help_text.split())
    return Features(
        disable_userns="--disable-userns" in words,
        bind_fd={"--bind-fd", "--ro-bind-fd"} <= words,
        size="--size" in words,
    )


def system(features: Features, limits: Limits) -> list[str]:
    """Return the arguments for namespaces and system, the same for every command."""
    arguments = [*_NAMESPACES, "--unshare-cgroup-try", "--uid", str(USER), "--gid", str(USER), "--hostname", "elis"]
    if features.disable_userns:
        arguments.append("--disable-userns")
    arguments += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        arguments += _system_folder(Path("/") / name)
    # Without rights root may still write what it owns, and /proc/sys or /proc/sysrq-trigger steer the whole machine.
    # Bubblewrap's own cover leaves these out when root starts it: it asks whether the folder can be written.
    arguments += ["--proc", "/proc", *_hidden(), "--remount-ro", "/proc", "--dev", "/dev"]
    arguments += [*_tmpfs("/dev/shm", features, limits), "--remount-ro", "/dev"]  # noqa: S108 - the sandbox's own
    arguments += [*_tmpfs("/tmp", features, limits), "--dir", HOME]  # noqa: S108 - the sandbox's own
    for name in ETC:
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return [*arguments, "--ro-bind-try", _ALTERNATIVES, _ALTERNATIVES]


def binds(roots: Sequence[Root], private: int, *, reading: bool = False) -> list[str]:
    """Return the arguments that show the workspace and the folders; `private` is the open `.elis` of the workspace.

    Where the command was let through because it only reads (`reading`), none of them can be written.
    Bubblewrap must inherit these descriptors, and closes each when it has bound it.
    """
    arguments: list[str] = []
    for root in roots:
        arguments += _bind(root.descriptor, root.inside, writable=root.writable and not reading)
        if not root.name:
            arguments += _bind(private, f"{WORKSPACE}/{PRIVATE}", writable=False)
    return arguments


def empty_workspace(features: Features, limits: Limits) -> list[str]:
    """Return the arguments for an empty folder of its own where the workspace would be: a home to write into."""
    return _tmpfs(WORKSPACE, features, limits)


def start(command: str, cwd: str, environment: Mapping[str, str], data: Callable[[bytes], int]) -> list[str]:
    """Return the arguments for the command's text, its folder and its variables.

    `data` gives a descriptor from which bubblewrap can read.
    """
    arguments: list[str] = []
    for path, text in ({f"/etc/{name}": text for name, text in _MADE.items()} | {COMMAND: command}).items():
        arguments += ["--file", str(data(text.encode(errors="surrogateescape"))), path]
    arguments += ["--remount-ro", "/", "--chdir", cwd]
    for name, value in (_VARIABLES | dict(environment)).items():
        arguments += ["--setenv", name, value]
    return arguments


def _system_folder(folder: Path) -> list[str]:
    """Show a folder of the system as it is here: itself, or a link into /usr."""
    if folder.is_symlink():
        return ["--symlink", str(folder.readlink()), str(folder)]
    return ["--ro-bind", str(folder), str(folder)] if folder.is_dir() else []


def _tmpfs(folder: str, features: Features, limits: Limits) -> list[str]:
    return [*(["--size", str(limits.temporary_bytes)] if features.size else []), "--tmpfs", folder]


def _hidden() -> list[str]:
    """Cover what of /proc only root may read: the kernel shows it to an owner without rights."""
    arguments: list[str] = []
    if os.geteuid() != 0:  # the user inside is the user outside: nobody else can read them
        return arguments
    kernel = _PROC.stat().st_dev
    for top, folders, files in os.walk(_PROC):
        if top == str(_PROC):
            folders[:] = [name for name in folders if not _SEEN.fullmatch(name)]
        for folder in [name for name in folders if _closed(f"{top}/{name}", kernel)]:
            folders.remove(folder)
            arguments += ["--tmpfs", f"{top}/{folder}", "--remount-ro", f"{top}/{folder}"]
        for file in files:
            if _closed(f"{top}/{file}", kernel):
                arguments += ["--ro-bind", "/dev/null", f"{top}/{file}"]
    return arguments


def _closed(path: str, kernel: int) -> bool:
    """Say whether something of /proc is root's alone, or was covered on this machine already."""
    try:
        status = os.lstat(path)
    except OSError:
        return False  # it is gone
    if stat.S_ISLNK(status.st_mode):
        return False
    return not status.st_mode & stat.S_IROTH or status.st_dev != kernel or path == str(_KEYS)


def _bind(descriptor: int, inside: str, *, writable: bool) -> list[str]:
    return ["--bind-fd" if writable else "--ro-bind-fd", str(descriptor), inside]


def path_of(descriptor: int, inside: str) -> str:
    """Return where an open folder is; raise Unsupported when something else has taken its place."""
    path = real_path(descriptor)
    opened = os.fstat(descriptor)
    try:
        here = Path(path).lstat()
    except OSError:
        here = None
    if here is None or (here.st_dev, here.st_ino) != (opened.st_dev, opened.st_ino):
        message = f"{path} is not the folder any more that was opened as {inside}; restart the host"
        raise Unsupported(message)
    return path
