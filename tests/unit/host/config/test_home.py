"""Where the home is and what its names are, without touching a disk."""

from pathlib import Path

import pytest

from host.config.home import Home
from host.errors import PathViolation


def test_home_is_what_is_given_else_the_variable_else_the_default() -> None:
    """The contract's order: --home, $ELIS_HOME, ~/.elis."""
    environment = {"ELIS_HOME": "/from/variable"}
    assert Home.find(Path("/given"), environment).root == Path("/given")
    assert Home.find(None, environment).root == Path("/from/variable")
    assert Home.find(None, {}).root == Path("~/.elis").expanduser()
    assert Home.find(None, {"ELIS_HOME": ""}).root == Path("~/.elis").expanduser()


def test_a_relative_home_is_taken_from_the_current_folder() -> None:
    """Later changes of the current folder do not move the home."""
    assert Home.find(Path("x/../y"), {}).root == Path.cwd() / "y"


def test_files_lie_where_the_contract_says() -> None:
    """Other programs rely on these names."""
    home = Home(root=Path("/h"))
    group = home.group("main")
    assert [str(path) for path in (home.settings, home.token_file, home.journal, home.address_file)] == [
        "/h/elis.toml",
        "/h/token",
        "/h/host.db",
        "/h/run/address",
    ]
    assert [str(path) for path in (group.workspace, group.journal, group.charter)] == [
        "/h/groups/main/workspace",
        "/h/groups/main/journal.db",
        "/h/groups/main/charter.md",
    ]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a\0b"])
def test_a_group_name_cannot_lead_out_of_the_groups_folder(name: str) -> None:
    """A name from a request is never a path."""
    with pytest.raises(PathViolation):
        Home(root=Path("/h")).group(name)
