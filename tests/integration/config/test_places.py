"""Paths of the settings that a group could make lead elsewhere, on a real disk (PATH-4)."""

from pathlib import Path

import msgspec
import pytest

from host.config.load import load
from host.config.places import way
from host.config.rules import KEPT
from host.errors import SettingsError
from host.tools.output_file import FOLDER
from host.tools.outputs import DOWNLOADS

MODEL = '[models.main]\nprovider = "openai"\nmodel = "m"\n'
NO_TOOLS = frozenset[str]()


class Disk(msgspec.Struct, frozen=True):
    """A home beside folders of the operator."""

    top: Path

    @property
    def projects(self) -> Path:
        """A folder with one in it."""
        return self.top / "srv" / "projects"

    def load(self, *folders: str, more: str = "") -> None:
        """Load settings with these folders, each "GROUP.NAME PATH MODE"; PATH starts at the top."""
        text = more + "[groups.main]\n[groups.other]\n"
        for folder in folders:
            key, path, mode = folder.split()
            group, _, name = key.partition(".")
            text += f'[groups.{group}.folders.{name}]\npath = "{self.top}/{path}"\nmode = "{mode}"\n'
        file = self.top / "home" / "elis.toml"
        file.write_text(text.replace("TOP", str(self.top)))
        load(file, NO_TOOLS)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """Make the folders."""
    disk = Disk(tmp_path)
    for folder in (
        disk.projects / "x",
        tmp_path / "home",
        tmp_path / "data" / "x",
        tmp_path / "home/groups/g/workspace",
    ):
        folder.mkdir(parents=True)
    return disk


WIDE = "main.projects srv/projects write"


@pytest.mark.clause("PATH-4")
@pytest.mark.parametrize("group", ["main", "other"])
@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize("path", ["srv/projects/x", "srv/projects/x/", "srv/projects/x/../y", "srv/projects/gone/deep"])
def test_a_folder_in_a_folder_that_a_group_may_write_is_refused(disk: Disk, group: str, mode: str, path: str) -> None:
    """A command may move it away and put a link to anything there, for the next start."""
    with pytest.raises(SettingsError) as refused:
        disk.load(WIDE, f"{group}.x {path} {mode}")
    assert f"groups.{group}.folders.x.path: leads through groups.main.folders.projects" in str(refused.value)
    assert 'write `mode = "read"` for the other' in str(refused.value)


@pytest.mark.clause("PATH-4")
def test_so_is_one_whose_path_passes_through_such_a_folder_by_links(disk: Disk) -> None:
    """Into it, out of it, or under another name."""
    (disk.top / "into").symlink_to(disk.projects / "x")
    (disk.projects / "out").symlink_to(disk.top / "data")
    (disk.top / "alias").symlink_to("srv")
    for path in ("into", "srv/projects/out", "srv/projects/out/x", "alias/projects/x"):
        with pytest.raises(SettingsError, match=r"folders\.x\.path: leads through groups\.main\.folders\.projects"):
            disk.load(WIDE, f"other.x {path} read")
    with pytest.raises(SettingsError, match=r"folders\.x\.path: leads through groups\.main\.folders\.projects"):
        disk.load("main.projects alias/projects write", "other.x srv/projects/x read")


@pytest.mark.clause("PATH-4")
def test_folders_that_nobody_can_move_are_accepted(disk: Disk) -> None:
    """Side by side, the same one twice, within one for reading, and over links of the operator's own."""
    (disk.top / "mine").symlink_to("data")
    disk.load(WIDE, "other.projects srv/projects write")
    disk.load(WIDE, "other.x mine/x write")
    disk.load("main.projects srv/projects read", "main.x srv/projects/x write", "other.x srv/projects/x read")
    disk.load(WIDE, "main.all srv read")


@pytest.mark.clause("PATH-4")
def test_a_way_through_the_host_s_own_folder_is_refused(disk: Disk) -> None:
    """A workspace is one that its group may write."""
    (disk.top / "home/groups/g/workspace/out").symlink_to(disk.top / "data")
    with pytest.raises(SettingsError, match=r"folders\.x\.path: leads through the host's own folder"):
        disk.load("main.x home/groups/g/workspace/out read")


@pytest.mark.clause("PATH-4", "SEC-1")
@pytest.mark.parametrize(
    ("more", "key"),
    [
        ('[secrets.token]\nref = "file:TOP/srv/projects/token"\ntools = []\n', "secrets.token.ref"),
        ('[secrets.token]\nref = "file:TOP/home/groups/g/workspace/token"\ntools = []\n', "secrets.token.ref"),
        (f'{MODEL}api_key = "file:TOP/srv/projects/key"\n', "models.main.api_key"),
        ('[host]\ntls_certificate = "TOP/data/c"\ntls_key = "TOP/srv/projects/k"\n', "host.tls_key"),
    ],
)
def test_files_that_the_host_reads_do_not_lie_where_a_group_may_write(disk: Disk, more: str, key: str) -> None:
    """A link in the place of one would give the group any file of the operator's."""
    with pytest.raises(SettingsError) as refused:
        disk.load(WIDE, more=more)
    assert f"{key}: leads through " in str(refused.value)
    if "projects" in more:
        disk.load("main.projects srv/projects read", more=more)


@pytest.mark.clause("PATH-4")
def test_neither_does_the_settings_file_itself(disk: Disk) -> None:
    """An operator may keep it elsewhere and link it, but not there."""
    (disk.projects / "elis.toml").touch()
    (disk.top / "home" / "elis.toml").symlink_to(disk.projects / "elis.toml")
    with pytest.raises(SettingsError, match=r"this file leads through groups\.main\.folders\.projects"):
        disk.load(WIDE)


def test_a_way_ends_though_links_run_in_a_circle(tmp_path: Path) -> None:
    """It leads nowhere then; opening it will tell."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert way(f"{tmp_path}/a/x")[0].name == "x"
    assert way("/../..") == (Path("/"), ())


@pytest.mark.clause("PATH-4", "SEC-1")
@pytest.mark.parametrize(
    ("more", "key"),
    [
        ('[secrets.s]\nref = "file:/usr/local/etc/token"\n', "secrets.s.ref"),
        ('[secrets.s]\nref = "file:/lib/x/token"\n', "secrets.s.ref"),
        ('[secrets.s]\nref = "file:TOP/to-usr/token"\n', "secrets.s.ref"),
        ('[models.other]\nprovider = "openai"\nmodel = "m"\napi_key = "file:/bin/key"\n', "models.other.api_key"),
        (
            '[groups.third.folders.tools]\npath = "/usr/local/tools"\nmode = "write"\n',
            "groups.third.folders.tools.path",
        ),
    ],
)
def test_what_every_sandbox_sees_is_no_place_for_what_is_one_group_s_or_the_host_s(
    disk: Disk, more: str, key: str
) -> None:
    """The system's folders are shown to commands of every group."""
    (disk.top / "to-usr").symlink_to("/usr")
    with pytest.raises(SettingsError, match="which commands of every group see") as refused:
        disk.load(more=MODEL + more)
    assert key in str(refused.value)


@pytest.mark.clause("CTX-3")
@pytest.mark.parametrize("name", ["outputs", "downloads"])
def test_a_folder_does_not_hide_what_the_host_keeps_for_a_group(disk: Disk, name: str) -> None:
    """Kept results lie there."""
    with pytest.raises(SettingsError, match="keeps what tools gave"):
        disk.load(f"main.{name} srv/projects read", more=MODEL)
    assert {FOLDER, DOWNLOADS} == set(KEPT)
