"""The closed list of tool servers, as it is read and judged (PASS-3, BOX-5, SEC-1)."""

from pathlib import Path

import pytest

from host.app.reading import read_settings
from host.config.load import parse
from host.config.servers import is_server_tool, lent_to
from host.config.settings import ServerSettings, Settings
from host.errors import SettingsError

GROUPS = """
[models.main]
provider = "openai"
model = "m"
[groups.main]
[groups.main.folders]
docs = { path = "/srv/docs", mode = "read" }
[secrets.github]
ref = "env:GITHUB"
hosts = ["api.github.com"]
"""


def read(text: str) -> Settings:
    """Read settings with the groups above."""
    return parse((GROUPS + text).encode(), Path("/h/elis.toml"), ("http",), administrator=Path("/nonexistent"))


def refused(text: str) -> str:
    """Return what is said of settings that cannot stand."""
    with pytest.raises(SettingsError) as caught:
        read(text)
    return caught.value.message


@pytest.mark.clause("PASS-3")
def test_an_entry_as_the_contract_shows_it_is_read() -> None:
    """Command, groups, folders, hosts and a lent secret."""
    settings = read(
        '[mcp.files]\ncommand = ["mcp-server-files", "/workspace/docs"]\ngroups = ["main"]\nfolders = ["docs", "."]\n'
        'network = []\nenv = { TOKEN = "secret:github" }\n'
    )
    assert settings.mcp["files"] == ServerSettings(
        groups=("main",),
        command=("mcp-server-files", "/workspace/docs"),
        folders=("docs", "."),
        env={"TOKEN": "secret:github"},
    )
    assert lent_to(settings.mcp.values()) == {"github"}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('command = ["x"]', "mcp.s.groups: is missing"),
        ('command = ["x"]\ngroups = []', "mcp.s.groups: names no group"),
        ('command = ["x"]\ngroups = ["other"]', "mcp.s.groups: names no group of this file"),
        ('groups = ["main"]', "needs either command or url"),
        ('groups = ["main"]\ncommand = ["x"]\nurl = "https://m.example.org/"', "needs either command or url"),
        ('groups = ["main"]\nurl = "http://m.example.org/"', "no https address of a public host"),
        ('groups = ["main"]\nurl = "https://127.0.0.1/"', "no https address of a public host"),
        ('groups = ["main"]\nurl = "https://nas.local/"', "no https address of a public host"),
        ('groups = ["main"]\nurl = "https://m.example.org/"\nfolders = ["docs"]', "mcp.s.folders: has no meaning"),
        ('groups = ["main"]\nurl = "https://m.example.org/"\nenv = { A = "b" }', "mcp.s.env: has no meaning"),
        ('groups = ["main"]\nurl = "https://m.example.org/"\ntoken = "abc"', "mcp.s.token: is no reference"),
        ('groups = ["main"]\nurl = "https://m.example.org/"\ntoken = "secret:no"', "mcp.s.token: names no secret"),
        ('groups = ["main"]\ncommand = ["x"]\ntoken = "secret:github"', "mcp.s.token: has no meaning"),
        ('groups = ["main"]\ncommand = ["x"]\nfolders = ["out"]', "names no folder of the group main"),
        ('groups = ["main"]\ncommand = ["x"]\nnetwork = ["10.0.0.1"]', "mcp.s.network: holds what is no public host"),
        ('groups = ["main"]\ncommand = ["x"]\nenv = { "A-B" = "c" }', "no name of a variable"),
        ('groups = ["main"]\ncommand = ["x"]\nenv = { A = "secret:no" }', "mcp.s.env.A: names no secret"),
        ('groups = ["main"]\ncommand = ["x"]\nenv = 5', "should be a table of texts"),
        ('groups = ["main"]\ncommand = "x"', "should be a list of texts"),
        ('groups = ["main"]\ncommand = ["x"]\nshell = true', "mcp.s.shell: unknown key"),
    ],
)
def test_what_cannot_stand_is_named_with_its_key(entry: str, said: str) -> None:
    """Strictly, like all settings."""
    assert said in refused(f"[mcp.s]\n{entry}\n")


def test_a_long_name_leaves_no_room_for_its_tools() -> None:
    """A tool's name has 64 characters in all."""
    assert "more than 32 characters" in refused(f'[mcp.{"a" * 33}]\ncommand = ["x"]\ngroups = ["main"]\n')


@pytest.mark.clause("PASS-3")
def test_a_policy_may_name_the_tools_of_the_servers_that_there_are() -> None:
    """And of no others; an administrator, who knows no servers, may name any."""
    server = '[mcp.files]\ncommand = ["x"]\ngroups = ["main"]\n'
    settings = read(f'[groups.main.policy]\nfiles__read = "allow"\n{server}')
    assert settings.groups["main"].policy.choices["files__read"] == "allow"
    assert "files__read: unknown key" in refused('[groups.main.policy]\nfiles__read = "allow"\n')
    assert is_server_tool("any__name", None)
    assert not is_server_tool("any_name", None)
    assert not is_server_tool("any__", {"any"})


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize(
    "entry",
    [
        'command = ["x", "--token", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"]',
        'command = ["x"]\nenv = { API_KEY = "Zx81kQpL93mnB7vCw2rT" }',
        'url = "https://m.example.org/?k=ghp_abcdefghijklmnopqrstuvwxyz0123456789"',
    ],
)
def test_a_raw_secret_in_an_entry_ends_the_start_without_being_repeated(entry: str, tmp_path: Path) -> None:
    """In arguments, variables and addresses."""
    file = tmp_path / "elis.toml"
    file.write_text(f'{GROUPS}[mcp.s]\ngroups = ["main"]\n{entry}\n')
    with pytest.raises(SettingsError) as caught:
        read_settings(file, ("http",))
    assert "mcp.s." in caught.value.message
    assert "ghp_" not in caught.value.message
    assert "Zx81" not in caught.value.message


@pytest.mark.clause("SEC-2")
@pytest.mark.parametrize(
    ("entry", "fits"),
    [
        ('command = ["x"]\nnetwork = ["=api.github.com"]\nenv = { T = "secret:github" }', True),
        ('command = ["x"]\nenv = { T = "secret:github" }', True),
        ('command = ["x"]\nnetwork = ["api.github.com"]\nenv = { T = "secret:github" }', False),
        ('command = ["x"]\nnetwork = ["=evil.example.org"]\nenv = { T = "secret:github" }', False),
        ('url = "https://api.github.com/mcp"\ntoken = "secret:github"', True),
        ('url = "https://m.example.org/mcp"\ntoken = "secret:github"', False),
    ],
)
def test_a_secret_that_is_bound_to_hosts_goes_to_no_server_that_reaches_others(
    entry: str, fits: bool, tmp_path: Path
) -> None:
    """A name without = stands for its subdomains too, which may be somebody else's."""
    file = tmp_path / "elis.toml"
    file.write_text(f'{GROUPS}[mcp.s]\ngroups = ["main"]\n{entry}\n')
    if fits:
        assert read_settings(file, ("http",)).mcp
        return
    with pytest.raises(SettingsError, match="reaches others as well"):
        read_settings(file, ("http",))
