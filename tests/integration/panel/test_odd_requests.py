"""Requests that make no sense: each is told what to do instead, as a problem document with a reason (RFC 9457)."""

import asyncio
import json
from collections.abc import AsyncGenerator

import httpx2
import pytest

from tests.integration.panel.conftest import BOUND_SECONDS, TOKEN, Panel

AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
BEYOND = 2**63
NUMBERS = ["-1", str(BEYOND), "9" * 30, "9" * 5000, "x", "", "1.5", "NaN", "٣", "%00", " 1"]
NAMES = ["", " ", ".", "..", "%2e%2e", "%2F", "..%2Fmain", "%00", "%ff", "a" * 5000, "%E2%80%AE", "-"]
BODIES: list[bytes] = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"5",
    b'"text"',
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"text":' + b"[" * 100_000,
    b'{"text":' + b'{"a":' * 5000 + b"1" + b"}" * 5001,
    b'{"text":5}',
    b'{"text":null}',
    b'{"text":"\\ud800"}',
    b'{"text":"a","text":7}',
    b'{"text":1e999}',
]
POSTS = ["/groups", "/groups/main/messages", "/groups/main/stop", "/approvals/a1"]


@pytest.fixture
async def client(panel: Panel) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client with the token."""
    async with httpx2.AsyncClient(base_url=f"{panel.url}/api/v1", headers=AUTHORIZED, timeout=BOUND_SECONDS) as opened:
        yield opened


def told(answer: httpx2.Response) -> str:
    """Return what a problem document says; fail unless it is one, and blames the request."""
    assert 400 <= answer.status_code < 500, (answer.request.url, answer.status_code, answer.text[:300])
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["reason"]
    assert len(problem["detail"]) > 10
    assert "report" not in problem["detail"]
    return str(problem["detail"])


@pytest.mark.parametrize("odd", NUMBERS)
async def test_a_number_that_is_none_or_too_large_is_refused_or_ignored(client: httpx2.AsyncClient, odd: str) -> None:
    """Never an error of the host."""
    for path in (
        f"/groups/main/events?after={odd}",
        f"/groups/main/events?limit={odd}",
        f"/groups/main/requests/{odd}",
    ):
        answer = await client.get(path)
        if answer.status_code != 200:
            told(answer)
    for path in (f"/groups/main/turns?limit={odd}", f"/groups/main/journal/search?text=a&limit={odd}"):
        answer = await client.get(path)
        if answer.status_code != 200:
            told(answer)


@pytest.mark.parametrize("odd", [str(BEYOND), "9" * 30, "-5", "abc", "٣", "1e3"])
async def test_a_last_event_id_that_cannot_be_one_is_refused(client: httpx2.AsyncClient, odd: str) -> None:
    """It names the header."""
    headers = {b"Accept": b"text/event-stream", b"Last-Event-ID": odd.encode()}
    assert "Last-Event-ID" in told(await client.get("/groups/main/events", headers=headers))


@pytest.mark.clause("PAN-3")
async def test_a_stream_from_beyond_the_end_goes_on_from_the_end(panel: Panel, client: httpx2.AsyncClient) -> None:
    """As after a journal was put back from an older copy: what is new from now on is told."""
    await panel.main.begin("old")
    headers = {"Accept": "text/event-stream", "Last-Event-ID": "999999"}
    async with asyncio.timeout(BOUND_SECONDS), client.stream("GET", "/groups/main/events", headers=headers) as stream:
        lines = stream.aiter_lines()
        assert (await anext(lines)).startswith("retry:")
        await panel.main.end("new")
        async for line in lines:
            if line.startswith("data:"):
                assert json.loads(line.removeprefix("data:"))["kind"] == "turn_ended"
                break


@pytest.mark.parametrize("text", ["", "%20", "%00", "a" * 1001, None])
async def test_a_search_for_nothing_or_for_too_much_is_refused(client: httpx2.AsyncClient, text: str | None) -> None:
    """It names the parameter."""
    query = "" if text is None else f"?text={text}"
    answer = await client.get(f"/groups/main/journal/search{query}")
    assert answer.status_code == 200 or "text" in told(answer)


@pytest.mark.parametrize("path", POSTS)
async def test_a_body_that_does_not_fit_is_refused(client: httpx2.AsyncClient, path: str) -> None:
    """Whatever is wrong with it, the words are about the request."""
    for body in BODIES:
        answer = await client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert "'data'" not in told(answer), body[:80]


async def test_a_missing_body_is_called_so(client: httpx2.AsyncClient) -> None:
    """With what to send instead."""
    detail = told(await client.post("/groups/main/stop"))
    assert "body" in detail
    assert "{}" in detail


@pytest.mark.parametrize("odd", NAMES)
async def test_a_name_that_no_group_has_is_not_found(client: httpx2.AsyncClient, odd: str) -> None:
    """Also where it would lead to another address."""
    for path in (
        f"/groups/{odd}/queue",
        f"/groups/{odd}/turns/x",
        f"/groups/main/turns/{odd}",
        f"/groups/{odd}/events",
    ):
        answer = await client.get(path)
        if answer.status_code != 200:
            told(answer)
    for path in (f"/groups/{odd}/messages", f"/approvals/{odd}"):
        told(await client.post(path, json={"text": "x", "verdict": "allow"}))
