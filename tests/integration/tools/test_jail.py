"""Paths that lead out and paths that stay inside, on a real disk (PATH-1, PATH-2, PATH-4)."""

import contextlib
import os
import socket
import stat
from pathlib import Path

import pytest

from host.config.settings import FolderSettings
from host.errors import PathViolation, PolicyViolation, SettingsError, ToolFailed
from host.tools import beneath
from host.tools.jail import Jail, Missing, Present
from host.tools.replace import content_hash

from .conftest import Place, names

LIMIT = 1 << 20


def anything(_shown: str, _present: Present | None) -> None:
    """Admit every write."""


def write(jail: Jail, path: str, text: str = "new", key: str = "t1:1.0") -> str | None:
    """Write and return where the earlier version is kept."""
    return jail.write(path, text.encode(), key=key, admit=anything).earlier


def _lay_traps(place: Place) -> None:
    """Put everything into the workspace that leads elsewhere or is no file."""
    ws = place.workspace
    (ws / "deep").mkdir()
    (ws / "deep" / "file").write_text("deep")
    (ws / "to_outside").symlink_to(place.top / "outside")
    (ws / "to_outside_relative").symlink_to("../outside")
    (ws / "to_sibling").symlink_to("../ws-old")
    (ws / "to_nowhere").symlink_to("../not-there")
    (ws / "to_root").symlink_to("/")
    (ws / "to_proc").symlink_to("/proc/self/root")
    (ws / "to_descriptor").symlink_to("/proc/self/fd/0")
    (ws / "to_null").symlink_to("/dev/null")
    (ws / "deep" / "up").symlink_to("../../outside")
    (ws / "deep" / "chain").symlink_to("up")
    (ws / "circle").symlink_to("circle")
    os.mkfifo(ws / "fifo")
    with socket.socket(socket.AF_UNIX) as unix:
        here = Path.cwd()
        os.chdir(ws)  # the path of a socket may not be long
        try:
            unix.bind("socket")
        finally:
            os.chdir(here)


VIOLATIONS = [
    "to_outside",
    "to_outside_relative",
    "to_sibling/secret",
    "to_nowhere",
    "to_root/etc/passwd",
    "to_proc/etc/passwd",
    "to_descriptor",
    "to_null",
    "deep/up",
    "deep/chain",
    "circle",
    "fifo",
    "socket",
    "deep/../../outside",
    "../outside",
    "../ws-old/secret",
    "/etc/passwd",
    "/proc/self/environ",
    "/workspace-old/x",
    "a\0b",
    "",
]


@pytest.mark.clause("PATH-1")
@pytest.mark.parametrize("path", VIOLATIONS)
def test_a_path_that_leads_out_is_a_violation_for_reading_and_writing(jail: Jail, place: Place, path: str) -> None:
    """Nothing is read, nothing is changed, and opening a pipe does not wait for a writer."""
    _lay_traps(place)
    before = sorted(str(found) for found in place.top.rglob("*"))
    with pytest.raises(PathViolation):
        jail.read(path, LIMIT)
    with pytest.raises(PathViolation):
        jail.check(path, writing=True)
    with pytest.raises(PathViolation):
        write(jail, path)
    assert sorted(str(found) for found in place.top.rglob("*")) == before
    assert (place.top / "outside").read_text() == "outside"


@pytest.mark.clause("PATH-1")
@pytest.mark.parametrize("path", ["to_root/tmp/new", "to_sibling/new", "deep/up/new", "to_nowhere/a/b"])
def test_nothing_is_made_on_the_other_side_of_a_link(jail: Jail, place: Place, path: str) -> None:
    """Folders on the way are made only beneath the root."""
    _lay_traps(place)
    with pytest.raises((PathViolation, ToolFailed)):
        write(jail, path)
    assert not (place.top / "ws-old" / "new").exists()
    assert not (place.top / "not-there").exists()


@pytest.mark.clause("PATH-1")
@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("link", "file"),
        ("link", "./sub/../file"),
        ("sub/link", "../file"),
        ("link", "sub/back"),
        ("link", "/workspace/file"),
        ("link", "REAL/file"),
        ("folder/file", "FOLDER"),
        ("absolute/file", "FOLDER_ABSOLUTE"),
    ],
)
def test_links_that_stay_inside_work(jail: Jail, place: Place, link: str, target: str) -> None:
    """Relative ones, absolute ones made in the sandbox or on the machine, links to folders, links to links."""
    ws = place.workspace
    (ws / "sub").mkdir()
    (ws / "file").write_text("inside")
    (ws / "sub" / "back").symlink_to("../file")
    if target == "FOLDER":
        (ws / "folder").symlink_to(".")
    elif target == "FOLDER_ABSOLUTE":
        (ws / "absolute").symlink_to("/workspace")
    else:
        (ws / link).symlink_to(target.replace("REAL", str(ws)))
    content = jail.read(link, LIMIT)
    assert (content.data, content.shown) == (b"inside", "file")
    jail.check(link, writing=True)
    write(jail, link, "changed")
    assert (ws / "file").read_text() == "changed"
    assert not (ws / "file").is_symlink()


@pytest.mark.clause("PATH-1")
def test_a_link_to_a_file_that_is_not_there_yet_is_written_through(jail: Jail, place: Place) -> None:
    """As with any program."""
    (place.workspace / "link").symlink_to("made/later")
    write(jail, "link")
    assert (place.workspace / "made" / "later").read_text() == "new"
    assert (place.workspace / "link").is_symlink()


@pytest.mark.clause("PATH-1")
def test_the_workspace_is_the_folder_that_was_opened(jail: Jail, place: Place) -> None:
    """Putting another folder in its place later changes nothing."""
    (place.workspace / "file").write_text("mine")
    place.workspace.rename(place.top / "moved")
    place.workspace.mkdir()
    (place.workspace / "file").write_text("swapped")
    assert jail.read("file", LIMIT).data == b"mine"
    write(jail, "file", "written")
    assert (place.top / "moved" / "file").read_text() == "written"
    assert (place.workspace / "file").read_text() == "swapped"


@pytest.mark.clause("PATH-1")
def test_devices_are_refused_without_being_opened(place: Place) -> None:
    """In a folder that holds some."""
    jail = Jail.open(place.workspace, {"dev": FolderSettings(path="/dev", mode="write")})
    try:
        for path in ("dev/null", "dev/zero", "dev/tty"):
            with pytest.raises(PathViolation, match="device"):
                jail.read(path, LIMIT)
        with pytest.raises(PathViolation, match="no regular file"):
            write(jail, "dev/null")
    finally:
        jail.close()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_this_kernel_has_the_system_call() -> None:
    """Else the tests of it would test the walk twice."""
    assert beneath.works()


@pytest.mark.clause("PATH-4")
def test_folders_are_seen_beneath_the_workspace_in_their_mode(jail: Jail, place: Place) -> None:
    """A folder to read refuses writes by name of the setting; a folder to write takes them."""
    assert jail.read("docs/guide", LIMIT).shown == "docs/guide"
    assert jail.read("/workspace/docs/guide", LIMIT).data == b"guide"
    for path in ("docs/guide", "docs/new", "/workspace/docs/a/b"):
        with pytest.raises(PathViolation, match=r"read-only \(folders\.docs in elis\.toml\)"):
            write(jail, path)
        with pytest.raises(PathViolation, match="read-only"):
            jail.check(path, writing=True)
    write(jail, "out/a/b")
    assert (place.write / "a" / "b").read_text() == "new"
    assert names(place.read) == ["guide"]


@pytest.mark.clause("PATH-4", "PATH-1")
def test_a_link_cannot_carry_the_rights_of_one_root_into_another(jail: Jail, place: Place) -> None:
    """A link in the workspace to a folder opened for reading stays for reading."""
    (place.workspace / "link").symlink_to("/workspace/docs")
    assert jail.read("link/guide", LIMIT).shown == "docs/guide"
    with pytest.raises(PathViolation, match="read-only"):
        write(jail, "link/guide")
    with pytest.raises(PathViolation, match="read-only"):
        write(jail, "link/fresh/new")
    (place.write / "up").symlink_to("../docs/guide")
    with pytest.raises(PathViolation):
        jail.read("out/up", LIMIT)


@pytest.mark.clause("PATH-4")
@pytest.mark.parametrize("name", ["..", ".elis", "a/b", ".", ""])
def test_a_folder_needs_a_plain_name(place: Place, name: str) -> None:
    """It is seen under that name in the workspace."""
    with pytest.raises(SettingsError, match="plain file name"):
        Jail.open(place.workspace, {name: FolderSettings(path=str(place.read))})


@pytest.mark.clause("PATH-4")
def test_a_folder_that_is_not_there_is_said_at_once(place: Place) -> None:
    """With its setting and its path."""
    with pytest.raises(SettingsError, match=r"folders\.gone: /nowhere/at/all cannot be opened"):
        Jail.open(place.workspace, {"gone": FolderSettings(path="/nowhere/at/all")})


@pytest.mark.clause("PATH-4")
@pytest.mark.parametrize("swapped", ["srv/docs", "srv"])
def test_a_folder_is_not_opened_over_a_link(place: Place, swapped: str) -> None:
    """Whatever stood in its place, or above it, when its path was looked at."""
    (place.top / swapped).rename(place.top / "away")
    (place.top / swapped).symlink_to(place.top / "away")
    with pytest.raises(SettingsError, match=r"folders\.docs: .* leads over a link that was not there"):
        Jail.open(place.workspace, {"docs": FolderSettings(path=str(place.read))})


@pytest.mark.clause("PATH-2")
def test_a_write_keeps_the_mode_and_the_earlier_version(jail: Jail, place: Place) -> None:
    """The version stands in the trash, named after the call."""
    file = place.workspace / "run.sh"
    file.write_text("old")
    file.chmod(0o750)
    earlier = write(jail, "run.sh")
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    assert earlier == ".elis/trash/t1-1.0~run.sh"
    assert (place.workspace / earlier).read_text() == "old"
    assert jail.read(earlier, LIMIT).data == b"old"
    assert names(place.workspace) == [".elis", "run.sh"]


@pytest.mark.clause("PATH-2")
def test_a_new_file_has_the_mode_that_the_umask_leaves(jail: Jail, place: Place) -> None:
    """0644 and no more; nothing is kept, for there was nothing."""
    old = os.umask(0o027)
    try:
        assert write(jail, "a/b/new") is None
    finally:
        os.umask(old)
    assert stat.S_IMODE((place.workspace / "a/b/new").stat().st_mode) == 0o640
    assert names(place.workspace / "a/b") == ["new"]


@pytest.mark.clause("PATH-2")
def test_a_write_that_is_not_admitted_changes_nothing(jail: Jail, place: Place) -> None:
    """Neither the file nor the trash, and no temporary file stays."""
    (place.workspace / "file").write_text("old")

    def refuse(shown: str, present: Present | None) -> None:
        assert present is not None
        raise PolicyViolation(f"{shown} {present.hash() == content_hash(b'old')}")

    with pytest.raises(PolicyViolation, match="file True"):
        jail.write("file", b"new", key="t1:1.0", admit=refuse)
    assert (place.workspace / "file").read_text() == "old"
    assert sorted(found.name for found in place.workspace.rglob("*")) == [".elis", "file"]


@pytest.mark.clause("PATH-2")
def test_another_name_of_the_file_keeps_the_old_content(jail: Jail, place: Place) -> None:
    """A hard link to something outside is not written through; the kept version is a copy of its own."""
    os.link(place.top / "outside", place.workspace / "hard")
    earlier = write(jail, "hard")
    assert (place.top / "outside").read_text() == "outside"
    assert (place.workspace / "hard").read_text() == "new"
    assert earlier is not None
    (place.top / "outside").write_text("changed later")
    assert (place.workspace / earlier).read_text() == "outside"


@pytest.mark.clause("PATH-2")
def test_a_name_that_is_no_utf_8_is_found_by_the_form_it_is_shown_in(jail: Jail, place: Place) -> None:
    """Also as a folder on the way and behind a link; a file of that very name comes first."""
    folder = place.workspace / os.fsdecode(b"d\xe9")
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9")).write_text("old")
    (place.workspace / "link").symlink_to(os.fsdecode(b"/workspace/d\xe9/caf\xe9"))
    for path in ("d\\xe9/caf\\xe9", "link"):
        content = jail.read(path, LIMIT)
        assert (content.shown, content.data) == ("d\\xe9/caf\\xe9", b"old")
    assert write(jail, "link") == ".elis/trash/t1-1.0~caf\\xe9"
    assert write(jail, "d\\xe9/more") is None
    assert [os.fsencode(name) for name in names(folder)] == [b"caf\xe9", b"more"]
    (place.workspace / "d\\xe9").mkdir()
    assert write(jail, "d\\xe9/caf\\xe9", key="t1:2.0") is None
    assert names(place.workspace / "d\\xe9") == ["caf\\xe9"]


@pytest.mark.clause("PATH-2", "POL-6")
@pytest.mark.parametrize("path", [".elis/x", ".elis/trash/x", "a/../.elis/x", "link/x", "link/new/x"])
def test_the_host_s_own_folder_cannot_be_written(jail: Jail, place: Place, path: str) -> None:
    """By no name; else undo could be undone."""
    (place.workspace / "link").symlink_to(".elis")
    with pytest.raises(PathViolation, match="belongs to Elis"):
        write(jail, path)
    assert names(place.workspace / ".elis") == []


@pytest.mark.parametrize(
    ("path", "error", "advice"),
    [
        ("gone", Missing, "list_files"),
        ("file/below", ToolFailed, "list_files"),
        ("folder", ToolFailed, "is a folder"),
        ("large", ToolFailed, "use shell"),
        ("x" * 300, ToolFailed, "shorter"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_with_what_to_do(
    jail: Jail, place: Place, path: str, error: type[ToolFailed], advice: str
) -> None:
    """These are failures of the call, not attempts to get out."""
    (place.workspace / "file").write_text("x")
    (place.workspace / "folder").mkdir()
    (place.workspace / "large").write_bytes(b"x" * (LIMIT + 1))
    with pytest.raises(error, match=advice):
        jail.read(path, LIMIT)
    jail.check(path, writing=True)


def test_a_folder_is_not_overwritten(jail: Jail, place: Place) -> None:
    """Nor is the workspace itself, by any of its names."""
    (place.workspace / "folder").mkdir()
    for path in ("folder", "folder/", ".", "/workspace", "docs", "folder/.."):
        with pytest.raises(ToolFailed, match="is a folder"):
            write(jail, path)


def test_nothing_is_left_open(place: Place, open_descriptors: None) -> None:
    """Whether a path is fine or not, by either way of opening."""
    _lay_traps(place)
    for kernel in (True, False):
        jail = Jail.open(place.workspace, place.folders(), kernel=kernel)
        for path in [*VIOLATIONS, "deep/file", "gone", "deep", "docs/guide", "new/file"]:
            with contextlib.suppress(PathViolation, ToolFailed):
                jail.check(path)
            with contextlib.suppress(PathViolation, ToolFailed):
                jail.read(path, LIMIT)
            with contextlib.suppress(PathViolation, ToolFailed):
                write(jail, path)
        jail.close()
