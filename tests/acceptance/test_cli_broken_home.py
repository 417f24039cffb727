"""A home that cannot be written, or whose files are damaged: every command ends with words, a remedy and its code."""

import http.client
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from host.config.home import Home
from tests.acceptance.host import BOUND, ELIS, Host

SETTINGS = """
[host]
listen = "127.0.0.1:0"
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:9/v1"
model = "scripted"
[groups.main]
"""
READ_ONLY = ("bwrap", "--dev-bind", "/", "/", "--ro-bind")

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap makes the home read-only")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a home with settings."""
    made = Home(root=tmp_path / "home")
    made.prepare()
    made.settings.write_text(SETTINGS)
    return made


def run(home: Home, *words: str, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home.root.parent), "ELIS_HOME": str(home.root)}
    return subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=BOUND, check=False, preexec_fn=before
    )


def no_room() -> None:
    """Let no file grow, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@needs_bwrap
@pytest.mark.clause("OPS-5")
@pytest.mark.parametrize("options", [(), ("--detach",)])
def test_up_on_a_read_only_home_is_told_and_ends_with_the_journals_code(home: Home, options: tuple[str, ...]) -> None:
    """Nothing could be recorded there, so it is an audit failure, with the way out and without a traceback."""
    ran = run(home, *READ_ONLY, str(home.root), str(home.root), str(ELIS), "up", *options)
    assert (ran.returncode, "Traceback" in ran.stderr) == (16, False), ran.stderr
    assert "read-only" in ran.stderr
    assert "--home" in ran.stderr


@needs_bwrap
@pytest.mark.clause("OPS-2", "OPS-5")
def test_doctor_looks_at_a_read_only_home_and_says_so(home: Home) -> None:
    """It writes nothing itself, and goes on to look at the rest."""
    (home.lock_file).write_text("1\n")
    ran = run(home, *READ_ONLY, str(home.root), str(home.root), str(ELIS), "doctor")
    assert (ran.returncode, "Traceback" in ran.stderr) == (1, False), ran.stderr
    assert "cannot be written" in ran.stdout
    assert "ok    settings" in ran.stdout
    assert "ok    address" in ran.stdout


@pytest.mark.clause("OPS-5")
def test_a_first_start_on_a_full_disk_leaves_nothing_that_opens_the_api(tmp_path: Path) -> None:
    """It ends with words; once there is room the next start makes a whole token and whole settings."""
    home = Home(root=tmp_path / "home")
    full = run(home, str(ELIS), "up", before=no_room)
    assert (full.returncode, "Traceback" in full.stderr) == (16, False), full.stderr
    assert not home.token_file.exists()
    assert not home.settings.exists()


def status_with(host: Host, authorization: str) -> int:
    """Return what asking for a login link gives; a client of the usual kind would not send such headers."""
    address = (host.home / "run" / "address").read_text().strip()
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request("POST", "/api/v1/login-links", headers={"Authorization": authorization})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.clause("PAN-2", "OPS-5")
@pytest.mark.timeout(240)
def test_a_host_that_finds_an_empty_token_makes_one_and_admits_nobody_without_it(tmp_path: Path) -> None:
    """The empty header that matched an empty token is refused."""
    host = Host(tmp_path / "elis", SETTINGS)
    (host.home / "token").write_text("")
    try:
        host.up()
        for header in ("Bearer ", "Bearer", "bearer  ", ""):
            assert status_with(host, header) == 401, header
        assert host.post("/login-links", {}).is_success
        assert host.down() == 0
    finally:
        host.end()


@pytest.mark.clause("OPS-2")
@pytest.mark.parametrize("text", ["", "short\n"])
def test_doctor_finds_a_token_that_is_none(home: Home, text: str) -> None:
    """And says that a start, or its removal and a start, makes a new one."""
    home.token_file.write_text(text)
    ran = run(home, str(ELIS), "doctor")
    assert ran.returncode == 1
    assert "WRONG token" in ran.stdout
    assert "makes a new" in ran.stdout


ODD = [
    ('folders.d = { path = "/a\\u0000b" }\n', "groups.main.folders.d.path"),
    (f"x = {'[' * 3000}{']' * 3000}\n", "nested too deeply"),
    ('[secrets.x]\nref = "file:~nobodyx/k"\n', "secrets.x.ref"),
]


@pytest.mark.clause("OPS-2")
@pytest.mark.parametrize("command", ["up", "doctor"])
@pytest.mark.parametrize(("text", "key"), ODD, ids=["no path", "too deep", "no such user"])
def test_settings_that_nobody_expects_are_told_with_key_and_remedy(
    home: Home, command: str, text: str, key: str
) -> None:
    """Whoever reads them; a traceback is no answer."""
    home.settings.write_text(SETTINGS + text)
    ran = run(home, sys.executable, "-W", "error", str(ELIS), command)
    assert (ran.returncode, "Traceback" in ran.stderr) == (1, False), ran.stderr
    assert key in ran.stdout + ran.stderr
