"""The tool that searches in files."""

import asyncio
import os
import re
import time

import msgspec
import pytest

from host.errors import PathViolation, ToolFailed
from host.tools.search import SearchFiles, SearchFilesArguments
from host.tools.tool import Scope

from .conftest import Place


async def searched(scope: Scope, seconds: float = 20.0, **arguments: str | int | bool) -> str:
    """Search and return what the model is told."""
    return (await SearchFiles(seconds).run(msgspec.convert(arguments, SearchFilesArguments), scope)).text


def _files(place: Place) -> None:
    (place.workspace / "src" / "deep").mkdir(parents=True)
    (place.workspace / "a.py").write_text("import os\nx = 1\nIMPORT\n")
    (place.workspace / "src" / "deep" / "b.py").write_text("def f():\n    import sys\r\n")
    (place.workspace / "notes.txt").write_text("import duties\n")
    (place.workspace / "way").symlink_to(place.top)
    (place.read / "guide").write_text("how to import\n")


@pytest.mark.clause("PASS-5", "PATH-4")
async def test_a_text_is_found_with_path_and_line(scope: Scope, place: Place) -> None:
    """In the workspace and the further folders, in order, with a total."""
    _files(place)
    assert (await searched(scope, text="import")).split("\n") == [
        "4 lines in 4 files searched:",
        "a.py:1: import os",
        "docs/guide:1: how to import",
        "notes.txt:1: import duties",
        "src/deep/b.py:2:     import sys",
    ]
    assert await searched(scope, text="nowhere") == "0 lines in 4 files searched."


@pytest.mark.clause("PASS-5")
async def test_a_search_can_be_narrowed(scope: Scope, place: Place) -> None:
    """By an expression, by case, by a pattern for the path, by a folder or a file."""
    _files(place)
    assert "1 line in 4" in await searched(scope, text=r"^im\w+ o", regex=True)
    assert "5 lines in 4" in await searched(scope, text="IMPORT", ignore_case=True)
    assert "5 lines in 4" in await searched(scope, text="i.PORT", regex=True, ignore_case=True)
    assert "2 lines in 2" in await searched(scope, text="import", pattern="*.py")
    assert "1 line in 1" in await searched(scope, text="import", pattern="src/**/*.py")
    assert "1 line in 1" in await searched(scope, text="import", path="src")
    assert await searched(scope, text="import", path="a.py") == "1 line in 1 file searched:\na.py:1: import os"
    assert "docs/guide:1" in await searched(scope, text="import", path="docs/guide")


@pytest.mark.clause("PASS-5")
async def test_many_hits_are_read_by_following_the_calls_that_are_named(scope: Scope, place: Place) -> None:
    """Together they are all, each once."""
    for number in range(5):
        (place.workspace / f"f{number}").write_text("hit\nmiss\n" * 7)
    everything = (await searched(scope, text="hit")).split("\n")[1:]
    assert len(everything) == 35
    found: list[str] = []
    asked: dict[str, str | int] = {"text": "hit", "limit": 9}
    while True:
        arguments = msgspec.convert(asked, SearchFilesArguments)
        head, *lines = (await SearchFiles().run(arguments, scope)).text.split("\n")
        assert "35 lines" in head
        if "Read on" not in lines[-1]:
            found += lines
            break
        found += lines[:-1]
        call = re.search(r"Read on: search_files (\{.*\})\]", lines[-1])
        assert call is not None
        asked = msgspec.json.decode(call[1], type=dict[str, str | int])
    assert found == everything


@pytest.mark.clause("CTX-3")
async def test_what_was_not_searched_or_shown_is_said(scope: Scope, place: Place) -> None:
    """Binary files, other encodings, large files, the ends of long lines."""
    (place.workspace / "binary").write_bytes(b"hit\0hit")
    (place.workspace / "latin").write_bytes(b"hit \xfc")
    with (place.workspace / "large").open("wb") as file:
        file.truncate(17 << 20)
    (place.workspace / "long").write_text("x" * 1000 + "hit" + "y" * 1000)
    told = await searched(scope, text="hit")
    assert "1 line in 2 files searched" in told  # the long one, and the guide in docs
    assert "[Not searched, not UTF-8 text: binary, latin]" in told
    assert "[Not searched, larger than 16 MiB: large]" in told
    assert "long:1: [900 characters before] …" + "x" * 100 + "hit" + "y" * 197 + "… [803 characters after]" in told


@pytest.mark.clause("PATH-1")
async def test_hits_in_names_that_are_no_utf_8_are_told_with_escapes(scope: Scope, place: Place) -> None:
    """By folder, by file and by link; the call that reads on works, and so does what was passed over."""
    folder = place.workspace / os.fsdecode(b"d\xe9")
    folder.mkdir()
    (folder / os.fsdecode(b"f\xe9")).write_text("hit 1\nhit 2\n")
    (folder / os.fsdecode(b"g\xe9")).write_bytes(b"hit \xe9\n")
    (place.workspace / "link").symlink_to(os.fsdecode(b"d\xe9/f\xe9"))
    hits = ["d\\xe9/f\\xe9:1: hit 1", "d\\xe9/f\\xe9:2: hit 2"]
    for path in ("d\\xe9/f\\xe9", "link"):
        assert (await searched(scope, text="hit", path=path)).split("\n") == ["2 lines in 1 file searched:", *hits]
    text = await searched(scope, text="hit", path="d\\xe9")
    text.encode()
    assert text.split("\n")[1:] == [*hits, "[Not searched, not UTF-8 text: d\\xe9/g\\xe9]"]
    first = await searched(scope, text="hit", limit=1)
    call = re.search(r"Read on: search_files (\{.*\})\]", first)
    assert call is not None
    asked = msgspec.json.decode(call[1], type=dict[str, str | int | bool])
    assert (await searched(scope, 20.0, **asked)).split("\n")[1] == hits[1]


async def test_a_search_does_not_follow_links_out(scope: Scope, place: Place) -> None:
    """Nor can it be started outside, nor in a pipe."""
    _files(place)
    os.mkfifo(place.workspace / "pipe")
    assert "outside" not in await searched(scope, text="o")
    for path in ("way", "../outside", "way/outside", "pipe"):
        with pytest.raises(PathViolation):
            await searched(scope, text="o", path=path)


async def test_an_expression_that_is_none_is_said_to_be_so(scope: Scope) -> None:
    """With the place of the mistake."""
    with pytest.raises(ToolFailed, match=r"no regular expression .*unterminated.* regex to false"):
        await searched(scope, text="(", regex=True)
    with pytest.raises(ToolFailed, match="should read 'path:line'"):
        await searched(scope, text="x", cursor="nonsense")


async def test_an_endless_expression_is_ended_and_what_was_found_is_told(scope: Scope, place: Place) -> None:
    """It holds neither the lane nor the interpreter meanwhile."""
    (place.workspace / "a").write_text("aaab\n")
    (place.workspace / "b").write_text("a" * 60 + "c\n")
    meanwhile = asyncio.Event()
    asyncio.get_running_loop().call_later(0.3, meanwhile.set)
    told = await searched(scope, seconds=1.5, text="(a+)+b", regex=True)
    assert meanwhile.is_set()
    assert told.split("\n")[:2] == ["The search was not finished; what was found until then:", "a:1: aaab"]
    assert "Ended after 1.5 s" in told
    assert "simpler expression" in told


async def test_a_search_that_is_stopped_ends_at_once(scope: Scope, place: Place) -> None:
    """And its process with it."""
    (place.workspace / "b").write_text("a" * 60 + "c\n")
    others = _children()
    running = asyncio.ensure_future(searched(scope, text="(a+)+b", regex=True))
    await asyncio.sleep(0)  # it starts its process before it first waits
    children = _children() - others
    assert children
    running.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - began < 1
    assert not children & _children()


def _children() -> set[str]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:  # noqa: PTH123 - no path of ours
        return set(file.read().split())
