"""The home on a real disk: modes, the token, the lock of the one host."""

import multiprocessing
import os
import stat
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from host.config.home import Home
from host.errors import NotFound, ResourceBusy, SettingsError


def mode(path: Path) -> int:
    """Return the permission bits of `path`."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_prepared_home_is_closed_to_everybody_else(tmp_path: Path) -> None:
    """Folders are 0700 and the token is 0600, whatever the umask is."""
    old = os.umask(0)
    try:
        home = Home(root=tmp_path / "deep" / "home")
        home.prepare()
        home.group("main").prepare()
    finally:
        os.umask(old)
    folders = [path for path in (home.root, *home.root.rglob("*")) if path.is_dir()]
    assert {mode(path) for path in folders} == {0o700}
    assert mode(home.token_file) == 0o600
    assert len(home.token()) >= 32


def test_rights_that_were_loosened_are_taken_back(tmp_path: Path) -> None:
    """A home that a copy or an archive left open is closed at the next start; its token stays."""
    home = Home(root=tmp_path / "home")
    home.prepare()
    token = home.token()
    home.root.chmod(0o755)
    home.token_file.chmod(0o644)
    home.prepare()
    assert (mode(home.root), mode(home.token_file)) == (0o700, 0o600)
    assert home.token() == token


def test_a_folder_that_holds_other_things_is_left_alone(tmp_path: Path) -> None:
    """A slip in --home does not close somebody's folder to everybody else."""
    (tmp_path / "letters").write_text("dear")
    tmp_path.chmod(0o755)
    with pytest.raises(SettingsError, match="holds other things"):
        Home(root=tmp_path).prepare()
    assert mode(tmp_path) == 0o755


def test_one_name_that_a_home_has_too_makes_no_home(tmp_path: Path) -> None:
    """/proc holds a file `keys`, and many a folder a `token` or a `run`."""
    for name in ("keys", "token", "run"):
        (tmp_path / name).write_text("")
    tmp_path.chmod(0o755)
    with pytest.raises(SettingsError, match="holds other things"):
        Home(root=tmp_path).prepare()
    assert mode(tmp_path) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder to another user needs root")
def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    """Files of two owners in one home would lock one of them out."""
    home = Home(root=tmp_path / "home")
    home.root.mkdir(mode=0o700)
    os.chown(home.root, 65534, 65534)
    with pytest.raises(SettingsError, match="belongs to user 65534"):
        home.prepare()


def test_a_home_that_cannot_be_made_is_told_with_the_way_out(tmp_path: Path) -> None:
    """A file in the way is named, and so is --home."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="--home"):
        Home(root=tmp_path / "file" / "home").prepare()


def _hold(root: Path, connection: Connection) -> None:
    with Home(root=root).hold():
        connection.send(os.getpid())
        connection.recv()


def test_a_second_host_on_a_home_is_refused_and_told_which_process_has_it(tmp_path: Path) -> None:
    """Exit 15; and the kernel frees the lock of a host that was killed."""
    home = Home(root=tmp_path / "home")
    home.prepare()
    assert home.holder() is None
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_hold, args=(home.root, theirs))
    process.start()
    try:
        assert ours.poll(60), "the other process did not start"
        pid = ours.recv()
        assert home.holder() == pid
        with pytest.raises(ResourceBusy, match=str(pid)) as caught, home.hold():
            pass
        assert caught.value.reason.exit_code == 15
    finally:
        process.kill()
        process.join(60)
    with home.hold():
        assert home.holder() == os.getpid()
    assert home.holder() is None


def test_the_address_comes_and_goes_with_the_host(tmp_path: Path) -> None:
    """Without one, the person is told how to start a host."""
    home = Home(root=tmp_path / "home")
    with pytest.raises(NotFound, match="elis up"):
        home.token()
    home.prepare()
    with pytest.raises(ResourceBusy, match="elis up"):
        home.address()
    home.write_address("127.0.0.1:8700")
    assert home.address() == "http://127.0.0.1:8700"
    home.write_address("https://127.0.0.1:8700")
    assert home.address() == "https://127.0.0.1:8700"
    assert mode(home.address_file) == 0o600
    home.forget_address()
    home.forget_address()
    with pytest.raises(ResourceBusy):
        home.address()
