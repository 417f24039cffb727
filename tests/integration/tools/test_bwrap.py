"""What a command can see, do and use up in bubblewrap, and that nothing of it stays (BOX-1, BOX-3)."""

import asyncio
import functools
import os
import resource
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from host.config.settings import FolderSettings, SandboxSettings
from host.errors import PathViolation, ToolFailed, Unsupported
from host.tools import cgroups
from host.tools.bwrap import BwrapSandbox
from host.tools.finished import Finished
from host.tools.jail import Jail
from host.tools.leftovers import MARK
from host.tools.sandbox import sandbox_from

from .conftest import SMALL, Place, names

BOUND_SECONDS = 30.0


async def run(sandbox: BwrapSandbox, command: str, *, cwd: str = ".", seconds: float = BOUND_SECONDS) -> Finished:
    """Run a command with the usual bounds."""
    return await sandbox.run(command, cwd=cwd, timeout_seconds=seconds, environment={})


async def told(sandbox: BwrapSandbox, command: str) -> str:
    """Run a command and return its output without the last newline."""
    return (await run(sandbox, command)).output.rstrip("\n")


@pytest.fixture
def workspace(place: Place) -> Path:
    """Return the workspace of the sandbox."""
    return place.workspace


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
    assert await told(sandbox, "ls /tmp /run; ls -A /home /root /mnt 2>/dev/null") == "/run:\nelis\n\n/tmp:"
    assert await told(sandbox, "cat /etc/passwd | cut -d: -f1") == "elis\nnobody"
    processes = (await told(sandbox, "ls /proc | grep '^[0-9]' | wc -l")).strip()
    assert int(processes) < 10
    assert str(os.getpid()) not in (await told(sandbox, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))
    status = workspace.stat()  # the mark says what a look at the folder says as well
    shown = await told(sandbox, "kill -0 1; tr '\\0' '\\n' </proc/1/environ")
    assert shown == f"{MARK}={status.st_dev}:{status.st_ino}"


@pytest.mark.clause("BOX-1", "SEC-3")
async def test_the_environment_is_built_and_not_inherited(sandbox: BwrapSandbox, workspace: Path) -> None:
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
    assert variables["HOME"] == "/workspace"
    assert set(variables) == {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "XDG_CACHE_HOME", "PWD", "SHLVL",
    }  # fmt: skip
    assert finished.output.count("value with space") == 1
    assert "planted" not in finished.output


@pytest.mark.clause("BOX-1", "BOX-2")
async def test_there_is_no_network(sandbox: BwrapSandbox, workspace: Path) -> None:
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
async def test_a_command_has_no_rights_and_cannot_gain_any(sandbox: BwrapSandbox, workspace: Path) -> None:
    """No capabilities, no new privileges, the filter in force."""
    status = dict(line.split(":\t", 1) for line in (await told(sandbox, "cat /proc/self/status")).split("\n"))
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


@pytest.mark.clause("BOX-1")
async def test_ordinary_work_works(sandbox: BwrapSandbox, workspace: Path) -> None:
    """Threads, pipes, shared memory, programs chosen by Debian's alternatives, names of users."""
    threads = "python3 -c 'import threading; t=threading.Thread(target=print, args=(42,)); t.start(); t.join()'"
    assert await told(sandbox, threads) == "42"
    assert await told(sandbox, "seq 3 | awk '{s+=$1} END {print s}'") == "6"
    assert (
        await told(sandbox, "whoami; echo x > /dev/shm/x; cat /dev/shm/x; [[ -e /dev/null ]] && echo bash")
        == "elis\nx\nbash"
    )


@pytest.mark.clause("BOX-1")
async def test_a_fork_bomb_is_bounded(sandbox: BwrapSandbox, workspace: Path) -> None:
    """And the model is told why it failed."""
    bomb = (
        "import os, time\nn = 0\ntry:\n    while n < 500:\n        if os.fork() == 0: time.sleep(20); os._exit(0)\n"
        "        n += 1\nexcept OSError as error: print(n)"
    )
    finished = await run(sandbox, f"python3 -c '{bomb}'")
    assert 10 < int(finished.output) < SMALL.processes


@pytest.mark.clause("BOX-1")
@pytest.mark.parametrize("grouped", [True, False], ids=["control groups", "sampler"])
async def test_memory_is_bounded_in_all(open_jail: Jail, grouped: bool) -> None:
    """Eight processes that would each be within the limit; one that alone is beyond it."""
    if grouped and cgroups.find() is None:
        pytest.skip("needs control groups that this user may make")
    sandbox = BwrapSandbox(open_jail.roots, limits=SMALL, look_for_groups=grouped)
    each = 'python3 -c \'x = bytearray(100 << 20); import time; time.sleep(3); print("he" + "ld")\''
    finished = await run(sandbox, " ".join([f"{each} &"] * 8) + " wait")
    assert finished.output.count("held") < 4
    assert any("memory limit of 256 MiB was reached" in note for note in finished.notes)
    finished = await run(sandbox, 'python3 -c \'x = bytearray(300 << 20); print("he" + "ld")\'')
    assert "held" not in finished.output


@pytest.mark.clause("BOX-1")
async def test_processes_are_bounded_by_the_sampler_too(open_jail: Jail) -> None:
    """Where there are no control groups and the kernel's own limit does nothing for root."""
    sandbox = BwrapSandbox(open_jail.roots, limits=SMALL, look_for_groups=False)
    finished = await run(sandbox, "for i in $(seq 200); do sleep 20 & done; wait")
    assert finished.exit_code != 0 or "Resource temporarily unavailable" in finished.output
    assert _gone("sleep", "20")


@pytest.mark.clause("BOX-1")
async def test_files_are_bounded(sandbox: BwrapSandbox, workspace: Path) -> None:
    """One file by its size, the temporary folders by what they hold."""
    assert (await run(sandbox, "head -c 20000000 /dev/zero > big")).exit_code != 0
    assert (workspace / "big").stat().st_size == SMALL.file_bytes
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108 - the sandbox's own
        filled = await told(
            sandbox, f"for i in 1 2 3 4; do head -c 7000000 /dev/zero > {folder}/$i; done; du -sb {folder}"
        )
        assert "No space left" in filled


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


@pytest.mark.parametrize(
    ("command", "code"),
    [("true", 0), ("exit 7", 7), ("kill -9 $$", 137), ("nonsense", 127), ("(", 2), ("exit 125", 125)],
)
async def test_the_exit_code_is_the_command_s(sandbox: BwrapSandbox, command: str, code: int) -> None:
    """As a shell would tell it."""
    finished = await run(sandbox, command)
    assert (finished.exit_code, finished.timed_out) == (code, False)


async def test_output_comes_while_the_command_runs(sandbox: BwrapSandbox, place: Place) -> None:
    """Both of its streams in order; here the command waits until the first line was heard."""
    heard: list[str] = []

    def listen(text: str) -> None:
        heard.append(text)
        (place.workspace / "heard").touch()

    command = "echo one; echo two >&2; until [ -e heard ]; do :; done; echo three"
    finished = await sandbox.run(command, cwd=".", timeout_seconds=20, environment={}, on_output=listen)
    assert finished.output == "one\ntwo\nthree\n" == "".join(heard)
    assert len(heard) > 1


async def test_a_failing_listener_ends_the_command(sandbox: BwrapSandbox) -> None:
    """And its error is heard by who waits."""

    def listen(text: str) -> None:
        message = f"cannot take {text!r}"
        raise LookupError(message)

    with pytest.raises(LookupError, match="cannot take"):
        await sandbox.run("echo x; sleep 61", cwd=".", timeout_seconds=20, environment={}, on_output=listen)
    assert _gone("sleep", "61")


@pytest.mark.clause("CTX-3")
async def test_much_output_is_kept_in_bounds_and_the_rest_counted(sandbox: BwrapSandbox) -> None:
    """Of ten million bytes the first and the last half a million."""
    finished = await run(sandbox, "echo first; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert finished.truncated
    assert len(finished.output) < (1 << 20) + 200
    assert finished.output.startswith("first\nxx")
    assert finished.output.endswith("xx\nlast\n")
    assert f"[… {10000000 + 12 - (1 << 20)} bytes of output are left out here …]" in finished.output


@pytest.mark.clause("BOX-1")
async def test_a_command_that_takes_too_long_is_ended(sandbox: BwrapSandbox) -> None:
    """What it had said is kept."""
    finished = await run(sandbox, "echo begun; sleep 62", seconds=1.0)
    assert (finished.timed_out, finished.output) == (True, "begun\n")
    assert _gone("sleep", "62")


@pytest.mark.clause("BOX-1")
async def test_what_a_command_leaves_running_ends_with_it(sandbox: BwrapSandbox) -> None:
    """However it detached itself, and without waiting for it."""
    began = time.monotonic()
    finished = await run(sandbox, "setsid nohup sleep 63 & disown; (sleep 63 &) ; echo done")
    assert finished.output.endswith("done\n")
    assert time.monotonic() - began < 15
    assert _gone("sleep", "63")


@pytest.mark.clause("BOX-1", "STOP-1")
@pytest.mark.usefixtures("open_descriptors")
async def test_a_cancelled_command_is_gone_with_everything_it_started(sandbox: BwrapSandbox) -> None:
    """Detached children included; nothing is left open."""
    for _ in range(5):
        begun = asyncio.Event()
        command = "setsid nohup sleep 64 & (setsid sleep 64 &) ; trap '' TERM INT HUP; echo begun; sleep 64"
        running = asyncio.ensure_future(
            sandbox.run(command, cwd=".", timeout_seconds=60, environment={}, on_output=functools.partial(_set, begun))
        )
        async with asyncio.timeout(BOUND_SECONDS):
            await begun.wait()
        began = time.monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert time.monotonic() - began < 1
        assert _gone("sleep", "64")


@pytest.mark.clause("BOX-1")
async def test_another_thread_can_end_all_commands(sandbox: BwrapSandbox) -> None:
    """As the control does when a lane no longer answers."""
    begun = asyncio.Event()
    running = asyncio.ensure_future(
        sandbox.run("echo x; sleep 65", cwd=".", timeout_seconds=60, environment={}, on_output=lambda _: begun.set())
    )
    async with asyncio.timeout(BOUND_SECONDS):
        await begun.wait()
        await asyncio.to_thread(sandbox.kill_all)
        finished = await _refused_or_finished(running)
    assert finished != 0
    assert _gone("sleep", "65")
    sandbox.kill_all()


async def _refused_or_finished(running: "asyncio.Future[Finished]") -> int:
    try:
        return (await running).exit_code
    except Unsupported:
        return -1


@pytest.mark.clause("BOX-1")
def test_commands_run_from_a_lane_s_thread_and_end_with_it(sandbox: BwrapSandbox) -> None:
    """The signal of a parent's death follows the thread: other threads' ends do not matter, its own does."""
    begun: Future[None] = Future()
    result: Future[Finished] = Future()
    go_on = threading.Event()

    async def work(command: str, heard: Callable[[str], None]) -> Finished:
        return await sandbox.run(command, cwd=".", timeout_seconds=60, environment={}, on_output=heard)

    def lane() -> None:
        short = threading.Thread(target=lambda: asyncio.run(work("true", lambda _: None)))
        short.start()
        short.join()
        result.set_result(asyncio.run(work("echo survived", lambda _: None)))
        loop = asyncio.new_event_loop()
        waiting = loop.create_task(work("echo x; sleep 66", lambda _: None if begun.done() else begun.set_result(None)))
        begun.add_done_callback(lambda _: loop.stop())
        loop.run_forever()  # and leaves the task where it is, as an abandoned lane does
        go_on.wait(BOUND_SECONDS)
        abandoned.append((loop, waiting))

    abandoned: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Finished]]] = []
    thread = threading.Thread(target=lane)
    thread.start()
    assert result.result(BOUND_SECONDS).output == "survived\n"
    begun.result(BOUND_SECONDS)
    assert _until(BOUND_SECONDS, lambda: _left("sleep", "66"))
    go_on.set()
    thread.join(BOUND_SECONDS)
    assert _gone("sleep", "66")
    loop, waiting = abandoned[0]
    waiting.cancel()
    loop.run_until_complete(asyncio.wait([waiting]))
    loop.close()


@pytest.mark.clause("BOX-3")
async def test_without_bubblewrap_a_command_is_refused_with_the_fix(place: Place, open_jail: Jail) -> None:
    """It never runs bare."""
    sandbox = BwrapSandbox(open_jail.roots, search_path=str(place.top))
    with pytest.raises(
        Unsupported, match=r"shell is unavailable: bubblewrap .* is not installed.*apt-get install -y bubblewrap"
    ):
        await run(sandbox, "touch ran")
    finding = sandbox.check()
    assert not finding.ok
    assert "apt-get install" in finding.fix
    assert not (place.workspace / "ran").exists()


@pytest.mark.clause("BOX-3")
@pytest.mark.parametrize(
    ("script", "fix"),
    [
        ("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "kernel.unprivileged_userns_clone"),
        ('echo "bwrap: Can\'t mount proc on /newroot/proc: Operation not permitted" >&2; exit 1', "systempaths"),
        ("echo 'bwrap: Unknown option --json-status-fd' >&2; exit 1", "0.5 or newer"),
        ("exit 3", "run elis doctor"),
        ("kill -9 $$", "run elis doctor"),
    ],
)
async def test_a_bubblewrap_that_does_not_work_is_said_with_the_fix(
    place: Place, open_jail: Jail, script: str, fix: str
) -> None:
    """In its own words, and nothing runs bare."""
    broken = place.top / "bwrap"
    broken.write_text(f'#!/bin/sh\n[ "$1" = --help ] && exit 0\n{script}\n')
    broken.chmod(0o755)
    sandbox = BwrapSandbox(open_jail.roots, search_path=str(place.top))
    with pytest.raises(Unsupported, match="does not work here") as refused:
        await run(sandbox, "touch ran")
    assert fix in refused.value.message
    assert fix in sandbox.check().fix
    assert not (place.workspace / "ran").exists()


@pytest.mark.clause("BOX-1")
def test_the_check_says_which_limits_are_in_force(open_jail: Jail) -> None:
    """For doctor."""
    finding = BwrapSandbox(open_jail.roots, limits=SMALL).check()
    assert finding.ok
    groups = cgroups.find()
    assert (groups.version if groups else "RLIMIT_DATA and a sampler") in finding.text
    finding = BwrapSandbox(open_jail.roots, limits=SMALL, look_for_groups=False).check()
    assert "RLIMIT_DATA and a sampler" in finding.text
    assert "256 MiB of memory, 60 processes" in finding.text


def test_the_sandbox_is_described(sandbox: BwrapSandbox) -> None:
    """For the model's context and for people."""
    said = sandbox.describe()
    assert "without network" in said
    assert "/workspace/docs (read only)" in said
    assert "/workspace/out (read and write)" in said
    assert not sandbox.bare


@pytest.mark.clause("BOX-1")
@pytest.mark.usefixtures("open_descriptors")
async def test_many_commands_leave_nothing_behind(sandbox: BwrapSandbox) -> None:
    """No descriptors, no control groups, no processes; several at once do not mix."""
    results = await asyncio.gather(*(run(sandbox, f"echo {number} > f{number}; cat f{number}") for number in range(6)))
    assert [finished.output for finished in results] == [f"{number}\n" for number in range(6)]
    await run(sandbox, "true")


async def test_a_host_with_many_open_files_runs_commands(sandbox: BwrapSandbox) -> None:
    """Descriptors beyond the first thousand are as good as any."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1500:
        pytest.skip("needs a limit of 1500 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1500), hard))
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        assert (await run(sandbox, "echo here")).output == "here\n"
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_what_no_shell_can_take_is_refused(sandbox: BwrapSandbox) -> None:
    """A NUL, a folder outside."""
    with pytest.raises(ToolFailed, match="NUL"):
        await run(sandbox, "echo \0")
    with pytest.raises(PathViolation):
        await run(sandbox, "true", cwd="../..")


async def test_a_long_command_is_run(sandbox: BwrapSandbox) -> None:
    """Longer than a single argument of a program may be."""
    text = "x" * 300_000
    assert (await run(sandbox, f"cat <<'END' | wc -c\n{text}\nEND")).output.strip() == "300001"


@pytest.mark.parametrize("backend", ["container", "ssh"])
@pytest.mark.clause("BOX-3")
def test_back_ends_to_come_are_unsupported(open_jail: Jail, backend: str) -> None:
    """At start, not at the first command."""
    settings = SandboxSettings(backend="container" if backend == "container" else "ssh")
    with pytest.raises(Unsupported, match=f'"{backend}" is not available'):
        sandbox_from(settings, open_jail.roots)
    with pytest.raises(Unsupported, match="egress proxy"):
        sandbox_from(SandboxSettings(network=("example.org",)), open_jail.roots)


def test_special_files_of_the_machine_are_not_made_usable(open_jail: Jail, place: Place) -> None:
    """The workspace is mounted without devices: one that root planted there is dead."""
    if os.getuid() != 0:
        pytest.skip("needs root to make a device")
    os.mknod(place.workspace / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    finished = asyncio.run(run(BwrapSandbox(open_jail.roots), "cat null"))
    assert finished.exit_code != 0


def _set(event: asyncio.Event, _text: str) -> None:
    event.set()


def _left(*words: str) -> bool:
    """Say whether a process with this command line is on the machine."""
    wanted = "\0".join(words).encode() + b"\0"
    for found in Path("/proc").iterdir():
        if found.name.isdecimal():
            try:
                if (found / "cmdline").read_bytes() == wanted:
                    return True
            except OSError:
                continue
    return False


def _gone(*words: str) -> bool:
    """Wait for the end of a command's last process: a second, as BOX-1 allows."""
    return _until(1.0, lambda: not _left(*words))


def _until(seconds: float, true: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
    return true()
