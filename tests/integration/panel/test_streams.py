"""Live events: resume, drafts, heartbeats, and streams that end when they should."""

import asyncio
import re

import httpx2
import pytest

from host.errors import ResourceBusy
from host.groups.port import Say
from host.panel import streams
from host.passport import Effect
from tests.integration.panel.conftest import BOUND_SECONDS, TOKEN, Panel
from tests.integration.panel.fake_group import FakeGroup
from tests.integration.panel.sse import stream

EVENTS = "/api/v1/groups/main/events"


@pytest.mark.clause("REC-2", "PAN-3")
async def test_a_stream_resumes_after_the_last_event_id_without_loss_or_repetition(panel: Panel) -> None:
    """What was seen before a cut plus what comes after it is every event exactly once."""
    await panel.main.begin("one")
    async with stream(panel.url, EVENTS) as frames:
        before = await frames.take(3)
    await panel.main.end("done")
    await panel.main.begin("two")
    async with stream(panel.url, EVENTS, {"Last-Event-ID": before[-1].id}) as frames:
        after = await frames.take(4)
    assert [int(frame.id) for frame in before + after] == [1, 2, 3, 4, 5, 6, 7]
    assert [frame.data["seq"] for frame in before + after] == [1, 2, 3, 4, 5, 6, 7]


async def test_last_event_id_is_stronger_than_after(panel: Panel) -> None:
    """A browser reconnects to the address it began with; where it was counts."""
    await panel.main.begin("one")
    async with stream(panel.url, f"{EVENTS}?after=0", {"Last-Event-ID": "2"}) as frames:
        assert (await frames.next()).id == "3"


async def test_a_stream_delivers_what_happens_at_once(panel: Panel) -> None:
    """An event reaches an open stream without being asked for."""
    async with stream(panel.url, EVENTS) as frames:
        await panel.main.say(Say(text="hello", key="k"))
        assert [frame.data["kind"] for frame in await frames.take(3)] == [
            "message_received",
            "message_placed",
            "turn_started",
        ]


@pytest.mark.clause("TURN-5")
async def test_drafts_stream_without_an_id(panel: Panel) -> None:
    """Text that is still being written comes as it is written and moves no resume point."""
    turn = await panel.main.begin("one")
    async with stream(panel.url, f"{EVENTS}?after=3") as frames:
        await panel.main.write(1, "Hel")
        first = await frames.next()
        await panel.main.write(1, "lo")
        second = await frames.next()
    assert (first.event, first.id) == ("draft", "")
    assert first.data == {"turn": turn, "step": 1, "offset": 0, "text": "Hel"}
    assert (second.data["offset"], second.data["text"]) == (3, "lo")


async def test_drafts_of_before_the_connection_are_told(panel: Panel) -> None:
    """A page that opens in mid-sentence shows the sentence from its beginning."""
    await panel.main.begin("one")
    await panel.main.write(1, "It was ")
    async with stream(panel.url, f"{EVENTS}?after=3") as frames:
        assert (await frames.next()).data["text"] == "It was "


@pytest.mark.clause("PAN-4")
async def test_replies_come_as_clean_markup_for_pages_alone(panel: Panel) -> None:
    """A page gets the reply rendered and cleaned; everybody else gets the event as it is."""
    await panel.main.begin("one")
    await panel.main.end("**bold** <script>alert(1)</script> [x](javascript:alert(1)) ![i](http://evil.example/?q)")
    async with stream(panel.url, f"{EVENTS}?after=3&html=true") as frames:
        shown = (await frames.next()).data
    async with stream(panel.url, f"{EVENTS}?after=3") as frames:
        plain = (await frames.next()).data
    assert "<strong>bold</strong>" in shown["html"]
    assert not re.search(r"<script|<img|href=.javascript", shown["html"], re.IGNORECASE)
    assert "html" not in plain
    assert plain["data"] == shown["data"]


@pytest.mark.clause("TURN-2", "REC-2")
async def test_an_end_that_the_journal_could_not_take_is_told_and_moves_no_resume_point(panel: Panel) -> None:
    """It comes without an id and after all that was journaled before it, and nothing is told twice because of it."""
    turn = await panel.main.begin("one")
    async with stream(panel.url, f"{EVENTS}?after=3") as frames:
        await frames.any()
        await panel.main.lose("the disk is full")
        end = await frames.next()
        await panel.main.begin("two")
        after = await frames.take(3)
    assert (end.id, end.data["turn"], end.data["data"]["reason"]) == ("", turn, "audit_failure")
    assert [frame.id for frame in after] == ["4", "5", "6"]
    async with stream(panel.url, EVENTS, {"Last-Event-ID": "5"}) as frames:
        assert [(frame.id, frame.data["kind"]) for frame in await frames.take(2)] == [
            ("6", "turn_started"),
            ("", "turn_ended"),
        ]
        await panel.main.end("done")
        assert (await frames.next()).id == "7"


@pytest.mark.clause("TURN-2", "REC-2")
async def test_an_end_without_a_place_waits_for_all_that_came_before_it(panel: Panel) -> None:
    """A client that catches up in several looks gets every event, and the end of the turn when it is due."""
    for number in range(200):
        await panel.main.begin(f"number {number}")
    await panel.main.lose("the disk is full")
    async with stream(panel.url, EVENTS) as frames:
        told = await frames.take(601)
    assert [frame.id for frame in told] == [*map(str, range(1, 601)), ""]
    assert told[-1].data["kind"] == "turn_ended"


async def test_a_quiet_stream_beats(panel: Panel) -> None:
    """A first look without news is answered with a comment, so that a client knows that it is connected."""
    async with stream(panel.url, EVENTS) as frames:
        beat = await frames.any()
    assert (beat.id, beat.data) == ("", None)
    assert streams.HEARTBEAT_SECONDS <= 15


async def test_a_group_that_goes_away_ends_the_stream_with_its_problem(panel: Panel) -> None:
    """The client is told why and can come back."""
    async with stream(panel.url, EVENTS) as frames:
        await frames.any()
        await panel.main.fail(ResourceBusy("the group is being restarted"))
        problem = await frames.until("problem")
        await frames.end()
    assert (problem.data["reason"], problem.data["detail"]) == ("resource_busy", "the group is being restarted")


async def test_a_stream_of_no_group_is_a_plain_answer(panel: Panel) -> None:
    """What cannot be streamed is refused with a status, not with an empty stream."""
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(base_url=panel.url, headers=headers) as client:
        assert (await client.get("/api/v1/groups/none/events")).status_code == 404
        assert (await client.get(EVENTS, headers={"Last-Event-ID": "x"})).status_code == 400


async def _until(condition: asyncio.Condition, group: FakeGroup, watching: int) -> None:
    async with asyncio.timeout(BOUND_SECONDS), condition:
        await condition.wait_for(lambda: group.watching == watching)


async def test_a_client_that_goes_is_noticed_at_once(panel: Panel) -> None:
    """No look at the group outlives the client it was for."""
    async with stream(panel.url, EVENTS) as frames:
        await frames.any()
        await _until(panel.main.watchers, panel.main, 1)
    await _until(panel.main.watchers, panel.main, 0)


async def test_shutdown_ends_open_streams_in_order(panel: Panel) -> None:
    """The panel stops at once although clients listen, and they see an end, not a cut."""
    async with stream(panel.url, EVENTS) as events, stream(panel.url, "/api/v1/overview") as overview:
        await events.any()
        await overview.until("overview")
        async with asyncio.timeout(BOUND_SECONDS):
            await panel.stop()
        await events.end()
        with pytest.raises(EOFError):
            await overview.until("problem")


@pytest.mark.clause("PAN-3")
async def test_the_overview_tells_all_and_then_each_change(panel: Panel) -> None:
    """A new question and a turn's end reach the overview by themselves."""
    async with stream(panel.url, "/api/v1/overview") as frames:
        everything = await frames.until("overview")
        assert [card["view"]["name"] for card in everything.data["groups"]] == ["main"]
        await panel.main.begin("work")
        await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": "make"})
        card = await frames.until("group")
        while not card.data["questions"]:
            card = await frames.until("group")
        assert card.data["running"][0]["text"] == "work"
        assert card.data["view"]["lanes"][0]["state"] == "waiting"
        await panel.main.stop("chat", all_lanes=False, by="panel")
        while card.data["questions"]:
            card = await frames.until("group")
        assert card.data["view"]["last_failures"][0]["reason"] == "interrupted"


@pytest.mark.clause("PAN-3")
async def test_the_overview_shows_groups_that_come_go_and_fail(panel: Panel) -> None:
    """The roster is live, too, and one group's failure is one card."""
    async with stream(panel.url, "/api/v1/overview") as frames:
        await frames.until("overview")
        panel.directory.groups["lab"] = FakeGroup("lab")
        card = await frames.until("group")
        while card.data["view"]["name"] != "lab":
            card = await frames.until("group")
        await panel.main.fail(ResourceBusy("the group is being restarted"))
        while (card.data["view"]["name"], card.data["view"]["state"]) != ("main", "restarting"):
            card = await frames.until("group")
        del panel.directory.groups["lab"]
        assert (await frames.until("gone")).data == "lab"


async def test_with_nobody_looking_no_group_is_asked(panel: Panel) -> None:
    """The overview's watchers end with the last page that looks."""
    async with stream(panel.url, "/api/v1/overview") as frames:
        await frames.until("overview")
        await _until(panel.main.watchers, panel.main, 1)
    await _until(panel.main.watchers, panel.main, 0)
