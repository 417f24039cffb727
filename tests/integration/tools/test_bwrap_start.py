"""What a command in bubblewrap is started with, and that a Stop finds it while it is being started (BOX-1, STOP-1)."""

import asyncio
import os
import shutil
import threading
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from host.errors import Unsupported
from host.tools import cgroups
from host.tools.bwrap import BwrapSandbox
from host.tools.egress import Egress
from host.tools.finished import Finished
from host.tools.jail import Jail

from .commands import BOUND_SECONDS, run
from .conftest import SMALL
from .processes import gone

REAL = shutil.which("bwrap") or "bwrap is not installed"
OPEN = """
import os
for process in sorted(filter(str.isdecimal, os.listdir("/proc")), key=int):
    try:
        found = os.listdir(f"/proc/{process}/fd")
    except PermissionError:
        continue  # bubblewrap itself; what cannot be listed cannot be opened either
    for number in found:
        try:
            print(process, number, os.readlink(f"/proc/{process}/fd/{number}").partition(":")[0])
        except FileNotFoundError:
            pass  # the one by which the list was read
"""


def _stand_in(folder: Path, before: str) -> str:
    """Return a program that does what `before` says, then becomes bubblewrap."""
    program = folder / "stand-in"
    program.write_text(f'#!/bin/sh\n{before}\nexec {REAL} "$@"\n')
    program.chmod(0o755)
    return str(program)


@pytest.mark.clause("BOX-1")
@pytest.mark.parametrize("hosts", [(), ("example.org",)], ids=["no network", "a door"])
async def test_a_command_inherits_its_three_descriptors_and_no_more(open_jail: Jail, hosts: tuple[str, ...]) -> None:
    """A folder's descriptor from outside would lead up and out of the box, whatever is mounted in it."""
    (Path(open_jail.roots[0].real_path()) / "open.py").write_text(OPEN)
    with closing(Egress(hosts, group="main", on_connection=lambda _: None)) as egress:
        sandbox = BwrapSandbox(open_jail.roots, limits=SMALL, egress=egress)
        told = await run(sandbox, "python3 open.py; exit $?")
    found = [line.split(" ") for line in told.output.splitlines()]
    of_the_first = {what for process, _, what in found if process == "1"}
    assert of_the_first <= {"/dev/null", "pipe", "anon_inode"}  # bubblewrap's, which leads nowhere
    kinds = {number: what for process, number, what in found if process != "1"}
    # The shell holds its script, in the box, by a number of its own.
    assert kinds == {"0": "/dev/null", "1": "pipe", "2": "pipe", "255": "/run/elis/command"}


@pytest.mark.clause("BOX-1", "BOX-3")
async def test_a_bubblewrap_that_cannot_bind_by_descriptor_is_refused_with_the_fix(
    open_jail: Jail, tmp_path: Path
) -> None:
    """It would leave the folders' descriptors open in the command."""
    hiding = f'if [ "$1" = --help ]; then {REAL} --help 2>&1 | grep -v -e -bind-fd; exit; fi'
    sandbox = BwrapSandbox(open_jail.roots, executable=_stand_in(tmp_path, hiding))
    found = sandbox.check()
    assert not found.ok
    assert "--bind-fd" in found.fix
    assert "apt-get install -y bubblewrap" in found.fix
    with pytest.raises(Unsupported, match=r"too old.* apt-get install -y bubblewrap"):
        await run(sandbox, "touch made")
    assert not (tmp_path / "ws" / "made").exists()


@pytest.mark.clause("BOX-1")
async def test_a_bubblewrap_that_cannot_bound_tmp_is_refused_where_nothing_else_would(
    open_jail: Jail, tmp_path: Path
) -> None:
    """A sampler does not see what lies there; control groups count it."""
    hiding = f'if [ "$1" = --help ]; then {REAL} --help 2>&1 | grep -v -e --size; exit; fi'
    executable = _stand_in(tmp_path, hiding)
    found = BwrapSandbox(open_jail.roots, executable=executable, look_for_groups=False).check()
    assert not found.ok
    assert "it has no --size" in found.fix
    if cgroups.find() is not None:
        assert BwrapSandbox(open_jail.roots, executable=executable).check().ok


@pytest.mark.clause("BOX-1", "STOP-1")
def test_a_stop_while_a_command_is_being_started_ends_it(open_jail: Jail, tmp_path: Path) -> None:
    """From another thread, when bubblewrap runs and has not named what is inside."""
    for name in ("begun", "go-on"):
        os.mkfifo(tmp_path / name)
    waiting = f'[ "$1" = --help ] || {{ echo >{tmp_path}/begun; read -r go <{tmp_path}/go-on; }}'
    sandbox = BwrapSandbox(open_jail.roots, executable=_stand_in(tmp_path, waiting))
    outcome: Future[Finished] = Future()

    def lane() -> None:
        try:
            outcome.set_result(asyncio.run(run(sandbox, "touch made; sleep 68")))
        except Unsupported as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=lane)
    thread.start()
    (tmp_path / "begun").read_text()
    sandbox.kill_all()
    (tmp_path / "go-on").write_text("go on\n")
    with pytest.raises(Unsupported):
        outcome.result(BOUND_SECONDS)
    thread.join(BOUND_SECONDS)
    assert not (tmp_path / "ws" / "made").exists()
    assert gone("sleep", "68")
