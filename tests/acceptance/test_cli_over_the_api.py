"""The command line against the real API in front of groups in memory: answers, streams and exit codes."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from host.config.home import Home
from host.errors import AuditFailure
from host.passport import Effect
from host.record.events import TurnParked
from host.stops import Outcome, Reason
from tests.acceptance.command import BOUND_SECONDS, Command, elis, together
from tests.integration.panel.conftest import TOKEN, Panel, running_panel

ASK_KEYS = {"turn", "outcome", "reason", "reply", "usage", "first_seq", "last_seq", "steered", "verified"}
UNKNOWN = [
    ("ask", "nobody", "x"),
    ("stop", "nobody"),
    ("events", "nobody"),
    ("events", "nobody", "--follow"),
    ("queue", "nobody"),
    ("journal", "nobody", "verify"),
    ("journal", "nobody", "export"),
    ("approve", "a-unknown"),
    ("group", "remove", "nobody"),
    ("ask", "../main", "x"),
]
USAGE_KEYS = {"tokens_in", "tokens_out", "cost_usd", "estimated", "steps", "seconds"}


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


async def until(panel: Panel, kind: str, **data: str) -> dict[str, Any]:
    """Wait until the group's journal has an event of a kind with `data` in it; return all its data."""
    async with asyncio.timeout(BOUND_SECONDS):
        after = 0
        while True:
            for event in await panel.main.events(after, 1000):
                if event.kind == kind and data.items() <= event.data.items():
                    return event.data
                after = event.seq
            await panel.main.watch(after, len(panel.main.drafts), 1.0)


@asynccontextmanager
async def silent_host() -> AsyncGenerator[str]:
    """Listen as a host that is there and does not answer a message; give the address."""
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (head := await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /healthz "):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        assert head.startswith(b"POST ")
        await over.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"{host}:{port}"
    finally:
        over.set()
        server.close()


async def test_ask_prints_one_object_and_nothing_else(panel: Panel, home: Home) -> None:
    """Exactly the contract's keys, exit 0."""
    command = await Command.start(home, "ask", "main", "hello", "--json")
    await until(panel, "turn_started")
    await panel.main.write(1, "dra")
    await panel.main.end("hi there")
    ran = await command.end()
    answer = ran.json()
    assert (ran.code, ran.err) == (0, "")
    assert set(answer) == ASK_KEYS
    assert set(answer["usage"]) == USAGE_KEYS
    assert (answer["outcome"], answer["reason"], answer["reply"], answer["steered"]) == (
        "success",
        None,
        "hi there",
        False,
    )
    events = {event.seq: event for event in panel.main.journal}
    assert events[answer["first_seq"]].kind == "turn_started"
    assert events[answer["last_seq"]].kind == "turn_ended"


async def test_ask_without_json_prints_the_reply_on_standard_output(panel: Panel, home: Home) -> None:
    """Everything else goes to standard error; drafts are left out where nobody watches."""
    command = await Command.start(home, "ask", "main", "hello")
    await until(panel, "turn_started")
    await panel.main.write(1, "draft words")
    await panel.main.end("[bold]hi[/bold]", outcome=Outcome.PARTIAL, reason=Reason.BUDGET_EXHAUSTED)
    ran = await command.end()
    assert (ran.code, ran.out) == (11, "[bold]hi[/bold]\n")
    assert "started t1" in ran.err
    assert "partial (budget_exhausted)" in ran.err
    assert "draft words" not in ran.err


@pytest.mark.clause("APR-3")
async def test_a_question_is_printed_with_its_id_and_answered_from_another_command(panel: Panel, home: Home) -> None:
    """The waiting command says how to answer, and that it was answered."""
    command = await Command.start(home, "ask", "main", "do it", "--json")
    await until(panel, "turn_started")
    await panel.main.ask("a77", "1.0", "shell", Effect.EXECUTE, {"command": "make test"})
    assert "a77" in await command.said("question")
    listed = await elis(home, "approvals", "--json")
    question = listed.json()[0]
    assert {"id", "group", "turn", "tool", "arguments", "scopes", "expires_at"} <= set(question)
    assert question["arguments"] == {"command": "make test"}
    first = await elis(home, "approve", "a77", "--json")
    again = await elis(home, "deny", "a77", "--reason", "too late", "--json")
    assert (first.json()["settled"], first.json()["verdict"]) == (True, "allowed")
    assert (again.json()["settled"], again.json()["verdict"], again.code) == (False, "allowed", 0)
    await command.said("settled: allowed")
    await panel.main.end("done")
    assert (await command.end()).code == 0


async def test_words_asked_for_by_the_model_are_given_with_answer(panel: Panel, home: Home) -> None:
    """ask_person gets the words."""
    await panel.main.begin("x")
    await panel.main.ask("a78", "1.0", "ask_person", Effect.READ, {"question": "which?"}, question="answer")
    ran = await elis(home, "approve", "a78", "--answer", "the blue one", "--json")
    assert ran.json()["verdict"] == "answered"
    assert panel.main.journal[-1].data["text"] == "the blue one"


@pytest.mark.clause("APR-4")
async def test_a_parked_unattended_turn_exits_13(panel: Panel, home: Home) -> None:
    """The outcome is `parked`; nothing waits."""
    command = await Command.start(home, "ask", "main", "nightly", "--unattended", "--json")
    await until(panel, "turn_started")
    await panel.main.append(TurnParked(turn=panel.main.turn, approval="a1"))
    ran = await command.end()
    assert (ran.code, ran.json()["outcome"], ran.json()["turn"]) == (13, "parked", "t1")


async def test_a_timeout_ends_the_waiting_and_not_the_turn(panel: Panel, home: Home) -> None:
    """Exit 26, the turn goes on."""
    command = await Command.start(home, "ask", "main", "slow", "--timeout", "2", "--json")
    await until(panel, "turn_started")
    ran = await command.end()
    assert (ran.code, ran.json()["outcome"], ran.json()["reason"]) == (26, "running", "timed_out")
    assert panel.main.turn == "t1"


async def test_a_timeout_before_the_message_was_placed_says_that_it_may_run(tmp_path: Path) -> None:
    """Exit 26 and an answer without a turn; trying again could say it twice, so nobody is told to."""
    home = Home(root=tmp_path / "home")
    home.prepare()
    async with silent_host() as address:
        home.write_address(address)
        waited = await elis(home, "ask", "main", "x", "--timeout", "1", "--json")
        detached = await elis(home, "ask", "main", "x", "--timeout", "1", "--detach", "--json")
    answer = waited.json()
    assert (waited.code, answer["outcome"], answer["reason"], answer["turn"]) == (26, "running", "timed_out", "")
    assert set(answer) == ASK_KEYS
    assert (detached.code, detached.json()) == (26, {"turn": "", "disposition": "unknown", "position": 0})
    for ran in (waited, detached):
        assert "`elis queue main` and `elis events main`" in ran.err
        assert "try again" not in ran.err


@pytest.mark.clause("LANE-2")
async def test_detached_messages_tell_their_disposition(panel: Panel, home: Home) -> None:
    """Started, steered, interrupting and queued at a position."""
    seen = [
        (await elis(home, "ask", "main", "a", "--detach", "--json")).json(),
        (await elis(home, "ask", "main", "b", "--detach", "--json")).json(),
        (await elis(home, "ask", "main", "c", "--now", "--detach", "--json")).json(),
        (await elis(home, "ask", "main", "d", "--later", "--detach", "--json")).json(),
    ]
    assert [answer["disposition"] for answer in seen] == ["started", "steered", "interrupting", "queued"]
    assert [answer["position"] for answer in seen] == [0, 0, 0, 1]
    assert seen[0]["turn"] == "t1"
    assert all(set(answer) == {"turn", "disposition", "position"} for answer in seen)


async def test_a_steered_message_returns_the_result_of_its_turn_from_its_beginning(panel: Panel, home: Home) -> None:
    """`steered` is true and first_seq is where the turn began."""
    await panel.main.begin("first")
    command = await Command.start(home, "ask", "main", "more", "--json")
    placed = await until(panel, "message_placed", disposition="steered")
    await panel.main.enter(placed["message"], "more", 2)
    await panel.main.end("both")
    answer = (await command.end()).json()
    assert (answer["steered"], answer["reply"], answer["turn"]) == (True, "both", "t1")
    assert panel.main.journal[int(answer["first_seq"]) - 1].kind == "turn_started"


@pytest.mark.clause("REC-2")
async def test_a_host_that_restarts_meanwhile_is_waited_for(panel: Panel, home: Home) -> None:
    """The stream is taken up where it broke and the reply comes once."""
    command = await Command.start(home, "ask", "main", "long", "--json")
    await until(panel, "turn_started")
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": "x"})
    await command.said("a1")
    await panel.stop()
    await panel.main.end("after the restart")
    await panel.start()
    home.write_address(panel.url.removeprefix("http://"))
    ran = await command.end()
    assert (ran.code, ran.json()["reply"]) == (0, "after the restart")
    assert ran.err.count("question a1") == 1


@pytest.mark.clause("STOP-1")
async def test_stop_ends_the_turn_and_the_waiting_command_tells_it(panel: Panel, home: Home) -> None:
    """Exit 21 there, the turn's id here."""
    command = await Command.start(home, "ask", "main", "long", "--json")
    await until(panel, "turn_started")
    stopped = await elis(home, "stop", "main", "--json")
    assert stopped.json() == {"turns": ["t1"], "held": 0}
    ran = await command.end()
    assert (ran.code, ran.json()["reason"]) == (21, "interrupted")


async def test_held_messages_can_be_listed_released_and_dropped(panel: Panel, home: Home) -> None:
    """By id; an unknown id is exit 1."""
    await panel.main.begin("first")
    for text in ("one", "two"):
        await elis(home, "ask", "main", text, "--later", "--detach")
    await elis(home, "stop", "main", "--all")
    listed = (await elis(home, "queue", "main", "--json")).json()
    assert [(item["text"], item["state"]) for item in listed] == [("one", "held"), ("two", "held")]
    released = await elis(home, "queue", "main", "release", listed[0]["id"], "--json")
    dropped = await elis(home, "queue", "main", "drop", listed[1]["id"], "--json")
    assert released.json()["disposition"] == "started"
    assert dropped.json() == {"dropped": listed[1]["id"]}
    assert (await elis(home, "queue", "main", "drop", "nothing")).code == 1
    assert (await elis(home, "queue", "main", "--json")).json() == []


@pytest.mark.clause("STOP-1")
@pytest.mark.parametrize("options", [(), ("--json",)])
async def test_who_waits_for_a_message_that_a_stop_holds_is_told_how_it_goes_on(
    panel: Panel, home: Home, options: tuple[str, ...]
) -> None:
    """With the group and the id, so that the words can be used as they are."""
    await panel.main.begin("first")
    command = await Command.start(home, "ask", "main", "second", "--later", *options)
    message = (await until(panel, "message_placed", disposition="queued"))["message"]
    await elis(home, "stop", "main", "--all")
    assert f"`elis queue main release {message}`" in await command.said("held after a stop")
    await elis(home, "queue", "main", "drop", message)
    assert (await command.end()).code == 21


async def test_events_are_an_array_or_followed_a_line_each(panel: Panel, home: Home) -> None:
    """Each is `{seq, at, turn, kind, data}`; --after leaves out what was seen."""
    await panel.main.begin("x")
    await panel.main.end("y")
    listed = (await elis(home, "events", "main", "--json")).json()
    assert [event["seq"] for event in listed] == [1, 2, 3, 4]
    assert set(listed[0]) == {"seq", "at", "turn", "kind", "data"}
    assert listed[-1]["kind"] == "turn_ended"
    assert (await elis(home, "events", "main", "--json", "--after", "4")).json() == []
    command = await Command.start(home, "events", "main", "--follow", "--json", "--after", "3")
    assert json.loads(await command.printed())["seq"] == 4
    await panel.main.begin("z")
    assert json.loads(await command.printed())["seq"] == 5
    command.interrupt()
    assert (await command.end()).code == 130


@pytest.mark.clause("TURN-3")
async def test_a_turn_is_shown_as_a_conversation_and_its_requests_byte_for_byte(panel: Panel, home: Home) -> None:
    """The request is one step from its event."""
    turn = await panel.main.begin("please")
    body = b'{"model":"m",  "messages":[]}\xc3\xa9'
    seq = await panel.main.request(1, body)
    await panel.main.respond(1, "here you are")
    await panel.main.end("here you are")
    shown = await elis(home, "journal", "main", "show", turn)
    assert f"--request {seq}" in shown.out
    assert "assistant: here you are" in shown.out
    as_json = (await elis(home, "journal", "main", "show", turn, "--json")).json()
    assert as_json[-1]["kind"] == "turn_ended"
    exact = await elis(home, "journal", "main", "show", turn, "--request", str(seq))
    assert exact.out.encode() == body
    assert (await elis(home, "journal", "main", "show", "t-unknown")).code == 1


async def test_the_journal_is_searched_verified_and_exported(panel: Panel, home: Home) -> None:
    """Arrays, a verdict, and one object a line."""
    await panel.main.begin("the word SHIBBOLETH")
    hits = (await elis(home, "journal", "main", "search", "SHIBBOLETH", "--json")).json()
    assert len(hits) == 1
    verdict = await elis(home, "journal", "main", "verify", "--json")
    assert (verdict.code, verdict.json()["ok"]) == (0, True)
    exported = (await elis(home, "journal", "main", "export")).out.splitlines()
    assert [json.loads(line)["seq"] for line in exported] == [1, 2, 3]


@pytest.mark.clause("CTX-8")
async def test_groups_are_added_listed_shown_and_removed(panel: Panel, home: Home) -> None:
    """`show` prints the invariants; a name that exists is exit 15, an unknown one exit 1."""
    assert (await elis(home, "group", "add", "lab", "--json")).json()["name"] == "lab"
    assert (await elis(home, "group", "add", "lab")).code == 15
    names = [view["name"] for view in (await elis(home, "group", "list", "--json")).json()]
    assert names == ["main", "lab"]
    shown = await elis(home, "group", "show", "main")
    assert "Stay in the workspace." in shown.out
    assert "invariants" in (await elis(home, "group", "show", "main", "--json")).json()["instructions"]
    removed = await elis(home, "group", "remove", "lab", "--delete", "--json")
    assert (removed.code, panel.directory.removed) == (0, [("lab", True)])
    assert (await elis(home, "group", "show", "lab")).code == 1


async def test_the_host_is_shown_and_a_login_link_printed(panel: Panel, home: Home) -> None:
    """Status and panel."""
    state = (await elis(home, "status", "--json")).json()
    assert state["host"]["name"] == "home"
    assert "main" in (await elis(home, "status")).out
    link = await elis(home, "panel")
    assert link.out.startswith(f"{panel.url}/login?code=")


async def test_an_unknown_name_or_id_is_exit_1(home: Home) -> None:
    """And standard output stays empty."""
    runs = await together(home, [(*arguments, "--json") for arguments in UNKNOWN])
    assert {arguments: (ran.code, ran.out) for arguments, ran in runs.items()} == dict.fromkeys(runs, (1, ""))
    assert all(ran.err.startswith("elis: ") for ran in runs.values())


async def test_a_group_that_fails_is_told_with_its_reason(panel: Panel, home: Home) -> None:
    """What the host says is the exit code."""
    panel.directory.broken["main"] = AuditFailure("the journal is damaged at event 7")
    del panel.directory.groups["main"]
    ran = await elis(home, "ask", "main", "x", "--json")
    assert (ran.code, ran.out) == (16, "")
    assert "event 7" in ran.err


async def test_a_token_of_another_home_is_not_taken_for_this_hosts(home: Home) -> None:
    """A left-over address may lead to somebody else."""
    home.token_file.write_text(TOKEN[::-1])
    ran = await elis(home, "status")
    assert ran.code == 15
    assert "not the host of this home" in ran.err
