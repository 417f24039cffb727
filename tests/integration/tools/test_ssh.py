"""The back end `ssh` over a real sshd: commands, their limits, and that nothing of them stays."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil
import pytest

from host.config.settings import SandboxSettings
from host.errors import PathViolation, ToolFailed, Unsupported
from host.tools.finished import Finished
from host.tools.jail import Jail
from host.tools.limits import Limits
from host.tools.paths import BARE_HOME
from host.tools.reach import Reach
from host.tools.roots import Root
from host.tools.sandbox import files_of, sandbox_from
from host.tools.ssh.sandbox import SshSandbox

from .far_machine import BOUND, HOST, FarMachine, halt, machine, running, until

__all__ = ["machine"]

SMALL: Final = Limits(memory_bytes=256 << 20, processes=40, file_bytes=1 << 20)
PERSISTENT: Final = "(sleep {0} & ) ; setsid sleep {0} & (setsid sh -c 'sleep {0} & sleep {0}' & ) ; sleep {0}"
"""A child, a double-forked one, one in a session of its own, and two below a session that lost its parent."""
SLEEPS: Final = 5


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Root]:
    """The group's workspace on this machine, which stays empty."""
    (tmp_path / "ws").mkdir()
    jail = Jail.open(tmp_path / "ws", {})
    yield jail.roots[0]
    jail.close()


@pytest.fixture
def sandbox(machine: FarMachine, own: Root) -> Iterator[SshSandbox]:
    """Return the back end, with limits small enough to run into."""
    made = SshSandbox(own, HOST, str(machine.root), search_path=str(machine.programs), limits=SMALL)
    yield made
    made.files.close()


async def run(sandbox: SshSandbox, command: str, *, seconds: float = BOUND, cwd: str = ".") -> Finished:
    """Run a command."""
    return await sandbox.run(command, cwd=cwd, timeout_seconds=seconds, environment={"WORD": "it's"})


@pytest.mark.clause("BOX-3")
async def test_a_command_runs_in_the_named_root_with_a_built_environment(
    sandbox: SshSandbox, machine: FarMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the host's environment goes over, though this sshd would take it and ssh's settings send it."""
    monkeypatch.setenv("LC_HOST_SECRET", "leaked")
    (machine.root / "sub").mkdir(exist_ok=True)
    finished = await run(sandbox, 'pwd; echo "$WORD"; env; exit 3', cwd="sub")
    lines = finished.output.splitlines()
    assert (finished.exit_code, finished.timed_out, lines[:2]) == (3, False, [str(machine.root / "sub"), "it's"])
    names = {line.partition("=")[0] for line in lines[2:]}
    own = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "WORD", "ELIS_WORKSPACE"}
    assert names <= own | {"PWD", "OLDPWD", "SHLVL", "_"}
    assert "leaked" not in finished.output
    assert f"HOME={machine.root}/{BARE_HOME}" in lines, "not where file tools write"
    assert (machine.root / BARE_HOME).is_dir()
    assert sandbox.reach is Reach.ANYTHING
    assert not sandbox.bare


@pytest.mark.clause("BOX-3", "POL-5")
async def test_what_was_let_through_because_it_only_reads_does_not_run_there(sandbox: SshSandbox) -> None:
    """Nothing there keeps it from writing, so no such call is made; one that is made all the same is refused."""
    with pytest.raises(Unsupported, match="only reads"):
        await sandbox.run("true", cwd=".", timeout_seconds=BOUND, environment={}, reading=True)


@pytest.mark.clause("BOX-3")
async def test_the_end_of_a_command_that_ends_at_once_is_not_missed(sandbox: SshSandbox) -> None:
    """However fast it is: else it would count as running until its time is up."""
    for _ in range(12):
        finished = await run(sandbox, "exit 4", seconds=5.0)
        assert (finished.exit_code, finished.timed_out) == (4, False)


@pytest.mark.clause("BOX-3")
async def test_output_comes_as_it_is_written_and_much_of_it_is_paced(sandbox: SshSandbox) -> None:
    """A megabyte on its way, however much is written: what was not heard holds the command up."""
    heard: list[str] = []
    finished = await sandbox.run(
        "head -c 8000000 /dev/zero | tr '\\0' x; echo; echo end >&2",
        cwd=".",
        timeout_seconds=BOUND,
        environment={},
        on_output=heard.append,
    )
    assert sum(map(len, heard)) == 8_000_005
    assert finished.truncated
    assert finished.output.endswith("x\nend\n")


@pytest.mark.clause("BOX-3", "BOX-1")
@pytest.mark.parametrize("way", ["time-out", "stop", "kill_all", "own end", "warden killed"])
async def test_whatever_ends_a_command_ends_all_that_it_started_there(sandbox: SshSandbox, way: str) -> None:
    """Children that were forked twice, or moved into a session of their own, too."""
    number = f"46{['time-out', 'stop', 'kill_all', 'own end', 'warden killed'].index(way)}1"
    text = PERSISTENT.format(number)
    if way == "own end":
        text = text.rpartition(";")[0] + f"; until [ $(pgrep -fx 'sleep {number}' | wc -l) = {SLEEPS - 1} ]; do :; done"
    if way == "warden killed":
        text = text.rpartition(";")[0] + f"; kill -9 $PPID; sleep {number}"
    task = asyncio.create_task(run(sandbox, text, seconds=1.0 if way == "time-out" else BOUND))
    if way in {"stop", "kill_all"}:
        await until(lambda: len(running(f"sleep {number}")) == SLEEPS)
        task.cancel() if way == "stop" else sandbox.kill_all()
    (ended,) = await asyncio.gather(task, return_exceptions=True)
    await until(lambda: not running(f"sleep {number}"))
    assert isinstance(ended, asyncio.CancelledError) == (way == "stop")
    if way == "time-out":
        assert isinstance(ended, Finished)
        assert ended.timed_out


@pytest.mark.clause("BOX-3")
@pytest.mark.parametrize("limit", ["file", "processes", "memory"])
async def test_limits_hold_there(sandbox: SshSandbox, limit: str) -> None:
    """Of one file by the kernel, of all processes and their memory by a look every quarter of a second."""
    command = {
        "file": "head -c 3000000 /dev/zero > big; ls -l big | cut -d ' ' -f 5; rm big",
        "processes": "for i in $(seq 60); do sleep 4700 & done; wait",
        "memory": "python3 -c 'a = [bytearray(60 << 20) for _ in range(3)]\nimport time; time.sleep(60)' & "
        "python3 -c 'a = [bytearray(60 << 20) for _ in range(3)]\nimport time; time.sleep(60)'",
    }[limit]
    finished = await run(sandbox, command)
    if limit == "file":
        assert str(SMALL.file_bytes) in finished.output
    else:
        assert "limit of" in finished.notes[0]
    await until(lambda: not running("sleep 4700"))


@pytest.mark.clause("BOX-3", "PATH-1")
async def test_a_command_starts_beneath_the_root_or_not_at_all(sandbox: SshSandbox, machine: FarMachine) -> None:
    """The folder is opened there by descriptor."""
    (machine.root / "out").symlink_to("/")
    with pytest.raises(PathViolation, match="leads out"):
        await run(sandbox, "true", cwd="out")
    with pytest.raises(ToolFailed, match="NUL"):
        await run(sandbox, "true\0")


@pytest.mark.clause("BOX-3")
@pytest.mark.parametrize("way", ["killed", "silent"])
async def test_a_host_that_is_gone_leaves_nothing_running_there(machine: FarMachine, own: Root, way: str) -> None:
    """Killed with -9, it says nothing; a line that was cut says nothing either, and the far end takes note of that."""
    number = {"killed": "4781", "silent": "4782"}[way]
    script = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom host.tools.jail import Jail\n"
        "from host.tools.ssh.sandbox import SshSandbox\njail = Jail.open(Path(sys.argv[1]), {})\n"
        "sandbox = SshSandbox(jail.roots[0], 'far', sys.argv[2], search_path=sys.argv[3], silence_seconds=2.0)\n"
        "asyncio.run(sandbox.run(sys.argv[4], cwd='.', timeout_seconds=600, environment={}))\n"
    )
    arguments = [own.real_path(), str(machine.root), str(machine.programs), PERSISTENT.format(number)]
    host = subprocess.Popen(  # noqa: ASYNC220 - it starts at once
        [sys.executable, "-c", script, *arguments], start_new_session=True
    )
    try:
        await until(lambda: len(running(f"sleep {number}")) == SLEEPS)
        if way == "killed":
            host.kill()
        else:
            for process in psutil_children(host.pid):
                halt(process)
            os.kill(host.pid, signal.SIGSTOP)
        await until(lambda: not running(f"sleep {number}"))
        await until(lambda: not machine.agents())
    finally:
        for process in psutil_children(host.pid):
            process.kill()
        host.kill()
        host.wait(BOUND)


def psutil_children(pid: int) -> "list[psutil.Process]":
    """Return what a process has started."""
    return psutil.Process(pid).children(recursive=True)


@pytest.mark.clause("BOX-3")
async def test_a_lost_link_is_told_and_the_next_call_makes_another(sandbox: SshSandbox, machine: FarMachine) -> None:
    """What ran is ended there; whether it was done nobody knows."""
    task = asyncio.create_task(run(sandbox, PERSISTENT.format("4791")))
    await until(lambda: len(running("sleep 4791")) == SLEEPS)
    machine.cut_all()
    with pytest.raises(ToolFailed, match="lost"):
        await task
    await until(lambda: not running("sleep 4791"))
    assert (await run(sandbox, "echo again")).output == "again\n"


@pytest.mark.clause("BOX-3")
async def test_what_outlived_its_agent_is_ended_with_the_next_connection(
    sandbox: SshSandbox, machine: FarMachine
) -> None:
    """A command could end warden and agent, for all of it is one account; its mark stays."""
    kill_all = "setsid sleep 4795 & kill -9 $(ps -o ppid= -p $PPID) $PPID; sleep 4795"
    with pytest.raises(ToolFailed, match="lost"):
        await run(sandbox, kill_all)
    assert (await run(sandbox, "echo again")).output == "again\n"
    await until(lambda: not running("sleep 4795"))
    assert machine.root.is_dir()


@pytest.mark.clause("BOX-3", "OPS-2")
@pytest.mark.parametrize(
    ("wrong", "says", "fix"),
    [
        ("root", "cannot be opened as a folder", "sandbox.root"),
        ("key", "Host key verification failed|host key is known", "fingerprint"),
        ("user", "Permission denied", "BatchMode=yes"),
        ("port", "Connection refused", "runs sshd"),
        ("python", "python3", "Python 3.11"),
        ("ssh", "no ssh on this machine", "openssh-client"),
    ],
)
async def test_what_is_in_the_way_is_said_with_the_fix_and_nothing_runs_here(
    machine: FarMachine, own: Root, tmp_path: Path, wrong: str, says: str, fix: str
) -> None:
    """For commands, file tools and doctor alike."""
    text = (machine.top / "ssh_config").read_text()
    changes = {
        "key": (f"{machine.top}/known_hosts", f"{tmp_path}/nobody"),
        "user": (f"IdentityFile {machine.top}/user_key", f"IdentityFile {machine.top}/host_key"),
        "port": (f"Port {machine.port}", "Port 1"),
        "python": (f"IdentityFile {machine.top}/user_key", f"IdentityFile {machine.top}/poor_key"),
    }
    (tmp_path / "config").write_text(text.replace(*changes.get(wrong, ("", ""))))
    if wrong != "ssh":
        client = (machine.programs / "ssh").read_text().replace(f"{machine.top}/ssh_config", f"{tmp_path}/config")
        (tmp_path / "ssh").write_text(client)
        (tmp_path / "ssh").chmod(0o755)
    root = machine.root / "missing" if wrong == "root" else machine.root
    sandbox = SshSandbox(own, HOST, str(root), search_path=str(tmp_path))
    with pytest.raises(Unsupported, match=says) as refused:
        await run(sandbox, f"touch {tmp_path}/ran")
    assert fix in refused.value.message
    with pytest.raises(Unsupported, match=says):
        await sandbox.files.read("x", 10)
    found = sandbox.check()
    assert not found.ok
    assert fix in found.fix
    assert not (tmp_path / "ran").exists()


@pytest.mark.clause("BOX-3", "OPS-2")
def test_doctor_is_told_what_works_there(machine: FarMachine, sandbox: SshSandbox, own: Root) -> None:
    """By a trial command; the connection does not stay."""
    found = sandbox.check()
    assert found.ok, found
    assert str(machine.root) in found.text
    chosen = SandboxSettings(backend="ssh", host=HOST, root=str(machine.root))
    made = sandbox_from(chosen, (own,))
    assert isinstance(made, SshSandbox)
    jail = Jail.open(Path(own.real_path()), {})
    assert files_of(made, jail) is made.files
    jail.close()
    assert "as an account of it" in made.describe()
