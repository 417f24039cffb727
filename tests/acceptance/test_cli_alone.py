"""The command line where no host runs: usage, exit codes, help."""

from pathlib import Path

import pytest

from host.config.home import Home
from tests.acceptance.command import elis, together

COMMANDS = [
    ("down",),
    ("status",),
    ("panel",),
    ("ask", "main", "x"),
    ("ask", "main", "x", "--detach"),
    ("stop", "main"),
    ("queue", "main"),
    ("events", "main"),
    ("events", "main", "--follow"),
    ("approvals",),
    ("approve", "a1"),
    ("deny", "a1"),
    ("journal", "main", "verify"),
    ("group", "list"),
    ("group", "add", "x"),
]

MISUSED = [
    ("nonsense",),
    ("ask", "main"),
    ("ask", "main", "  "),
    ("ask", "main", "x", "--now", "--later"),
    ("ask", "main", "x", "--timeout", "soon"),
    ("queue", "main", "burn", "m1"),
    ("queue", "main", "drop"),
    ("journal", "main", "show"),
    ("journal", "main", "burn"),
    ("status", "--nonsense"),
]


async def test_without_a_host_every_command_exits_15_and_says_how_to_start_one(tmp_path: Path) -> None:
    """Nothing is printed on standard output, and no home comes into being."""
    home = Home(root=tmp_path / "home")
    runs = await together(home, [(*arguments, "--json") for arguments in COMMANDS])
    assert {arguments: (ran.code, ran.out) for arguments, ran in runs.items()} == dict.fromkeys(runs, (15, ""))
    assert all("elis up" in ran.err for ran in runs.values())
    assert not home.root.exists()


async def test_an_address_that_a_killed_host_left_is_no_host(tmp_path: Path) -> None:
    """Nothing listens there: exit 15, at once."""
    home = Home(root=tmp_path / "home")
    home.prepare()
    home.write_address("127.0.0.1:9")
    ran = await elis(home, "status")
    assert (ran.code, ran.out) == (15, "")
    assert "elis up" in ran.err


async def test_a_usage_error_is_exit_2(tmp_path: Path) -> None:
    """Before anything is sent anywhere."""
    runs = await together(Home(root=tmp_path), MISUSED)
    assert {arguments: (ran.code, ran.out) for arguments, ran in runs.items()} == dict.fromkeys(MISUSED, (2, ""))


async def test_json_and_home_are_taken_before_the_command_as_well(tmp_path: Path) -> None:
    """`elis --home DIR --json status` is `elis status --home DIR --json`."""
    other = tmp_path / "other"
    ran = await elis(Home(root=tmp_path), "--home", str(other), "--json", "status")
    assert (ran.code, ran.out) == (15, "")
    assert str(other) in ran.err


@pytest.mark.clause("REC-5")
async def test_doctor_lists_the_fault_points(tmp_path: Path) -> None:
    """Without a host, as an array of names."""
    ran = await elis(Home(root=tmp_path), "doctor", "--faults", "--json")
    assert ran.code == 0
    assert "journal.before_commit" in {point["name"] for point in ran.json()}


async def test_every_command_has_help(tmp_path: Path) -> None:
    """The listing names what part 1 has."""
    ran = await elis(Home(root=tmp_path), "--help")
    assert ran.code == 0
    assert all(f"  {name} " in ran.out for name in ("up", "ask", "stop", "approve", "journal", "group", "doctor"))
