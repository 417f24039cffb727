"""The administrator's file: it narrows, and one that cannot be acted on in full is never acted on in part."""

import os
from pathlib import Path

import pytest

from host.config.administrator import Administrator, load_administrator
from host.config.load import parse
from host.errors import SettingsError
from host.passport import Decision

TOOLS = ("ask_person", "read_file", "shell", "write_file")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where the administrator's file would lie."""
    return tmp_path / "policy.toml"


@pytest.mark.clause("POL-1")
def test_it_takes_the_keys_of_a_groups_policy(file: Path) -> None:
    """Tools, classes, commands, and the two switches in the direction that narrows."""
    file.write_text(
        '[policy]\nshell = "ask"\nsend = "deny"\ndeny_commands = ["git push *"]\n'
        'everything = "ask"\nunattended = "deny"\n'
    )
    assert load_administrator(file, TOOLS) == Administrator(
        choices={"shell": Decision.ASK, "send": Decision.DENY},
        deny_commands=("git push *",),
        never_let_run=True,
        never_park=True,
    )


@pytest.mark.clause("POL-1")
def test_no_file_narrows_nothing(file: Path) -> None:
    """Most machines have none."""
    assert load_administrator(file, TOOLS) == Administrator()


@pytest.mark.clause("POL-3")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[policy]\nshell = "allow"\n', "policy.shell: cannot allow"),
        ('[policy]\neverything = "allow"\n', "policy.everything: cannot allow"),
        ('[policy]\nshel = "deny"\n', "did you mean `shell`"),
        ('[polcy]\nshell = "deny"\n', "did you mean `policy`"),
        ("policy = 3\n", "should be a table"),
        ('[policy]\nshell = "no"\n', "should be one of"),
        ("[policy\n", "is not TOML"),
        ("\udcff", "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_acted_on_in_full_is_an_error(file: Path, text: str, says: str) -> None:
    """And the host does not start with it."""
    file.write_text(text, errors="surrogateescape")
    with pytest.raises(SettingsError, match=says.replace("[", r"\[")):
        load_administrator(file, TOOLS)
    with pytest.raises(SettingsError, match=r"policy\.toml"):
        parse(b"[groups.main]\n", file.parent / "elis.toml", TOOLS, administrator=file)


@pytest.mark.clause("POL-3")
def test_a_file_that_may_exist_and_cannot_be_looked_at_is_an_error() -> None:
    """Not knowing is no permission."""
    with pytest.raises(SettingsError, match="cannot be read"):
        load_administrator(Path("/" + "x" * 300), TOOLS)


@pytest.mark.clause("POL-3")
@pytest.mark.parametrize("kind", ["too large", "dangling link", "pipe", "folder"])
def test_a_file_that_is_not_read_whole_is_an_error(file: Path, kind: str) -> None:
    """What stands at its end counts as much as its beginning, and nobody waits for a pipe."""
    match kind:
        case "too large":
            file.write_text("[policy]\n" + "# nothing\n" * 120_000 + 'execute = "deny"\n')
        case "dangling link":
            file.symlink_to(file.parent / "gone.toml")
        case "pipe":
            os.mkfifo(file)
        case _:
            file.mkdir()
    with pytest.raises(SettingsError, match=r"policy\.toml (cannot be read|is larger)"):
        load_administrator(file, TOOLS)
