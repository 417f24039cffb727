"""Writing `elis.toml` without touching what the operator wrote."""

import stat
from pathlib import Path

import pytest

from host.config.load import load
from host.config.write import FIRST, add_group, remove_group, write_first
from host.errors import NotFound, PolicyViolation, ResourceBusy, SettingsError

NOWHERE = Path("/nonexistent/policy.toml")

ODD = """# mine
[host]   # keep
name = 'odd'

[groups.main] # first
stop_words = [
  "halt",  # with a comment
]

[groups.lab.budget]
steps = 3   # few

[models.main]
provider = "embedded"

[groups.lab]
guard = "off"
# about nothing
[groups.lab.policy]
shell = "deny"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a settings file in an unusual hand."""
    file = tmp_path / "elis.toml"
    file.write_text(ODD)
    return file


def test_a_first_file_is_written_once_and_for_the_owner_only(tmp_path: Path) -> None:
    """What is there is never overwritten."""
    file = tmp_path / "elis.toml"
    assert write_first(file)
    assert file.read_text() == FIRST
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("mine")
    assert not write_first(file)
    assert file.read_text() == "mine"


def test_adding_a_group_keeps_every_byte_that_was_there(path: Path) -> None:
    """The new table stands at the end."""
    add_group(path, "research")
    assert path.read_text() == ODD + "\n[groups.research]\n"
    add_group(path, "second", model="main")
    assert load(path, administrator=NOWHERE).groups["second"].model == "main"


def test_removing_a_group_takes_its_tables_and_nothing_else(path: Path) -> None:
    """Its tables may stand in several places."""
    remove_group(path, "lab")
    text = path.read_text()
    assert "lab" not in text
    assert all(kept in text for kept in ("# mine", "[host]   # keep", '"halt",  # with a comment', "[models.main]"))
    assert set(load(path, administrator=NOWHERE).groups) == {"main"}


def test_adding_and_removing_gives_back_the_same_settings(path: Path) -> None:
    """Nothing is left behind."""
    before = load(path, administrator=NOWHERE)
    add_group(path, "passing")
    remove_group(path, "passing")
    assert load(path, administrator=NOWHERE) == before


@pytest.mark.parametrize("name", ["Upper", "with space", 'quo"te', "x]\n[host", "", "-dash"])
def test_a_name_that_cannot_be_one_changes_nothing(path: Path, name: str) -> None:
    """A name is data: it cannot write settings."""
    with pytest.raises(SettingsError):
        add_group(path, name)
    assert path.read_text() == ODD


def test_what_cannot_be_done_is_refused_by_name_and_changes_nothing(path: Path) -> None:
    """An existing name, an unknown one, the default group, an unknown model."""
    with pytest.raises(ResourceBusy, match="lab already"):
        add_group(path, "lab")
    with pytest.raises(NotFound, match="no group gone"):
        remove_group(path, "gone")
    with pytest.raises(PolicyViolation, match="default group"):
        remove_group(path, "main")
    with pytest.raises(SettingsError, match="names no model"):
        add_group(path, "other", model="nothing")
    assert path.read_text() == ODD


def test_a_file_in_a_form_that_cannot_be_added_to_is_left_alone(tmp_path: Path) -> None:
    """Inline tables cannot be opened again; the person is told so."""
    file = tmp_path / "elis.toml"
    file.write_text("groups = { main = {} }\n")
    with pytest.raises(SettingsError):
        add_group(file, "lab")
    assert file.read_text() == "groups = { main = {} }\n"


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    """An operator may keep settings under version control and link them."""
    real = tmp_path / "kept" / "elis.toml"
    real.parent.mkdir()
    real.write_text(ODD)
    link = tmp_path / "elis.toml"
    link.symlink_to(real)
    add_group(link, "research")
    assert link.is_symlink()
    assert "[groups.research]" in real.read_text()
    assert list(tmp_path.glob(".*")) == []


def test_missing_or_unreadable_settings_are_told(tmp_path: Path) -> None:
    """The message says what to do."""
    with pytest.raises(SettingsError, match="elis up"):
        load(tmp_path / "elis.toml")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path / "folder")
    big = tmp_path / "big.toml"
    big.write_bytes(b"#" * 1_000_001)
    with pytest.raises(SettingsError, match="1 MB"):
        load(big)
