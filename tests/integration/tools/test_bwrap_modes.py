"""What a command in bubblewrap may make of files' modes: no program that lends its owner's rights (BOX-1).

What a command makes belongs to Elis's user on the machine, which may be root: with a set-uid or set-gid bit it would be
a program by which any local user who reaches the folder becomes that one.
"""

import stat
from pathlib import Path

import pytest

from host.tools.bwrap import BwrapSandbox

from .commands import run, told

_ATTEMPTS = r"""
import ctypes, os, platform, struct
calls = {
    "x86_64": dict(open=2, chmod=90, fchmod=91, creat=85, mknod=133, openat=257, mknodat=259, fchmodat=268),
    "aarch64": dict(openat=56, fchmod=52, mknodat=33, fchmodat=53),
}[platform.machine()] | dict(fchmodat2=452, openat2=437)
libc = ctypes.CDLL(None, use_errno=True)
HERE, MAKE, UNNAMED = -100, os.O_CREAT | os.O_RDWR, os.O_TMPFILE | os.O_RDWR
made = os.open("plain", MAKE, 0o755)
os.umask(0)


def attempt(name, *arguments):
    if name in calls:
        done = libc.syscall(calls[name], *arguments)
        print(name, "done" if done >= 0 else os.strerror(ctypes.get_errno()))


for number, bits in enumerate((0o4755, 0o2755, 0o6755, 0o104711)):
    attempt("chmod", b"plain", bits)
    attempt("fchmod", made, bits)
    attempt("fchmodat", HERE, b"plain", bits)
    attempt("fchmodat2", HERE, b"plain", bits, 0)
    attempt("creat", b"c%d" % number, bits)
    attempt("open", b"o%d" % number, MAKE, bits)
    attempt("open", b".", UNNAMED, bits)
    attempt("openat", HERE, b"a%d" % number, MAKE, bits)
    attempt("openat", HERE, b".", UNNAMED, bits)
    attempt("mknod", b"n%d" % number, 0o100000 | bits, 0)
    attempt("mknodat", HERE, b"m%d" % number, 0o100000 | bits, 0)
    how = struct.pack("QQQ", MAKE, bits, 0)
    attempt("openat2", HERE, b"h%d" % number, how, len(how))
"""


@pytest.mark.clause("BOX-1")
async def test_no_call_gives_a_file_the_rights_of_its_owner(sandbox: BwrapSandbox, workspace: Path) -> None:
    """Neither one that changes a mode nor one that makes a file; with which of the bits does not matter."""
    (workspace / "attempts.py").write_text(_ATTEMPTS)
    lines = (await told(sandbox, "python3 attempts.py")).split("\n")
    assert len(lines) >= 4 * 7
    assert {line.partition(" ")[2] for line in lines} == {"Operation not permitted", "Function not implemented"}
    assert {line.partition(" ")[0] for line in lines if "implemented" in line} == {"openat2"}
    modes = {found.name: found.lstat().st_mode for found in workspace.iterdir()}
    assert "plain" in modes
    assert not {name for name, mode in modes.items() if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID)}


@pytest.mark.clause("BOX-1")
async def test_ordinary_modes_are_given_as_ever(sandbox: BwrapSandbox, workspace: Path) -> None:
    """By shells, installers, archives, git and copies; archives give up the bits, as they do for ordinary users."""
    (workspace / "lending").write_text("#!/bin/sh\n")
    (workspace / "lending").chmod(0o6755)
    for command in (
        "tar -cf s.tar lending && mkdir s && tar -C s -xf s.tar && test -x s/lending -a ! -u s/lending",
        "cp lending s/copied && cp -r s s2 && install lending s/installed && test ! -u s/installed -a ! -u s/copied",
        "chmod 755 lending && chmod u+x,go-w lending",
        "install -m 0750 lending installed && install -d -m 1777 shared",
        "cp -p installed copied && cp -a shared shared2 && mv copied moved",
        "tar -cf a.tar installed shared && mkdir new && tar -C new -xpf a.tar && test -x new/installed",
        'python3 -c \'import shutil, tempfile; shutil.copytree("new", "new2"); tempfile.mkstemp(dir=".")\'',
        "mkfifo -m 600 pipe && touch -d yesterday moved && cp -r new new3",
    ):
        finished = await run(sandbox, command)
        assert (finished.exit_code, finished.output) == (0, ""), command
    finished = await run(sandbox, "git init -q r && cd r && cp ../installed . && git add . && git status --short")
    assert (finished.exit_code, finished.output) == (0, "A  installed\n")
    assert stat.S_IMODE((workspace / "moved").stat().st_mode) == 0o750


@pytest.mark.clause("BOX-1")
async def test_what_is_made_in_a_set_gid_folder_takes_over_its_group(sandbox: BwrapSandbox, workspace: Path) -> None:
    """A team's folder goes on working: the kernel hands its bit down to folders, and files do not get it."""
    (workspace / "team").mkdir()
    (workspace / "team").chmod(0o2775)
    assert (await run(sandbox, "mkdir team/a && echo x > team/a/b && cp -r team/a team/c")).exit_code == 0
    assert (workspace / "team/c").stat().st_mode & stat.S_ISGID
    assert not (workspace / "team/c/b").stat().st_mode & stat.S_ISGID
    assert (await run(sandbox, "chmod g+s team/a/b")).exit_code != 0
