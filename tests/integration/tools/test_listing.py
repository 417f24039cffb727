"""The tool that lists folders."""

import os
import re

import msgspec
import pytest

from host.errors import PathViolation, ToolFailed
from host.tools.listing import ListFiles, ListFilesArguments
from host.tools.tool import Scope

from .conftest import Place


async def listed(scope: Scope, **arguments: str | int) -> str:
    """List and return what the model is told."""
    return (await ListFiles().run(msgspec.convert(arguments, ListFilesArguments), scope)).text


@pytest.mark.clause("PASS-5", "PATH-4")
async def test_a_folder_is_listed_with_kinds_sizes_and_the_further_folders(scope: Scope, place: Place) -> None:
    """One line an entry, in order; a total first."""
    (place.workspace / "b.txt").write_text("12345")
    (place.workspace / "a").mkdir()
    (place.workspace / "a" / "inner").write_text("")
    (place.workspace / "link").symlink_to("../outside")
    os.mkfifo(place.workspace / "pipe")
    assert (await listed(scope)).split("\n") == [
        "/workspace: 7 entries:",
        ".elis/",
        "a/",
        "b.txt 5",
        "docs/",
        "link -> ../outside",
        "out/",
        "pipe (device, pipe or socket)",
    ]
    assert await listed(scope, path="docs") == "docs: 1 entry:\ndocs/guide 5"
    assert await listed(scope, path="out") == "out: 0 entries."


@pytest.mark.clause("PASS-5")
async def test_a_pattern_finds_files_at_any_depth(scope: Scope, place: Place) -> None:
    """Also in the further folders; what other programs keep for themselves is not entered."""
    for path in ("x.py", "src/deep/y.py", "src/z.txt", ".git/hook.py", "node_modules/m.py"):
        (place.workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (place.workspace / path).write_text("")
    (place.read / "d.py").write_text("")
    assert (await listed(scope, pattern="*.py")).split("\n") == [
        "/workspace: 3 entries like '*.py':",
        "docs/d.py 0",
        "src/deep/y.py 0",
        "x.py 0",
    ]
    assert "hook.py" in await listed(scope, path=".git", pattern="*.py")
    assert await listed(scope, path="src", pattern="deep/*") == "src: 1 entry like 'deep/*':\nsrc/deep/y.py 0"
    assert await listed(scope, pattern="*.rs") == "/workspace: 0 entries like '*.rs'."


@pytest.mark.clause("PASS-5")
@pytest.mark.parametrize("arguments", [{"depth": 3}, {"pattern": "*[0-9]"}])
async def test_a_long_listing_is_read_by_following_the_calls_that_are_named(
    scope: Scope, place: Place, arguments: dict[str, str | int]
) -> None:
    """Every page says which entries of how many; together they are all, each once, in order."""
    for number in range(23):
        (place.workspace / f"d{number % 3}" / f"e{number}").mkdir(parents=True)
    everything = (await listed(scope, **arguments)).split("\n")[1:]
    found: list[str] = []
    asked = arguments | {"limit": 7}
    while True:
        head, *lines = (await listed(scope, **asked)).split("\n")
        assert f"{len(everything)} entries" in head
        if "Read on" not in lines[-1]:
            found += lines
            break
        assert f"{len(found) + 1}-{len(found) + 7} shown" in head
        found += lines[:-1]
        call = re.search(r"Read on: list_files (\{.*\})\]", lines[-1])
        assert call is not None
        asked = msgspec.json.decode(call[1], type=dict[str, str | int])
    assert found == everything


@pytest.mark.clause("PASS-5")
async def test_names_that_are_no_utf_8_are_listed_with_escapes(scope: Scope, place: Place) -> None:
    """In folders, files and targets of links; the pages that are named follow each other to the end."""
    folder = place.workspace / os.fsdecode(b"d\xe9")
    folder.mkdir()
    for name in (b"\xff", b"a", b"b\xc3\xa9\xe9", b"z"):
        (folder / os.fsdecode(name)).touch()
    (folder / "link").symlink_to(os.fsdecode(b"caf\xe9"))
    everything = await listed(scope, path="d\\xe9")
    everything.encode()
    assert everything.split("\n") == [
        "d\\xe9: 5 entries:",
        "d\\xe9/\\xff 0",
        "d\\xe9/a 0",
        "d\\xe9/b\u00e9\\xe9 0",
        "d\\xe9/link -> caf\\xe9",
        "d\\xe9/z 0",
    ]
    found: list[str] = []
    asked: dict[str, str | int] = {"path": ".", "pattern": "d\\xe9/*", "limit": 1}
    for _ in range(4):
        _, line, last = (await listed(scope, **asked)).split("\n")
        found.append(line)
        call = re.search(r"Read on: list_files (\{.*\})\]", last)
        assert call is not None
        asked = msgspec.json.decode(call[1], type=dict[str, str | int])
    found.append((await listed(scope, **asked)).split("\n")[1])
    assert found == everything.split("\n")[1:]


async def test_links_are_not_followed_out(scope: Scope, place: Place) -> None:
    """Neither in the walk nor by name."""
    (place.workspace / "way").symlink_to(place.top)
    assert "outside" not in await listed(scope, depth=64)
    with pytest.raises(PathViolation):
        await listed(scope, path="way")


async def test_a_file_is_no_folder(scope: Scope, place: Place) -> None:
    """It is said what to use instead."""
    (place.workspace / "a").write_text("")
    with pytest.raises(ToolFailed, match="list_files shows what is what"):
        await listed(scope, path="a")


async def test_unfinished_writes_are_passed_over(scope: Scope, place: Place) -> None:
    """A crash leaves them; they are nobody's files."""
    (place.workspace / ".elis-tmp-0011223344556677").write_text("")
    assert ".elis-tmp" not in await listed(scope, depth=64)
