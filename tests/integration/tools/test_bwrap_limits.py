"""What a command can use up in bubblewrap: memory, processes, files, time (BOX-1)."""

from pathlib import Path

import pytest

from host.tools import cgroups
from host.tools.bwrap import BwrapSandbox
from host.tools.jail import Jail

from .commands import run, told
from .conftest import SMALL
from .processes import gone


@pytest.mark.clause("BOX-1")
async def test_a_fork_bomb_is_bounded(sandbox: BwrapSandbox) -> None:
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


_SHARED = r"""
import mmap, os, sys, time
kind, kept = sys.argv[1], []
for number in range(12):
    if kind == "memfd":
        for _ in range(8):
            kept.append(os.memfd_create("x"))
            os.write(kept[-1], bytes(8 << 20))
    elif kind == "System V":
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.shmat.restype = ctypes.c_void_p
        segment = libc.shmget(0, 64 << 20, 0o1600)
        if segment < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        at = libc.shmat(segment, None, 0)
        ctypes.memset(at, 1, 64 << 20)
        libc.shmdt(ctypes.c_void_p(at))
    else:
        zero = os.open("/dev/zero", os.O_RDWR) if kind == "zero" else -1
        kept.append(mmap.mmap(zero, 64 << 20))
        for at in range(0, 64 << 20, 4096):
            kept[-1][at] = 1
        kept[-1].madvise(mmap.MADV_DONTNEED)
    time.sleep(0.1)
time.sleep(1)
print("he" + "ld")
"""


@pytest.mark.clause("BOX-1")
@pytest.mark.parametrize("grouped", [True, False], ids=["control groups", "sampler"])
@pytest.mark.parametrize("kind", ["memfd", "System V", "anonymous", "zero"])
async def test_memory_that_is_shared_counts_too(open_jail: Jail, workspace: Path, kind: str, grouped: bool) -> None:
    """Also where no process has it mapped, or has told the kernel that it does not look at it."""
    if grouped and cgroups.find() is None:
        pytest.skip("needs control groups that this user may make")
    (workspace / "shared.py").write_text(_SHARED)
    sandbox = BwrapSandbox(open_jail.roots, limits=SMALL, look_for_groups=grouped)
    finished = await run(sandbox, f"python3 shared.py {kind!r}; exit $?")
    assert "held" not in finished.output
    absent = "Function not implemented" in finished.output or "shmget" in finished.output
    assert absent == (not grouped and kind in {"memfd", "System V"})
    assert absent or any("memory limit of 256 MiB was reached" in note for note in finished.notes)


@pytest.mark.clause("BOX-1")
async def test_memory_that_several_share_counts_once(open_jail: Jail) -> None:
    """Where a sampler watches: a worker for each of ten parts of it is no reason to end them all."""
    sandbox = BwrapSandbox(open_jail.roots, limits=SMALL, look_for_groups=False)
    workers = (
        "import mmap, os, time\nshared = mmap.mmap(-1, 100 << 20)\nshared[::4096] = bytes(25600)\n"
        "for _ in range(9): os.fork() or (sum(shared[::4096]), time.sleep(1), os._exit(0))\n"
        'for _ in range(9): os.wait()\nprint("do" + "ne")'
    )
    finished = await run(sandbox, f"python3 -c '{workers}'")
    assert (finished.output, finished.notes) == ("done\n", ())


@pytest.mark.clause("BOX-1")
async def test_processes_are_bounded_by_the_sampler_too(open_jail: Jail) -> None:
    """Where there are no control groups and the kernel's own limit does nothing for root."""
    sandbox = BwrapSandbox(open_jail.roots, limits=SMALL, look_for_groups=False)
    finished = await run(sandbox, "for i in $(seq 200); do sleep 20 & done; wait")
    assert finished.exit_code != 0 or "Resource temporarily unavailable" in finished.output
    assert gone("sleep", "20")


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


@pytest.mark.clause("BOX-1")
async def test_a_command_that_takes_too_long_is_ended(sandbox: BwrapSandbox) -> None:
    """What it had said is kept."""
    finished = await run(sandbox, "echo begun; sleep 62", seconds=1.0)
    assert (finished.timed_out, finished.output) == (True, "begun\n")
    assert gone("sleep", "62")


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
