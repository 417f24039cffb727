"""What a command can see and reach in bubblewrap: its workspace, and nothing else of the machine (BOX-1)."""

import asyncio
import os
import re
import stat
from pathlib import Path

import pytest

from host.config.settings import FolderSettings
from host.errors import PathViolation
from host.tools.bwrap import BwrapSandbox
from host.tools.jail import Jail
from host.tools.leftovers import MARK
from host.tools.paths import HOME

from .commands import BOUND_SECONDS, run, told
from .conftest import Place, names


@pytest.mark.clause("BOX-1")
async def test_the_workspace_is_writable_and_the_rest_is_not(sandbox: BwrapSandbox, workspace: Path) -> None:
    """Nothing of the system can be changed, nor the host's own folder in the workspace."""
    finished = await run(sandbox, "pwd; id -u; id -g; hostname; echo made > made; mkdir -p a/b; cat made")
    assert finished.output.split("\n") == ["/workspace", "1000", "1000", "elis", "made", ""]
    assert finished.exit_code == 0
    assert (workspace / "made").read_text() == "made\n"
    for path in ("/usr/x", "/bin/x", "/etc/x", "/x", "/dev/x", "/workspace/.elis/x"):
        assert (await run(sandbox, f"echo x > {path}")).exit_code != 0, path
    assert (await run(sandbox, "echo x > /tmp/x && mv .elis gone")).exit_code != 0
    assert names(workspace / ".elis") == []


@pytest.mark.clause("BOX-1")
async def test_nothing_else_of_the_host_is_visible(sandbox: BwrapSandbox, workspace: Path) -> None:
    """Home, other groups, sockets, the host's processes and their environment, accounts."""
    neighbour = workspace.parent / "other-group"
    neighbour.mkdir()
    (neighbour / "secret").write_text("neighbour")
    for path in (
        neighbour,
        Path.home(),
        Path("/root"),
        Path("/var"),
        Path("/run/systemd"),
        Path("/sys"),
        Path("/etc/shadow"),
    ):
        assert (await run(sandbox, f"ls -d {path}")).exit_code != 0, path
    system = {"bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr"}  # not every machine has all of them
    assert set((await told(sandbox, "ls /")).split()) - system == {"dev", "etc", "proc", "run", "tmp", "workspace"}
    assert await told(sandbox, "ls /tmp /run; ls -A /home /root /mnt 2>/dev/null") == "/run:\nelis\n\n/tmp:\nhome"
    assert await told(sandbox, "cat /etc/passwd | cut -d: -f1") == "elis\nnobody"
    processes = (await told(sandbox, "ls /proc | grep '^[0-9]' | wc -l")).strip()
    assert int(processes) < 10
    assert str(os.getpid()) not in (await told(sandbox, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))
    status = workspace.stat()  # the mark says what a look at the folder says as well
    shown = await told(sandbox, "kill -0 1; tr '\\0' '\\n' </proc/1/environ")
    assert shown == f"{MARK}={status.st_dev}:{status.st_ino}"


@pytest.mark.clause("BOX-1", "SEC-3")
async def test_the_environment_is_built_and_not_inherited(sandbox: BwrapSandbox) -> None:
    """A few stated variables and those that were asked for; none reaches a process list."""
    os.environ["PLANTED_FOR_THE_SANDBOX"] = "planted"
    try:
        finished = await sandbox.run(
            "env; tr '\\0' '\\n' < /proc/1/cmdline",
            cwd=".",
            timeout_seconds=BOUND_SECONDS,
            environment={"LENT": "value with space"},
        )
    finally:
        del os.environ["PLANTED_FOR_THE_SANDBOX"]
    variables = dict(line.split("=", 1) for line in finished.output.split("\n") if "=" in line and line[0].isupper())
    assert variables.pop("LENT") == "value with space"
    assert variables["HOME"] == HOME
    assert set(variables) == {
        "PATH", "PYTHONPATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "PWD",
        "SHLVL",
    }  # fmt: skip
    assert finished.output.count("value with space") == 1
    assert "planted" not in finished.output


@pytest.mark.clause("BOX-1", "BOX-2")
async def test_there_is_no_network(sandbox: BwrapSandbox) -> None:
    """Not even to the machine itself: its loopback is another one; there is no route to anywhere."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        reached = "python3 -c 'import socket; socket.create_connection((\"{}\", {}), 2)'"
        assert "Connection refused" in await told(sandbox, reached.format("127.0.0.1", port))
        assert "unreachable" in await told(sandbox, reached.format("192.0.2.1", 80))
    own = 'import socket; a = socket.create_server(("127.0.0.1", 0)); socket.create_connection(a.getsockname(), 2)'
    assert (await run(sandbox, f"python3 -c '{own}'")).exit_code == 0


@pytest.mark.clause("BOX-1")
@pytest.mark.parametrize(
    "command",
    [
        "mount -t tmpfs none /tmp",
        "unshare --user true",
        "unshare --mount true",
        "bwrap --ro-bind / / true",
        "chroot / true",
        "python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'",
        "python3 -c 'import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)'",
        "python3 -c 'import ctypes; exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) == -1)'",
        "python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(425, 1, 0) == -1)'",
        "mknod /tmp/disk b 8 0",
        "head -c 1 /proc/kcore | grep .",
        "head -c 8 /proc/keys /proc/kmsg /proc/kpageflags 2>/dev/null | grep -v ==> | grep .",
        "test -e /proc/1/root/home -o -e /proc/1/cwd/etc/shadow",
    ],
)
async def test_the_kernel_gives_nothing_away(sandbox: BwrapSandbox, command: str) -> None:
    """No mounts, namespaces, tracing, kernel memory, unusual sockets."""
    assert (await run(sandbox, command)).exit_code != 0


@pytest.mark.clause("BOX-1")
async def test_the_kernel_s_switches_cannot_be_opened_for_writing(sandbox: BwrapSandbox, workspace: Path) -> None:
    """Root owns them on the machine, and owning is enough: rights do not come into it. They are opened only."""
    opening = """
import os
for top, folders, files in os.walk("/proc"):
    if top == "/proc":
        folders[:] = [name for name in folders if not name.isdecimal() and "self" not in name]
    for name in files:
        try:
            os.close(os.open(f"{top}/{name}", os.O_WRONLY | os.O_NONBLOCK))
            print(f"{top}/{name}")
        except OSError:
            pass
"""
    (workspace / "opening.py").write_text(opening)
    assert await told(sandbox, "python3 opening.py") == ""
    assert (await run(sandbox, ": >> /proc/sysrq-trigger")).exit_code != 0
    assert (await run(sandbox, "cat /proc/sys/kernel/core_pattern > /dev/null")).exit_code == 0


@pytest.mark.clause("BOX-1")
async def test_a_command_has_no_rights_and_cannot_gain_any(sandbox: BwrapSandbox) -> None:
    """No capabilities, no new privileges, the filter in force."""
    status = dict(line.split(":\t", 1) for line in (await told(sandbox, "cat /proc/self/status")).split("\n"))
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


@pytest.mark.clause("BOX-1", "PATH-4")
async def test_folders_are_seen_in_their_mode(sandbox: BwrapSandbox, place: Place) -> None:
    """Beneath the workspace, under their names."""
    assert await told(sandbox, "cat docs/guide") == "guide"
    assert (await run(sandbox, "echo x > docs/new")).exit_code != 0
    assert (await run(sandbox, "echo x > out/new", cwd="out")).exit_code != 0
    assert (await run(sandbox, "echo x > new", cwd="/workspace/out")).exit_code == 0
    assert (place.write / "new").read_text() == "x\n"
    assert names(place.read) == ["guide"]


@pytest.mark.clause("BOX-1")
async def test_a_planted_link_does_not_move_a_folder(place: Place) -> None:
    """Bubblewrap would follow it; the command is refused instead."""
    (place.workspace / "docs").symlink_to("/usr")
    jail = Jail.open(place.workspace, {"docs": FolderSettings(path=str(place.read))})
    try:
        with pytest.raises(PathViolation, match="must be a plain folder"):
            await run(BwrapSandbox(jail.roots), "true")
    finally:
        jail.close()


@pytest.mark.clause("BOX-1")
async def test_the_workspace_is_the_folder_that_was_opened(sandbox: BwrapSandbox, place: Place) -> None:
    """Another one in its place is not shown."""
    (place.workspace / "mine").write_text("")
    place.workspace.rename(place.top / "moved")
    place.workspace.mkdir()
    (place.workspace / "swapped").write_text("")
    assert await told(sandbox, "ls") == "docs\nmine\nout"


def test_special_files_of_the_machine_are_not_made_usable(open_jail: Jail, place: Place) -> None:
    """The workspace is mounted without devices: one that root planted there is dead."""
    if os.getuid() != 0:
        pytest.skip("needs root to make a device")
    os.mknod(place.workspace / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    finished = asyncio.run(run(BwrapSandbox(open_jail.roots), "cat null"))
    assert finished.exit_code != 0


@pytest.mark.clause("BOX-1")
async def test_what_of_proc_is_root_s_alone_is_not_shown(sandbox: BwrapSandbox) -> None:
    """Whatever this kernel has of it: to the kernel the user inside may be root."""
    closed = [
        path
        for top, folders, files in os.walk("/proc")
        if not re.match(r"/proc/([0-9]+|self|thread-self|net|sys)(/|\Z)", top)
        for path in (f"{top}/{name}" for name in (*folders, *files))
        if not Path(path).is_symlink() and not Path(path).stat().st_mode & stat.S_IROTH
    ]
    assert "/proc/kmsg" in closed
    looking = "; ".join(f"test -d {path} && ls -A {path} || timeout 5 head -c 1 {path}" for path in closed)
    assert (await run(sandbox, f"( {looking} ) 2>/dev/null | wc -c")).output == "0\n"
    folders = [path for path in closed if Path(path).is_dir()]
    assert (
        await told(sandbox, f"for path in {' '.join(folders)}; do : >$path/x && echo $path; done 2>/dev/null")
    ) == ""
