"""What the API answers, over a real connection."""

import json
from collections.abc import AsyncGenerator

import httpx2
import pytest

from host.errors import AuditFailure, KeyTaken
from host.groups.port import Say
from host.passport import Effect
from tests.integration.panel.conftest import BOUND_SECONDS, TOKEN, Panel
from tests.integration.panel.fake_group import FakeGroup


@pytest.fixture
async def client(panel: Panel) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client with the token."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(base_url=f"{panel.url}/api/v1", headers=headers, timeout=BOUND_SECONDS) as opened:
        yield opened


async def test_the_openapi_document_names_every_route_once(client: httpx2.AsyncClient) -> None:
    """The document is served, and its operations have names of their own."""
    document = (await client.get("/openapi.json")).json()
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert {"/api/v1/groups/{group}/messages", "/api/v1/approvals/{approval}"} <= document["paths"].keys()
    assert len(names) == len(set(names)) > 20
    for path in document["paths"].values():
        for operation in path.values():
            content = operation["responses"]["default"]["content"]
            assert content == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
            assert "400" not in operation["responses"]
    assert "reason" in document["components"]["schemas"]["Problem"]["required"]
    events = document["paths"]["/api/v1/groups/{group}/events"]["get"]["responses"]["200"]["content"]
    assert events.keys() == {"application/json", "text/event-stream"}


@pytest.mark.clause("LANE-2", "REC-6")
async def test_a_message_is_placed_and_its_key_makes_it_one(panel: Panel, client: httpx2.AsyncClient) -> None:
    """The same key twice is one message with one placement."""
    first = await client.post("/groups/main/messages", json={"text": "hello", "key": "k"})
    again = await client.post("/groups/main/messages", json={"text": "hello", "key": "k"})
    assert first.status_code == 202
    assert first.json() == again.json()
    assert first.json()["disposition"] == "started"
    assert [event.kind for event in panel.main.journal].count("message_received") == 1


async def test_messages_without_a_key_are_messages_of_their_own(panel: Panel, client: httpx2.AsyncClient) -> None:
    """Saying the same words twice is two messages unless the sender says otherwise."""
    for _ in range(2):
        await client.post("/groups/main/messages", json={"text": "hello"})
    assert [event.kind for event in panel.main.journal].count("message_received") == 2


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"text": ""}, "text"),
        ({"text": "  "}, "text"),
        ({}, "text"),
        ({"text": "a", "priority": "soon"}, "priority"),
        ({"text": "a", "principal": "root"}, "principal"),
    ],
)
async def test_a_message_that_does_not_fit_is_refused_by_name(
    panel: Panel, client: httpx2.AsyncClient, body: dict[str, str], word: str
) -> None:
    """A wrong field is named in the problem document, and nothing reaches the group."""
    answer = await client.post("/groups/main/messages", json=body)
    problem = answer.json()
    assert (answer.status_code, problem["status"], problem["reason"]) == (400, 400, "protocol_violation")
    assert word in problem["detail"]
    assert panel.main.journal == []


async def test_errors_are_problem_documents_with_a_reason(panel: Panel, client: httpx2.AsyncClient) -> None:
    """Unknown names, busy groups, broken journals and wrong methods each have their status and reason."""
    panel.directory.starting.add("slow")
    panel.directory.broken["bad"] = AuditFailure("the journal of bad does not verify")
    expected = {
        "/groups/none": (404, "unknown"),
        "/groups/main/turns/none": (404, "unknown"),
        "/groups/main/requests/7": (404, "unknown"),
        "/nowhere": (404, "unknown"),
        "/groups/slow": (503, "resource_busy"),
        "/groups/slow/events": (503, "resource_busy"),
        "/groups/bad/turns": (500, "audit_failure"),
        "/groups/main/events?after=-1": (400, "protocol_violation"),
        "/shutdown": (405, "unsupported"),
        "/session": (501, "unsupported"),
    }
    for path, (status, reason) in expected.items():
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["reason"]) == (status, reason), path
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]
    assert (await client.get("/groups/slow")).headers["retry-after"] == "1"


async def test_what_nobody_foresaw_shows_its_name_and_nothing_else(panel: Panel, client: httpx2.AsyncClient) -> None:
    """A bug's message, which may quote anything, stays in the log."""
    await panel.main.fail(KeyError("sk-secret-of-somebody"))
    answer = await client.get("/groups/main")
    assert (answer.status_code, answer.json()["reason"]) == (500, "unknown")
    assert "KeyError" in answer.json()["detail"]
    assert "sk-secret" not in answer.text


@pytest.mark.clause("REC-6")
async def test_a_key_that_stands_for_another_message_is_a_conflict(panel: Panel, client: httpx2.AsyncClient) -> None:
    """Not a wrong request in itself: the same message goes under a fresh key, and the detail says so."""
    await panel.main.fail(KeyTaken())
    answer = await client.get("/groups/main")
    assert (answer.status_code, answer.json()["reason"]) == (409, "protocol_violation")
    assert "fresh key" in answer.json()["detail"]


async def test_groups_are_added_and_removed(panel: Panel, client: httpx2.AsyncClient) -> None:
    """A new group is listed, a second of its name is refused, a wrong name is told with its key."""
    added = await client.post("/groups", json={"name": "lab"})
    assert (added.status_code, added.json()["name"]) == (201, "lab")
    assert [group["name"] for group in (await client.get("/groups")).json()] == ["main", "lab"]
    assert (await client.post("/groups", json={"name": "lab"})).status_code == 409
    wrong = await client.post("/groups", json={"name": "no good"})
    assert (wrong.status_code, wrong.json()["reason"]) == (422, "unsupported")
    assert (await client.delete("/groups/lab?delete=true")).json() == {"ok": True}
    assert panel.directory.removed == [("lab", True)]
    assert (await client.delete("/groups/lab")).status_code == 404


async def test_status_shows_every_group_whatever_its_state(panel: Panel, client: httpx2.AsyncClient) -> None:
    """A starting or broken group is listed with why, beside those that run."""
    panel.directory.starting.add("slow")
    panel.directory.broken["bad"] = AuditFailure("the journal of bad does not verify")
    status = (await client.get("/status")).json()
    states = {card["view"]["name"]: card["view"]["state"] for card in status["groups"]}
    assert states == {"main": "awake", "slow": "starting", "bad": "failed"}
    assert status["host"]["services"][0]["name"] == "ray"
    problems = [card["view"]["problem"] for card in status["groups"] if card["view"]["name"] == "bad"]
    assert problems == ["the journal of bad does not verify"]


@pytest.mark.clause("TURN-3")
async def test_the_exact_request_bytes_come_back(panel: Panel, client: httpx2.AsyncClient) -> None:
    """Not one byte is re-encoded on the way, be it spacing, key order or a lone surrogate's escape."""
    body = b'{"b" : 1,\n "a":"\\ud83d \xc3\xa9" , "n":1.0}'
    await panel.main.begin("hi")
    seq = await panel.main.request(1, body)
    answer = await client.get(f"/groups/main/requests/{seq}")
    assert answer.content == body
    assert answer.headers["content-type"].startswith("application/json")


@pytest.mark.clause("STOP-1")
async def test_stop_names_the_turns_it_ended_and_what_is_held(panel: Panel, client: httpx2.AsyncClient) -> None:
    """The answer to Stop comes when the final event is there, with what waits now."""
    turn = await panel.main.begin("work")
    await client.post("/groups/main/messages", json={"text": "and then", "priority": "later"})
    stopped = (await client.post("/groups/main/stop", json={})).json()
    assert stopped == {"turns": [turn], "held": 1}
    queued = (await client.get("/groups/main/queue")).json()
    assert [message["state"] for message in queued] == ["held"]
    released = await client.post(f"/groups/main/queue/{queued[0]['id']}/release")
    assert released.json()["disposition"] == "started"
    assert (await client.post(f"/groups/main/queue/{queued[0]['id']}/drop")).status_code == 404


@pytest.mark.clause("APR-3")
async def test_a_question_of_any_group_is_answered_by_its_id_and_once(panel: Panel, client: httpx2.AsyncClient) -> None:
    """The first answer counts; the second says that it changed nothing; an unknown id is not found."""
    lab = panel.directory.groups["lab"] = FakeGroup("lab")
    await lab.begin("work")
    await lab.ask("a9", "1.0", "shell", Effect.EXECUTE, {"command": "make"})
    waiting = (await client.get("/approvals")).json()
    assert [(each["id"], each["group"], each["arguments"]) for each in waiting] == [("a9", "lab", {"command": "make"})]
    first = (await client.post("/approvals/a9", json={"verdict": "deny", "text": "not now"})).json()
    again = (await client.post("/approvals/a9", json={"verdict": "allow"})).json()
    assert (first["settled"], first["verdict"]) == (True, "denied")
    assert (again["settled"], again["verdict"]) == (False, "denied")
    assert lab.journal[-1].data["text"] == "not now"
    assert (await client.post("/approvals/a1", json={"verdict": "allow"})).status_code == 404
    assert (await client.post("/approvals/a1", json={"verdict": "answer", "text": " "})).status_code == 400


@pytest.mark.clause("APR-3")
async def test_an_unknown_question_may_be_in_a_group_that_is_away(panel: Panel, client: httpx2.AsyncClient) -> None:
    """While a group cannot be asked, nobody claims that the question does not exist."""
    panel.directory.starting.add("slow")
    answer = await client.post("/approvals/a1", json={"verdict": "allow"})
    assert (answer.status_code, answer.json()["reason"]) == (503, "resource_busy")


async def test_past_events_are_a_list_that_pages(panel: Panel, client: httpx2.AsyncClient) -> None:
    """Events come as the contract has them, oldest first, after a sequence and up to a limit."""
    await panel.main.say(Say(text="one", key="1"))
    events = (await client.get("/groups/main/events")).json()
    assert [event["seq"] for event in events] == [1, 2, 3]
    assert events[0].keys() == {"seq", "at", "turn", "kind", "data"}
    page = (await client.get("/groups/main/events?after=1&limit=1")).json()
    assert [event["seq"] for event in page] == [2]


async def test_journal_search_verify_and_export(panel: Panel, client: httpx2.AsyncClient) -> None:
    """The three views of the journal answer, the export with every event on a line of its own."""
    await panel.main.begin("find the needle")
    found = (await client.get("/groups/main/journal/search", params={"text": "needle"})).json()
    assert [hit["seq"] for hit in found] == [1]
    assert (await client.get("/groups/main/journal/verify")).json()["ok"] is True
    lines = (await client.get("/groups/main/journal/export")).text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3]
    assert (await client.get("/groups/main/instructions")).json()["invariants"] == "Stay in the workspace."


async def test_shutdown_is_asked_for_and_answered(panel: Panel, client: httpx2.AsyncClient) -> None:
    """The caller hears that the host will stop before it does."""
    answer = await client.post("/shutdown")
    assert (answer.status_code, panel.directory.stopping) == (202, True)
