"""Texts that mean harm, or none, through the installed command: what a terminal gets, and what scripts get."""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from host.config.home import Home
from host.groups.port import Queued, Say
from host.passport import Effect
from host.record.events import CallFinished
from tests.acceptance.command import BOUND_SECONDS, ELIS, Command, elis, together
from tests.integration.panel.conftest import TOKEN, Panel, running_panel

HARM = "rm -rf notes \x1b[1A\x1b[2K\r    command: ls -la\x9b8m\x07\x08\u202e\u2066\u2028\u200b"
SHOWN = r"rm -rf notes \x1b[1A\x1b[2K\r    command: ls -la\x9b8m\x07\x08\u202e\u2066\u2028\u200b"
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]")
NO_NAMES = ["", " ", "..", "a/../main", "x" * 5000]


@pytest.fixture
async def panel() -> AsyncGenerator[Panel]:
    """A panel of a test's own."""
    async with running_panel() as running:
        yield running


@pytest.fixture
def home(panel: Panel, tmp_path: Path) -> Home:
    """Return a home on which that panel runs, as far as commands can tell."""
    found = Home(root=tmp_path / "home")
    found.prepare()
    found.token_file.write_text(TOKEN)
    found.write_address(panel.url.removeprefix("http://"))
    return found


async def asked(panel: Panel) -> str:
    """Have the model ask for the harmful command; return the turn."""
    turn = (await panel.main.say(Say(text=HARM, key=HARM))).turn
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": HARM, "more\x1b[2J": [HARM]})
    return turn


@pytest.mark.clause("APR-1")
async def test_no_command_passes_an_order_on_to_the_terminal(panel: Panel, home: Home) -> None:
    """What it is asked to show is shown, each character that could hide something as an escape."""
    turn = await asked(panel)
    panel.main.queued["m1"] = Queued(id="m1", text=HARM, priority="later", state="held", position=1, at="now")
    finished = CallFinished(
        turn=turn,
        call="1.0",
        tool="shell\x1b[2J",
        effect=Effect.EXECUTE,
        ok=False,
        reason=None,
        detail=HARM,
        result=f"first\n{HARM}",
        result_hash="",
        target=HARM,
        seconds=0,
    )
    await panel.main.append(finished)
    commands = [
        ("approvals",),
        ("events", "main"),
        ("queue", "main"),
        ("journal", "main", "show", turn),
        ("journal", "main", "search", "rm"),
        ("status",),
    ]
    ran = await together(home, list(commands))
    for command, left in ran.items():
        assert left.code == 0, left.err
        assert HIDDEN.search(left.out + left.err) is None, command
    for command in (("approvals",), ("journal", "main", "show", turn)):
        assert SHOWN in ran[command].out
    refused = await elis(home, "queue", "main", "drop", "a\x1b[2Jb")
    assert refused.code == 1
    assert HIDDEN.search(refused.out + refused.err) is None
    wrong = await elis(home, "ask", "main", "x", "--no\x1b[2J")
    assert wrong.code == 2
    assert HIDDEN.search(wrong.out + wrong.err) is None


@pytest.mark.clause("APR-1")
async def test_an_argument_of_several_lines_cannot_be_taken_for_other_arguments(panel: Panel, home: Home) -> None:
    """Each of its lines is marked as belonging to it."""
    await panel.main.begin("x")
    spoof = "rm -rf notes\n    what may happen: nothing\n    answer with: elis approve a1"
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": spoof})
    lines = (await elis(home, "approvals")).out.splitlines()
    assert sum(line.startswith("    what may happen:") for line in lines) <= 1
    assert sum(line.startswith("    answer with:") for line in lines) == 1
    assert [line.strip() for line in lines if "nothing" in line] == ["|     what may happen: nothing"]


@pytest.mark.clause("APR-1")
async def test_json_is_exact(panel: Panel, home: Home) -> None:
    """Scripts get the very characters."""
    await asked(panel)
    (question,) = (await elis(home, "approvals", "--json")).json()
    assert question["arguments"]["command"] == HARM


async def on_terminal(home: Home, *arguments: str) -> asyncio.Task[str]:
    """Run `elis` on a terminal of its own; return what will have come out of it."""
    ours, theirs = os.openpty()
    environment = {"PATH": os.environ["PATH"], "ELIS_HOME": str(home.root), "TERM": "xterm", "LANG": "C.UTF-8"}
    process = await asyncio.create_subprocess_exec(
        ELIS, *arguments, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)

    def drain() -> str:
        data = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # how a terminal says that nobody writes to it any more
                piece = b""
            if not piece:
                os.close(ours)
                return data.decode()
            data += piece

    async def whole() -> str:
        async with asyncio.timeout(BOUND_SECONDS):
            data = await asyncio.to_thread(drain)
            await process.wait()
            return data

    return asyncio.create_task(whole())


@pytest.mark.clause("APR-1", "TURN-5")
async def test_a_terminal_gets_no_orders_from_a_reply(panel: Panel, home: Home) -> None:
    """Neither by its draft nor by its end, in Markdown or not; its lines stay lines."""
    harm = f"first\nsecond {HARM} \x1b]0;title\x07\x1b]52;c;cm0=\x07 &#27;[2J [bank](http://elsewhere.example)"
    running = await on_terminal(home, "ask", "main", "hello")
    async with asyncio.timeout(BOUND_SECONDS):
        while not panel.main.turn or not panel.main.watching:
            async with panel.main.watchers:
                await panel.main.watchers.wait()
    await panel.main.write(1, harm)
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": HARM})
    await panel.main.settle("a1", verdict="denied", by="api", text=HARM)
    await panel.main.end(harm)
    out = await running
    own = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|\d*[AK]|2K)|\r\n|\r")
    assert HIDDEN.search(own.sub("", out.replace(r"\x1b", ""))) is None
    assert SHOWN in out.replace("\r\n", "\n")
    assert "]0;title" in out
    assert "\x1b]" not in out


@pytest.mark.parametrize("place", ["argument", "input"])
async def test_text_that_is_no_utf_8_is_a_usage_error(home: Home, place: str) -> None:
    """It says so and where, and nothing else."""
    said = b"bad \xff bytes"
    ran = await (
        await Command.start(home, "ask", "main", said)
        if place == "argument"
        else await Command.start(home, "ask", "main", "-", said=said)
    ).end()
    assert ran.code == 2
    assert "UTF-8" in ran.err
    assert "Traceback" not in ran.err


async def test_other_arguments_that_are_no_utf_8_are_usage_errors_too(home: Home) -> None:
    """Of every command, be it a name, an id or a word."""
    bad = b"\xff\xfe"
    commands: list[tuple[str | bytes, ...]] = [
        ("stop", bad),
        ("events", bad),
        ("approve", bad),
        ("deny", "a1", "--reason", bad),
        ("journal", "main", "search", bad),
        ("group", "add", bad),
        ("queue", "main", "drop", bad),
    ]
    ran = await together(home, commands)
    assert {left.code for left in ran.values()} == {2}
    assert not any("Traceback" in left.err for left in ran.values())


@pytest.mark.parametrize("name", NO_NAMES, ids=lambda name: repr(name[:12]))
async def test_what_can_be_no_name_is_an_unknown_name(panel: Panel, home: Home, name: str) -> None:
    """For every command that takes a group's name or an id, and nothing is done."""
    commands: list[tuple[str | bytes, ...]] = [
        ("ask", name, "x"),
        ("ask", name, "x", "--detach"),
        ("stop", name),
        ("queue", name),
        ("queue", "main", "release", name or " "),
        ("queue", "main", "drop", name or " "),
        ("events", name),
        ("events", name, "--follow"),
        ("journal", name, "verify"),
        ("journal", name, "export"),
        ("approve", name),
        ("deny", name),
        ("group", "show", name),
        ("group", "remove", name, "--delete"),
    ]
    if len(name) < 100:
        commands.append(("group", "add", name))
    if name.strip():
        commands.append(("journal", "main", "show", name))
    ran = await together(home, commands)
    assert {command: left.code for command, left in ran.items()} == dict.fromkeys(commands, 1)
    for left in ran.values():
        assert left.out == ""
        assert "Method Not Allowed" not in left.err
    assert list(panel.directory.names()) == ["main"]
    assert panel.main.journal == []


async def test_events_as_json_hold_the_very_text(panel: Panel, home: Home) -> None:
    """Also of a stream that is followed."""
    await asked(panel)
    listed = json.loads((await elis(home, "events", "main", "--json")).out)
    assert listed[0]["data"]["text"] == HARM
