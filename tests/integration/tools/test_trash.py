"""What the trash keeps of overwritten files, and how a write that is run again knows that it was there before."""

import contextlib
import os

import pytest

from host.errors import PathViolation
from host.tools import trash
from host.tools.jail import Jail, Present
from host.tools.seen import ChangedSince

from .conftest import Place, names


def anything(_shown: str, _present: Present | None) -> None:
    """Admit every write."""


def write(jail: Jail, path: str, text: str = "new", key: str = "t1:1.0") -> str | None:
    """Write and return where the earlier version is kept."""
    return jail.write(path, text.encode(), key=key, admit=anything).earlier


def _keep(place: Place, name: str, text: str = "", key: str = "t1:1.0") -> str | None:
    """Keep a version, or mark that there is none, as a write does just before its rename."""
    with contextlib.ExitStack() as stack:
        workspace = os.open(place.workspace, os.O_RDONLY)
        stack.callback(os.close, workspace)
        if not text:
            return trash.keep(workspace, key, name, None)
        (place.workspace / name).write_text(text)
        descriptor = os.open(place.workspace / name, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        version = trash.Version(folder=workspace, name=name, descriptor=descriptor)
        return trash.keep(workspace, key, name, version)


@pytest.mark.clause("PATH-2", "REC-6")
def test_the_same_write_again_changes_nothing_and_answers_the_same(jail: Jail, place: Place) -> None:
    """Run again after a crash one version is kept: the one from before the call."""
    (place.workspace / "file").write_text("old")
    first = write(jail, "file", "new")
    status = (place.workspace / "file").stat()
    assert write(jail, "file", "new") == first
    assert (place.workspace / "file").stat().st_ino == status.st_ino
    assert names(place.workspace / ".elis" / "trash") == ["t1-1.0~file"]
    assert first is not None
    assert (place.workspace / first).read_text() == "old"


@pytest.mark.clause("PATH-2", "REC-1")
@pytest.mark.parametrize("links", [1, 2])
def test_a_write_that_a_crash_stopped_before_its_rename_is_done_when_run_again(
    jail: Jail, place: Place, links: int
) -> None:
    """The version that it kept is no sign that it was done, be it the file itself or a copy of it."""
    (place.workspace / "file").touch()
    if links > 1:
        os.link(place.workspace / "file", place.workspace / "other")
    first = _keep(place, "file", "old")
    assert write(jail, "file", "new") == first == ".elis/trash/t1-1.0~file"
    assert (place.workspace / ".elis/trash/t1-1.0~file").read_text() == "old"
    assert _keep(place, "made") is None
    assert write(jail, "made", "new") is None
    assert (place.workspace / "made").read_text() == (place.workspace / "file").read_text() == "new"
    assert names(place.workspace / ".elis" / "trash") == ["t1-1.0+made", "t1-1.0~file"]


@pytest.mark.clause("PATH-2", "REC-1")
@pytest.mark.parametrize("before", ["old", None])
@pytest.mark.parametrize("how", ["in place", "by another file"])
def test_a_write_run_again_does_not_go_over_what_somebody_did_since(
    jail: Jail, place: Place, before: str | None, how: str
) -> None:
    """Neither where it replaced a version nor where it made the file; another call may write there."""
    file = place.workspace / "file"
    if before is not None:
        file.write_text(before)
    earlier = write(jail, "file", "new")
    if how == "by another file":
        file.unlink()
    file.write_text("a person's work")
    with pytest.raises(ChangedSince, match=r"file already before the host stopped, .* Read it again first"):
        write(jail, "file", "new")
    assert file.read_text() == "a person's work"
    assert earlier is None or (place.workspace / earlier).read_text() == before
    later = write(jail, "file", "newer", key="t1:2.0")
    assert later is not None
    assert (place.workspace / later).read_text() == "a person's work"


@pytest.mark.clause("REC-1")
def test_a_file_that_was_removed_since_is_not_brought_back(jail: Jail, place: Place) -> None:
    """Where it stood before the call; whether a new one was ever made is not known, so that one is made."""
    (place.workspace / "file").write_text("old")
    for name in ("file", "made"):
        write(jail, name)
        (place.workspace / name).unlink()
    with pytest.raises(ChangedSince):
        write(jail, "file")
    assert write(jail, "made") is None
    assert names(place.workspace) == [".elis", "made"]


@pytest.mark.clause("PATH-2")
def test_a_kept_version_is_never_replaced_by_another(place: Place, open_jail: Jail) -> None:
    """The second of one call and name gets a further name; the same content does not."""
    assert _keep(place, "file", "one") == ".elis/trash/t1-1.0~file"
    (place.workspace / "file").unlink()  # it is the kept one itself
    assert _keep(place, "file", "two") == ".elis/trash/t1-1.0~file~2"
    assert _keep(place, "file", "two") == ".elis/trash/t1-1.0~file~2"
    assert [(place.workspace / ".elis/trash" / name).read_text() for name in ("t1-1.0~file", "t1-1.0~file~2")] == [
        "one",
        "two",
    ]
    assert open_jail.read(".elis/trash/t1-1.0~file", 100).data == b"one"


@pytest.mark.clause("PATH-2", "REC-1")
def test_marks_of_new_files_are_bounded_and_displace_no_version(place: Place, open_jail: Jail) -> None:
    """They have a number of their own."""
    (place.workspace / "file").write_text("old")
    write(open_jail, "file", key="t:0000")
    for number in range(1, trash.VERSIONS + 10):
        write(open_jail, f"new{number}", key=f"t:{number:04}")
    kept = names(place.workspace / ".elis" / "trash")
    assert kept[0] == "t-0000~file"
    assert len(kept) == 1 + trash.VERSIONS
    assert kept[-1] == f"t-{trash.VERSIONS + 9:04}+new{trash.VERSIONS + 9}"


@pytest.mark.clause("PATH-2")
def test_the_trash_is_bounded_by_number_and_keeps_the_newest(place: Place, open_jail: Jail) -> None:
    """The oldest versions go first."""
    (place.workspace / "file").write_text("0")
    for number in range(1, trash.VERSIONS + 10):
        write(open_jail, "file", str(number), key=f"t:{number:04}")
    kept = names(place.workspace / ".elis" / "trash")
    assert len(kept) == trash.VERSIONS
    assert kept[-1] == f"t-{trash.VERSIONS + 9:04}~file"
    assert kept[0] == "t-0010~file"


@pytest.mark.clause("PATH-2")
def test_the_trash_is_bounded_by_size_but_keeps_what_was_just_replaced(place: Place, open_jail: Jail) -> None:
    """Even when that alone is over the bound."""
    for number, size in enumerate((trash.BYTES - 10, 100, trash.BYTES + 5)):
        with (place.workspace / "file").open("wb") as file:
            file.truncate(size)
        write(open_jail, "file", f"n{number}", key=f"t:{number}")
    assert names(place.workspace / ".elis" / "trash") == ["t-2~file"]


@pytest.mark.clause("PATH-2")
def test_a_kept_version_stays_as_it_was_whoever_has_the_file_open(jail: Jail, place: Place) -> None:
    """A program that goes on writing into it writes into what nobody has kept."""
    (place.workspace / "log").write_text("line 1\n")
    (place.workspace / "log").chmod(0o755)
    with (place.workspace / "log").open("a") as program:
        earlier = write(jail, "log")
        program.write("line 2\n")
    assert earlier is not None
    assert (place.workspace / earlier).read_text() == "line 1\n"
    assert (place.workspace / "log").read_text() == "new"


@pytest.mark.clause("PATH-2")
def test_a_version_too_large_to_be_copied_at_once_is_the_file_itself(jail: Jail, place: Place) -> None:
    """A write does not take the longer, the larger the file was that it replaces."""
    with (place.workspace / "large").open("wb") as file:
        file.truncate(trash.COPIED_BYTES + 1)
    number = (place.workspace / "large").stat().st_ino
    earlier = write(jail, "large")
    assert earlier is not None
    assert (place.workspace / earlier).stat().st_ino == number


@pytest.mark.clause("PATH-2")
def test_a_link_in_the_place_of_the_trash_is_refused(jail: Jail, place: Place) -> None:
    """Earlier versions are not carried outside by it."""
    (place.workspace / "file").write_text("old")
    (place.workspace / ".elis" / "trash").symlink_to(place.top)
    with pytest.raises(PathViolation, match="plain folder"):
        write(jail, "file")
    assert (place.workspace / "file").read_text() == "old"
    assert not (place.top / "t1-1.0~file").exists()
