"""`elis secrets` and `elis mask` as the installed command, against the real API in front of groups in memory."""

import contextlib
import json
import os
import pty
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from host.config.home import Home
from host.vault.safe import Safe
from tests.acceptance.command import Command, elis, elis_with, together
from tests.integration.panel.conftest import TOKEN, Panel, running_panel

VALUE = "s3cr3t-Value/42+x=="
CASES = Path(__file__).parents[1] / "cases" / "masking.jsonl"


@pytest.fixture
async def panel(tmp_path: Path) -> AsyncGenerator[Panel]:
    """A panel of a test's own, in front of four secrets."""
    references = {"github": "file:secrets/github", "ci": "env:CI_TOKEN", "shop": "op://a/b/c", "models.main": "env:KEY"}
    async with running_panel() as running:
        running.directory.safe = Safe(references, {"KEY": VALUE, "PATH": ""}, base=tmp_path)
        yield running


@pytest.fixture
def home(panel: Panel, tmp_path: Path) -> Home:
    """Return a home on which that panel runs, as far as commands can tell."""
    found = Home(root=tmp_path / "home")
    found.prepare()
    found.token_file.write_text(TOKEN)
    found.write_address(panel.url.removeprefix("http://"))
    return found


@pytest.mark.clause("SEC-2")
async def test_status_shows_present_or_missing_and_never_a_value(home: Home) -> None:
    """For a missing one why, and what to do; people get a table, scripts an array."""
    told = await elis(home, "secrets", "status", "--json")
    assert {each["name"]: each["status"] for each in told.json()} == {
        "github": "missing",
        "ci": "missing",
        "shop": "missing",
        "models.main": "present",
    }
    assert "not set" in next(each["detail"] for each in told.json() if each["name"] == "ci")
    shown = await elis(home, "secrets", "status")
    assert "models.main" in shown.out
    for text in (told.out, told.err, shown.out, shown.err):
        assert VALUE not in text


@pytest.mark.clause("SEC-1", "SEC-2")
async def test_a_value_from_standard_input_goes_into_its_file_for_its_owner_only(
    panel: Panel, home: Home, tmp_path: Path
) -> None:
    """Neither answer, nor journal, nor log repeats it; without its last line break; a second value replaces it."""
    for value in ("first", VALUE):
        ran = await elis_with(home, f"{value}\n", "secrets", "set", "github", "--json")
        assert (ran.code, ran.json()["status"]) == (0, "present")
        assert value not in ran.out + ran.err
    file = tmp_path / "secrets" / "github"
    assert file.read_text() == VALUE
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["github"]
    assert VALUE not in repr(panel.main.journal)


@pytest.mark.clause("SEC-2")
async def test_a_value_that_is_typed_is_not_shown(home: Home, tmp_path: Path) -> None:
    """The prompt is there, the echo is not."""
    ours, theirs = pty.openpty()
    try:
        command = await Command.start(home, "secrets", "set", "github", stdin=theirs)
        await command.asked("value of github")
        os.write(ours, f"{VALUE}\n".encode())
        ran = await command.end()
        os.set_blocking(ours, False)
        echoed = b""
        with contextlib.suppress(BlockingIOError):
            echoed = os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)
    assert ran.code == 0, ran.err
    assert (tmp_path / "secrets" / "github").read_text() == VALUE
    assert VALUE not in ran.out + ran.err + echoed.decode()


REFUSED = [
    ("nothing", VALUE, 1, "there is no secret 'nothing'"),
    ("ci", VALUE, 27, "set the variable CI_TOKEN where the host is started"),
    ("shop", VALUE, 27, "op item edit"),
    ("github", "", 1, "empty"),
    ("github", "x" * 20_000, 1, "longer than"),
]


@pytest.mark.clause("SEC-2")
@pytest.mark.parametrize(("name", "value", "code", "words"), REFUSED)
async def test_what_cannot_be_stored_is_told_with_what_to_do(
    home: Home, name: str, value: str, code: int, words: str
) -> None:
    """Unknown names and unusable values are exit 1; where Elis does not write is said with who does."""
    ran = await elis_with(home, value, "secrets", "set", name)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert not value or value not in ran.err


@pytest.mark.clause("MASK-1")
async def test_a_file_of_texts_is_masked_line_by_line_without_a_host(tmp_path: Path) -> None:
    """A line is a string or an object with its own lent values; a JSON object comes out for each."""
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    file = tmp_path / "texts.jsonl"
    file.write_text("\n".join([*map(json.dumps, rows), '"password: hunter2"', ""]), encoding="utf-8")
    ran = await elis(Home(root=tmp_path / "none"), "mask", "main", "--file", str(file), "--defaults")
    assert ran.code == 0
    shown = [json.loads(line) for line in ran.out.splitlines()]
    assert shown[-1] == {"text": "password: «masked:named-value»"}
    for row, answer in zip(rows, shown, strict=False):
        assert set(answer) == {"text"}
        assert not [gone for gone in row["must_not_contain"] if gone in answer["text"]], row["why"]
        assert not [kept for kept in row["must_contain"] if kept not in answer["text"]], row["why"]


@pytest.mark.clause("MASK-1")
async def test_a_running_group_masks_what_it_was_lent(panel: Panel, home: Home, tmp_path: Path) -> None:
    """As text, as JSON, and a line each; values that a line calls lent stay in the command."""
    panel.main.masker.lend("github", VALUE)
    file = tmp_path / "texts.jsonl"
    file.write_text(json.dumps({"text": f"{VALUE} and other-Val-7", "lent": {"x": "other-Val-7"}}), encoding="utf-8")
    plain = await elis(home, "mask", "main", f"token {VALUE}")
    as_json = await elis(home, "mask", "main", f"token {VALUE}", "--json")
    lines = await elis(home, "mask", "main", "--file", str(file))
    defaults = await elis(home, "mask", "main", f"token {VALUE}", "--defaults")
    assert (plain.code, plain.out) == (0, "token «secret:github»\n")
    assert as_json.json() == {"text": "token «secret:github»"}
    assert json.loads(lines.out) == {"text": "«secret:github» and «secret:x»"}
    assert defaults.out == f"token {VALUE}\n"
    assert (await elis(home, "mask", "nobody", "x")).code == 1


async def test_usage_errors_of_judging_commands_exit_1_and_a_missing_host_15(tmp_path: Path) -> None:
    """Their other codes are verdicts."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text('"fine"\n{"text": 7}\n')
    misused = [
        ("mask",),
        ("mask", "main"),
        ("mask", "main", "x", "--nonsense"),
        ("mask", "main", "x", "--file", str(bad)),
        ("mask", "main", "--file", str(tmp_path / "none"), "--defaults"),
        ("mask", "main", "--file", str(bad), "--defaults"),
    ]
    runs = await together(Home(root=tmp_path / "home"), [*misused, ("mask", "main", "x"), ("secrets", "status")])
    assert {arguments: ran.code for arguments, ran in runs.items()} == {
        **dict.fromkeys(misused, 1),
        ("mask", "main", "x"): 15,
        ("secrets", "status"): 15,
    }
    assert "line 2" in runs[misused[-1]].err
