"""The token on a real disk: whole or not there, and never one that opens the API to everybody."""

import multiprocessing
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from host.config.home import Home
from host.errors import AuditFailure, ElisError, ResourceBusy, SettingsError
from host.groups.actor import Cluster

FULL = """
import resource, sys
from pathlib import Path
from host.config.home import Home
from host.config.write import write_first
from host.errors import AuditFailure
home = Home(root=Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
for write in (home.prepare, lambda: write_first(home.settings), lambda: home.write_address("127.0.0.1:1")):
    try:
        write()
    except AuditFailure as error:
        print("refused", error.message)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a home that a host was started on."""
    made = Home(root=tmp_path / "home")
    made.prepare()
    return made


def test_a_full_disk_leaves_neither_an_empty_token_nor_an_empty_settings_file(tmp_path: Path) -> None:
    """What could not be written whole is not there, and the next start makes it."""
    home = Home(root=tmp_path / "home")
    ran = subprocess.run([sys.executable, "-c", FULL, home.root], capture_output=True, text=True, check=True)
    assert ran.stdout.count("refused") == 3
    assert "try again" in ran.stdout
    assert [path for path in home.root.rglob("*") if path.is_file()] == []
    home.prepare()
    assert len(home.token()) >= 32


@pytest.mark.parametrize("left", ["", "\n", "   \n\n"])
def test_an_empty_token_file_is_replaced_and_never_read_as_a_token(home: Home, left: str) -> None:
    """An earlier version left one when the disk was full."""
    home.token_file.write_text(left)
    with pytest.raises(SettingsError, match="elis up"):
        home.token()
    home.prepare()
    assert len(home.token()) >= 32
    assert stat.S_IMODE(home.token_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["short", "x" * 40 + " y", "ключ" * 20, "x" * 40 + "\nsecond line of it", "x" * 5000])
def test_a_token_that_can_be_guessed_or_sent_by_nobody_is_refused_with_the_remedy(home: Home, text: str) -> None:
    """Somebody wrote it, so it is not thrown away; it opens nothing either."""
    home.token_file.write_text(text)
    for use in (home.prepare, home.token):
        with pytest.raises(SettingsError, match="remove it"):
            use()
    assert home.token_file.read_text() == text


def _prepare(root: Path) -> None:
    Home(root=root).prepare()


def test_two_starts_at_once_agree_on_the_token(home: Home) -> None:
    """Where both find an empty file, the first one's token stands."""
    context = multiprocessing.get_context("spawn")
    for left in (None, ""):
        home.token_file.unlink()
        if left is not None:
            home.token_file.write_text(left)
        processes = [context.Process(target=_prepare, args=(home.root,)) for _ in range(4)]
        for process in processes:
            process.start()
        _prepare(home.root)
        first = home.token()
        for process in processes:
            process.join(60)
        assert [process.exitcode for process in processes] == [0] * 4
        assert home.token() == first


def test_rays_token_is_never_empty_either(home: Home, tmp_path: Path) -> None:
    """With an empty one Ray would not start again."""
    file = home.keys / "ray"
    file.write_text("")
    Cluster(home.root, file).write_token()
    assert len(file.read_text().strip()) >= 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_address_file_is_no_address(home: Home, text: str) -> None:
    """It means what a missing one means."""
    home.address_file.write_text(text)
    with pytest.raises(ResourceBusy, match="elis up"):
        home.address()


def _limited(work: Callable[[], object]) -> ElisError:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(AuditFailure) as caught:
            work()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return caught.value


def test_the_old_address_stands_when_a_new_one_cannot_be_written(home: Home) -> None:
    """A reader never sees a half of it."""
    home.write_address("127.0.0.1:8700")
    assert "ulimit" in _limited(lambda: home.write_address("127.0.0.1:9999")).message
    assert home.address() == "http://127.0.0.1:8700"
    assert [path for path in home.run.iterdir() if path.name.endswith(".new")] == []
