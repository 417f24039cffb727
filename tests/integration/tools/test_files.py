"""The tools that read, write and edit files."""

import os
import re
from collections.abc import Callable

import msgspec
import pytest

from host.errors import PathViolation, ToolFailed
from host.tools.files import EditFile, EditFileArguments, ReadFile, ReadFileArguments, WriteFile, WriteFileArguments
from host.tools.jail import Missing
from host.tools.seen import ChangedSince, SeenFiles
from host.tools.text import ANSWER_BYTES
from host.tools.tool import Scope

from .conftest import Place, names

ScopeOf = Callable[[str, str], Scope]


async def read(scope: Scope, path: str, **more: int) -> str:
    """Read and return what the model is told."""
    arguments = msgspec.convert({"path": path} | more, ReadFileArguments)
    return (await ReadFile().run(arguments, scope)).text


async def write(scope: Scope, path: str, content: str) -> str:
    """Write and return what the model is told."""
    return (await WriteFile().run(WriteFileArguments(path=path, content=content), scope)).text


async def edit(scope: Scope, path: str, old: str, new: str, *, everywhere: bool = False) -> str:
    """Edit and return what the model is told."""
    arguments = EditFileArguments(path=path, old_text=old, new_text=new, replace_all=everywhere)
    return (await EditFile().run(arguments, scope)).text


def going_on(text: str) -> dict[str, str | int]:
    """Return the arguments of the call that an answer names."""
    call = re.search(r"Read on: \w+ (\{.*\})\]\Z", text)
    assert call is not None, text
    return msgspec.json.decode(call[1], type=dict[str, str | int])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("one\ntwo\n", "a, 2 lines:\none\ntwo"),
        ("one\ntwo", "a, 2 lines:\none\ntwo"),
        ("one", "a, 1 line:\none"),
        ("\n", "a, 1 line:\n"),
        ("", "a is empty."),
        ("gr\u00fc\u00dfe\r\n", "a, 1 line:\ngr\u00fc\u00dfe\r"),
    ],
)
async def test_a_short_file_is_told_whole(scope: Scope, place: Place, content: str, told: str) -> None:
    """Exactly as it stands, with its name and the number of lines."""
    (place.workspace / "a").write_bytes(content.encode())
    assert await read(scope, "a") == told


@pytest.mark.clause("PASS-5", "CTX-3")
async def test_a_long_file_is_read_by_following_the_calls_that_are_named(scope: Scope, place: Place) -> None:
    """Every part says which lines of how many, and together they are the file."""
    lines = [f"line {number} " + "\u00e9" * (number % 300) for number in range(1, 1502)]
    (place.workspace / "long").write_text("\n".join(lines) + "\n")
    found: list[str] = []
    arguments: dict[str, str | int] = {"path": "long"}
    parts = 0
    while True:
        text = await read(scope, **arguments)  # type: ignore[arg-type]  # the call's arguments are the tool's
        parts += 1
        head, _, body = text.partition("\n")
        assert re.fullmatch(rf"long, lines {len(found) + 1}-\d+ of 1501:", head)
        assert len(text.encode()) < ANSWER_BYTES + 300
        if "Read on:" not in text:
            found += body.split("\n")
            break
        found += body.split("\n")[:-1]
        arguments = going_on(text)
    assert found == lines
    assert parts > 3


@pytest.mark.clause("CTX-3")
async def test_a_line_that_is_longer_than_an_answer_is_read_in_parts(scope: Scope, place: Place) -> None:
    """By its columns, without losing a character at the seams."""
    line = "".join(chr(0x4E00 + number % 5000) for number in range(40_000))
    (place.workspace / "line").write_text("first\n" + line + "\nlast\n")
    assert going_on(await read(scope, "line")) == {"path": "line", "start_line": 2}
    found = ""
    arguments: dict[str, str | int] = {"path": "line", "start_line": 2}
    while "start_line" in arguments and arguments["start_line"] == 2:
        text = await read(scope, **arguments)  # type: ignore[arg-type]  # the call's arguments are the tool's
        body = text.split("\n")[1]
        found += body.strip("…")
        if len(found) == len(line):
            break
        arguments = going_on(text)
    assert found == line


@pytest.mark.clause("PASS-5")
async def test_a_range_of_lines_can_be_asked_for(scope: Scope, place: Place) -> None:
    """And one past the end is said to be so."""
    (place.workspace / "a").write_text("1\n2\n3\n4\n")
    told = await read(scope, "a", start_line=2, lines=2)
    assert told.startswith("a, lines 2-3 of 4:\n2\n3\n[1 line after this are left out.")
    assert await read(scope, "a", start_line=4) == "a, lines 4-4 of 4:\n4"
    with pytest.raises(ToolFailed, match="has 4 lines; start_line 5 is past its end"):
        await read(scope, "a", start_line=5)


@pytest.mark.parametrize(
    ("data", "what"), [(b"\x7fELF\0\1", "a binary file, 6 bytes"), (b"gr\xfc\xdfe", "another encoding than UTF-8")]
)
async def test_what_is_no_text_is_said_to_be_so(scope: Scope, place: Place, data: bytes, what: str) -> None:
    """Instead of a guess at its characters."""
    (place.workspace / "a").write_bytes(data)
    assert what in await read(scope, "a")
    with pytest.raises(ToolFailed, match="use shell"):
        await edit(scope, "a", "x", "y")


@pytest.mark.clause("PATH-1")
async def test_every_file_tool_stays_inside(scope: Scope, place: Place) -> None:
    """Reading, writing and editing go through the same jail."""
    (place.workspace / "out_link").symlink_to("../outside")
    for path in ("out_link", "../outside", "/etc/hostname"):
        with pytest.raises(PathViolation):
            await read(scope, path)
        with pytest.raises(PathViolation):
            await write(scope, path, "x")
        with pytest.raises(PathViolation):
            await edit(scope, path, "outside", "x")
    assert (place.top / "outside").read_text() == "outside"


@pytest.mark.clause("PATH-2", "REC-1", "REC-6")
async def test_a_write_run_again_with_its_key_answers_the_same(scope_of: ScopeOf, place: Place) -> None:
    """As recovery does; the earlier version is the one from before the call."""
    (place.workspace / "a").write_text("old")
    told = await write(scope_of("t1", "2.0"), "a", "new\n")
    assert told == "wrote a: 1 line, 4 bytes; the version before it is .elis/trash/t1-2.0~a."
    assert await write(scope_of("t1", "2.0"), "a", "new\n") == told
    assert names(place.workspace / ".elis" / "trash") == ["t1-2.0~a"]


@pytest.mark.clause("PATH-2", "REC-1")
async def test_a_write_run_again_over_a_person_s_work_is_refused(scope_of: ScopeOf, place: Place) -> None:
    """The host was down, the person went on; the next call writes, and keeps their version."""
    await write(scope_of("t1", "2.0"), "a", "new\n")
    (place.workspace / "a").write_text("by hand")
    restarted = msgspec.structs.replace(scope_of("t1", "2.0"), seen=SeenFiles())
    with pytest.raises(ChangedSince, match="somebody changed the file since; it was left as it is"):
        await write(restarted, "a", "new\n")
    assert (place.workspace / "a").read_text() == "by hand"
    await read(scope_of("t1", "3.0"), "a")
    told = await edit(scope_of("t1", "4.0"), "a", "hand", "both")
    assert told.endswith("the version before it is .elis/trash/t1-4.0~a.")


async def test_a_file_whose_name_is_no_utf_8_is_read_and_changed_by_its_shown_name(scope: Scope, place: Place) -> None:
    """What is said of it can be encoded, and names calls that work."""
    file = place.workspace / os.fsdecode(b"caf\xe9")
    file.write_text("one\ntwo\n")
    told = await read(scope, "caf\\xe9", lines=1)
    assert told.startswith("caf\\xe9, lines 1-1 of 2:\none\n")
    assert going_on(told) == {"path": "caf\\xe9", "start_line": 2}
    assert await edit(scope, "caf\\xe9", "one", "1") == (
        "edited caf\\xe9: 1 replacement; the version before it is .elis/trash/t1-1.0~caf\\xe9."
    )
    assert file.read_text() == "1\ntwo\n"
    file.write_bytes(b"gr\xfc\xdfe")
    assert (await read(scope, "caf\\xe9")).startswith("caf\\xe9 is a text in another encoding than UTF-8")
    with pytest.raises(Missing, match="does not exist"):
        await read(scope, "caf\\xea")


async def test_a_new_file_is_told_with_its_real_path(scope: Scope, place: Place) -> None:
    """Relative to the workspace, links resolved."""
    (place.workspace / "real").mkdir()
    (place.workspace / "link").symlink_to("real")
    assert await write(scope, "/workspace/link/a", "x\ny") == "wrote real/a: 2 lines, 3 bytes."


@pytest.mark.clause("PASS-2")
async def test_a_file_changed_by_another_turn_is_not_overwritten(scope_of: ScopeOf, place: Place) -> None:
    """It is refused by the name of who changed it; after reading it again it can be written."""
    (place.workspace / "a").write_text("one")
    first, second = scope_of("t1", "1.0"), scope_of("t2", "1.0")
    await read(first, "a")
    await write(second, "a", "two")
    with pytest.raises(ChangedSince, match="by turn t2; read it again"):
        await write(first, "a", "three")
    with pytest.raises(ChangedSince, match="by turn t2"):
        await edit(first, "a", "two", "three")
    assert (place.workspace / "a").read_text() == "two"
    await read(first, "a")
    await write(scope_of("t1", "2.0"), "a", "three")
    assert (place.workspace / "a").read_text() == "three"


@pytest.mark.clause("PASS-2")
async def test_a_file_changed_from_outside_is_not_overwritten(scope: Scope, place: Place) -> None:
    """By any of its names; nor is one that was removed, or that appeared where the turn had seen none."""
    file = place.workspace / "a"
    file.write_text("one")
    (place.workspace / "link").symlink_to("a")
    await read(scope, "link")
    file.write_text("by hand")
    with pytest.raises(ChangedSince, match=r"changed since .* a person"):
        await write(scope, "a", "two")
    await read(scope, "a")
    file.unlink()
    with pytest.raises(ChangedSince, match="was removed"):
        await write(scope, "link", "two")
    with pytest.raises(Missing):
        await read(scope, "later")
    (place.workspace / "later").write_text("by hand")
    with pytest.raises(ChangedSince, match="appeared"):
        await write(scope, "later", "two")


@pytest.mark.clause("PASS-2")
async def test_a_turn_goes_on_from_what_it_wrote_itself(scope_of: ScopeOf) -> None:
    """Without reading in between."""
    await write(scope_of("t1", "1.0"), "a", "one")
    await edit(scope_of("t1", "2.0"), "a", "one", "two")
    await write(scope_of("t1", "3.0"), "a", "three")


async def test_an_edit_replaces_exactly_one_occurrence(scope_of: ScopeOf, place: Place) -> None:
    """More than one need a word for it; the earlier version is kept."""
    (place.workspace / "a").write_text("x = 1\ny = 1\n")
    with pytest.raises(ToolFailed, match="occurs 2 times in a; take more of the text around it"):
        await edit(scope_of("t1", "1.0"), "a", "= 1", "= 2")
    told = await edit(scope_of("t1", "2.0"), "a", "x = 1", "x = 2")
    assert told == "edited a: 1 replacement; the version before it is .elis/trash/t1-2.0~a."
    told = await edit(scope_of("t1", "3.0"), "a", " = ", ": ", everywhere=True)
    assert told.startswith("edited a: 2 replacements")
    assert (place.workspace / "a").read_text() == "x: 2\ny: 1\n"


async def test_an_edit_that_fits_nowhere_changes_nothing(scope: Scope, place: Place) -> None:
    """And says what is at hand: no such text, other line ends, nothing to change, no file."""
    (place.workspace / "a").write_bytes(b"one\r\ntwo\r\n")
    with pytest.raises(ToolFailed, match="does not occur in a: 'three'"):
        await edit(scope, "a", "three", "x")
    with pytest.raises(ToolFailed, match="CR LF"):
        await edit(scope, "a", "one\ntwo", "x")
    with pytest.raises(ToolFailed, match="nothing was changed"):
        await edit(scope, "a", "one", "one")
    with pytest.raises(Missing):
        await edit(scope, "gone", "one", "two")
    assert (place.workspace / "a").read_bytes() == b"one\r\ntwo\r\n"


async def test_text_that_no_file_can_hold_is_refused(scope: Scope, place: Place) -> None:
    """A lone surrogate is no character."""
    with pytest.raises(ToolFailed, match="surrogates"):
        await write(scope, "a", "\ud800")
    assert names(place.workspace) == [".elis"]
