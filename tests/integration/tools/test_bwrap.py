"""What commands in bubblewrap answer, and what is said where there can be none (BOX-3)."""

import os
import resource

import pytest

from host.errors import PathViolation, ToolFailed, Unsupported
from host.tools.bwrap import BwrapSandbox
from host.tools.jail import Jail

from .commands import run, told
from .conftest import Place


@pytest.mark.clause("BOX-1")
async def test_ordinary_work_works(sandbox: BwrapSandbox) -> None:
    """Threads, pipes, shared memory, programs chosen by Debian's alternatives, names of users."""
    threads = "python3 -c 'import threading; t=threading.Thread(target=print, args=(42,)); t.start(); t.join()'"
    assert await told(sandbox, threads) == "42"
    assert await told(sandbox, "seq 3 | awk '{s+=$1} END {print s}'") == "6"
    assert (
        await told(sandbox, "whoami; echo x > /dev/shm/x; cat /dev/shm/x; [[ -e /dev/null ]] && echo bash")
        == "elis\nx\nbash"
    )


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


@pytest.mark.clause("CTX-3")
async def test_much_output_is_kept_in_bounds_and_the_rest_counted(sandbox: BwrapSandbox) -> None:
    """Of ten million bytes the first and the last half a million."""
    finished = await run(sandbox, "echo first; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert finished.truncated
    assert len(finished.output) < (1 << 20) + 200
    assert finished.output.startswith("first\nxx")
    assert finished.output.endswith("xx\nlast\n")
    assert f"[… {10000000 + 12 - (1 << 20)} bytes of output are left out here …]" in finished.output


async def test_a_long_command_is_run(sandbox: BwrapSandbox) -> None:
    """Longer than a single argument of a program may be."""
    text = "x" * 300_000
    assert (await run(sandbox, f"cat <<'END' | wc -c\n{text}\nEND")).output.strip() == "300001"


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


def test_the_sandbox_is_described(sandbox: BwrapSandbox) -> None:
    """For the model's context and for people."""
    said = sandbox.describe()
    assert "without network" in said
    assert "/workspace/docs (read only)" in said
    assert "/workspace/out (read and write)" in said
    assert not sandbox.bare


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
        ("echo 'bwrap: Unknown option --json-status-fd' >&2; exit 1", "a newer bubblewrap"),
        ("exit 3", "run elis doctor"),
        ("kill -9 $$", "run elis doctor"),
    ],
)
async def test_a_bubblewrap_that_does_not_work_is_said_with_the_fix(
    place: Place, open_jail: Jail, script: str, fix: str
) -> None:
    """In its own words, and nothing runs bare."""
    broken = place.top / "bwrap"
    broken.write_text(f'#!/bin/sh\n[ "$1" = --help ] && exec echo --bind-fd --ro-bind-fd\n{script}\n')
    broken.chmod(0o755)
    sandbox = BwrapSandbox(open_jail.roots, search_path=str(place.top))
    with pytest.raises(Unsupported, match="does not work here") as refused:
        await run(sandbox, "touch ran")
    assert fix in refused.value.message
    assert fix in sandbox.check().fix
    assert not (place.workspace / "ran").exists()
