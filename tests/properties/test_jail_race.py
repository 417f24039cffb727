"""A process that swaps links, folders and files all the time does not get anything out or in (PATH-1)."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from host.errors import PathViolation, ToolFailed
from host.tools.jail import Jail
from host.tools.replace import Existing

TRIES: Final = 50  # rounds of hypothesis; each makes up to 40 different attempts against the running swapper
SECRET: Final = "planted outside"

# Swaps `door` between a folder inside and a link outside, `name` between a file and a link to the secret, and `moved`
# between two depths, as fast as it can, until its input is closed.
_SWAPPER: Final = """
import os, select, sys
ws, outside = sys.argv[1:3]
os.chdir(ws)
def swap(name, make):
    try:
        make(name + ".next")
        os.rename(name + ".next", name)
    except OSError:
        pass
print("ready", flush=True)
turn = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    turn += 1
    try:
        os.rename("door", "door.kept")
    except OSError:
        pass
    swap("door", lambda new: os.symlink(outside, new))
    try:
        os.unlink("door")
        os.rename("door.kept", "door")
    except OSError:
        pass
    swap("name", lambda new: os.symlink(outside + "/secret", new))
    swap("name", lambda new: os.symlink("plain", new))
    swap("name", lambda new: os.link("plain", new))
    try:
        os.rename("deep/moved", "moved") if turn % 2 else os.rename("moved", "deep/moved")
    except OSError:
        pass
"""


@pytest.fixture(params=["openat2", "walk"])
def raced(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Jail, Path]]:
    """Return a jail whose workspace another process is swapping about, and what lies outside."""
    ws, outside = tmp_path / "ws", tmp_path / "outside"
    for folder in (ws / "door", ws / "deep" / "moved", outside):
        folder.mkdir(parents=True)
    (ws / "door" / "secret").write_text("inside")
    (ws / "plain").write_text("inside")
    (ws / "deep" / "moved" / "up").symlink_to("../../plain")  # one level too high while it is moved
    (tmp_path / "plain").write_text(SECRET)
    (outside / "secret").write_text(SECRET)
    jail = Jail.open(ws, {}, kernel=request.param == "openat2")
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SWAPPER, str(ws), str(outside)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdin is not None
        assert swapper.stdout.readline() == b"ready\n"
        yield jail, outside
        swapper.stdin.close()
        swapper.wait(10)
    jail.close()


def _anything(_shown: str, _present: Existing | None) -> None:
    """Admit every write."""


ATTEMPTS: Final = st.lists(
    st.tuples(
        st.sampled_from(["door/secret", "name", "deep/moved/up", "moved/up", "door/../door/secret", "door/new/file"]),
        st.booleans(),
    ),
    min_size=20,
    max_size=40,
)


@pytest.mark.clause("PATH-1")
@settings(max_examples=TRIES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attempts=ATTEMPTS)
def test_links_swapped_between_check_and_use_lead_nowhere(
    raced: tuple[Jail, Path], attempts: list[tuple[str, bool]]
) -> None:
    """Whatever is read came from inside, whatever is written went inside, or the path is refused."""
    jail, outside = raced
    for number, (path, writes) in enumerate(attempts):
        with contextlib.suppress(PathViolation, ToolFailed):
            if writes:
                jail.write(path, b"written", key=f"t:{number}", admit=_anything)
            else:
                assert jail.read(path, 1 << 20).data != SECRET.encode()
    assert (outside / "secret").read_text() == SECRET
    assert (outside.parent / "plain").read_text() == SECRET
    assert os.listdir(outside) == ["secret"]  # noqa: PTH208 - names, not paths
    assert sorted(os.listdir(outside.parent)) == ["outside", "plain", "ws"]  # noqa: PTH208 - names, not paths
