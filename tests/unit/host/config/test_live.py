"""The policy of a group follows its files at the next call."""

from pathlib import Path

import pytest

from host.config.live import LivePolicy
from host.config.load import load
from host.passport import Decision

HEAD = "[groups.main]\n[groups.main.policy]\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return an elis.toml in which the shell is asked about."""
    file = tmp_path / "elis.toml"
    file.write_text(HEAD + 'execute = "ask"\n')
    return file


def live(file: Path) -> LivePolicy:
    """Begin with what the file says, beside an administrator's file that does not exist yet."""
    administrator = file.parent / "policy.toml"
    start = load(file, None, administrator=administrator).groups["main"].policy
    return LivePolicy("main", start, settings_file=file, tool_names=None, administrator=administrator)


def test_a_change_holds_at_the_next_call(file: Path) -> None:
    """No restart is needed."""
    policy = live(file)
    assert policy.now().group.choices == {"execute": Decision.ASK}
    file.write_text(HEAD + 'execute = "deny"\n')
    assert policy.now().group.choices == {"execute": Decision.DENY}


@pytest.mark.clause("POL-4")
def test_let_it_run_is_read_once_at_the_start(file: Path) -> None:
    """Who can write the file while the host runs cannot switch the questions off."""
    policy = live(file)
    file.write_text(HEAD + 'everything = "allow"\n')
    now = policy.now()
    assert (now.group.everything, now.broken) == ("ask", "")


@pytest.mark.clause("POL-3")
def test_a_broken_file_is_told_until_it_is_mended(file: Path) -> None:
    """What it said last stands beside the fault."""
    policy = live(file)
    file.write_text("[groups.main\n")
    assert "is not TOML" in policy.now().broken
    assert policy.now().group.choices == {"execute": Decision.ASK}
    file.write_text(HEAD + 'execute = "allow"\n')
    assert policy.now().broken == ""
    file.unlink()
    assert "does not exist" in policy.now().broken


@pytest.mark.clause("POL-3")
def test_an_administrators_file_counts_from_when_it_appears(file: Path) -> None:
    """And one that cannot be acted on is told."""
    policy = live(file)
    administrator = file.parent / "policy.toml"
    administrator.write_text('[policy]\nshell = "deny"\n')
    assert policy.now().administrator.choices == {"shell": Decision.DENY}
    administrator.write_text("[")
    assert "is not TOML" in policy.now().unreadable
    administrator.unlink()
    administrator.symlink_to("policy.toml")
    assert "cannot be read" in policy.now().unreadable
