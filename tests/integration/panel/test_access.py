"""Who gets in at the web edge, and who does not."""

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
import pytest

from host.panel.app import build_app
from host.panel.listen import check_listen
from host.panel.server import PanelServer
from host.panel.sessions import Sessions
from host.record.host_events import SignedIn, SignedOut, SignInFailed
from tests.integration.panel.conftest import BOUND_SECONDS, TOKEN, Panel, now_us
from tests.integration.panel.sse import stream

pytestmark = pytest.mark.clause("PAN-2")


def client_of(panel: Panel, **headers: str) -> httpx2.AsyncClient:
    """Return a client of the panel; it keeps cookies."""
    return httpx2.AsyncClient(base_url=panel.url, headers=headers, timeout=BOUND_SECONDS)


@asynccontextmanager
async def signed_in(panel: Panel) -> AsyncGenerator[httpx2.AsyncClient]:
    """Yield a client that opened a login link, as a browser on the panel's own page."""
    async with client_of(panel, Origin=panel.url, **{"Sec-Fetch-Site": "same-origin"}) as client:
        code = panel.sessions.invite().code
        answer = await client.post("/sign-in", data={"code": code})
        assert answer.status_code == 303, answer.text
        yield client


async def csrf_of(client: httpx2.AsyncClient) -> str:
    """Return the word that the client's changes must carry."""
    return str((await client.get("/api/v1/session")).json()["csrf"])


async def test_nothing_of_the_api_answers_without_a_token(panel: Panel) -> None:
    """Every route of the API, read or change, refuses a stranger with 401 and a problem document."""
    async with client_of(panel, Authorization=f"Bearer {TOKEN}") as operator, client_of(panel) as stranger:
        paths = (await operator.get("/api/v1/openapi.json")).json()["paths"]
        assert len(paths) > 15
        for path, operations in paths.items():
            for method in operations:
                address = path.format(
                    group="main", turn="t1", seq=1, message="m1", approval="a1", grant="g1", name="x", server="s1"
                )
                answer = await stranger.request(method.upper(), address)
                assert (answer.status_code, answer.json()["reason"]) == (401, "policy_violation"), (method, path)
                assert answer.headers["content-type"] == "application/problem+json"
    assert panel.directory.stopping is False


async def test_a_wrong_token_is_refused_kept_back_and_journaled(panel: Panel) -> None:
    """Guessing the token gets slower with every attempt, and the host's journal has a row of it."""
    async with client_of(panel, Authorization="Bearer guess") as stranger:
        for _ in range(5):
            assert (await stranger.get("/api/v1/status")).status_code == 401
    assert panel.rests == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert [entry.event for entry in panel.record.entries] == [SignInFailed(address="127.0.0.1", how="token", count=1)]
    await panel.stop()
    assert panel.record.entries[-1].event == SignInFailed(address="127.0.0.1", how="token", count=4)


async def test_the_right_token_gets_in_at_once_after_failures(panel: Panel) -> None:
    """Whoever guesses cannot lock the operator out."""
    async with client_of(panel) as client:
        for _ in range(20):
            await client.get("/api/v1/status", headers={"Authorization": "Bearer guess"})
        delays = len(panel.rests)
        answer = await client.get("/api/v1/status", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert len(panel.rests) == delays


async def test_guesses_in_parallel_are_refused_and_keep_nobody_out(panel: Panel) -> None:
    """While an address's answers are kept back in number, its guesses are refused; the right token gets in."""
    panel.go_on.clear()
    right, code = f"Bearer {TOKEN}", panel.sessions.invite().code
    elsewhere = httpx2.AsyncHTTPTransport(local_address="127.0.0.2")
    async with client_of(panel) as client, httpx2.AsyncClient(base_url=panel.url, transport=elsewhere) as other:
        guess = {"Authorization": "Bearer guess"}
        guesses = [asyncio.create_task(client.get("/api/v1/status", headers=guess)) for _ in range(20)]
        refused = [await first for first in itertools.islice(asyncio.as_completed(guesses), 4)]
        assert [(answer.status_code, answer.json()["reason"]) for answer in refused] == [(429, "resource_busy")] * 4
        assert (await client.get("/api/v1/status", headers={"Authorization": right})).status_code == 200
        form, origin = {"code": code}, {"Origin": panel.url}
        assert (await client.post("/sign-in", data=form, headers=origin)).status_code == 429
        assert (await other.get("/api/v1/status", headers={"Authorization": right})).status_code == 200
        panel.go_on.set()
        answers = await asyncio.gather(*guesses)
        assert sorted(answer.status_code for answer in answers) == [401] * 16 + [429] * 4
        assert len(panel.rests) == 16
        assert (await client.get("/api/v1/status", headers={"Authorization": right})).status_code == 200
        assert (await client.post("/sign-in", data=form, headers=origin)).status_code == 303


@pytest.mark.parametrize("foreign", ["a/b=1", 'prefs={"theme":"dark"}', "flag", "=", 'q="a', "{name}=stale"])
async def test_cookies_of_other_programs_do_no_harm(panel: Panel, foreign: str) -> None:
    """Whatever stands beside it in the header, before or after, the panel's own cookie counts, and it alone."""
    async with signed_in(panel) as client, client_of(panel) as browser:
        ((name, own),) = client.cookies.items()
        other = foreign.replace("{name}", name)
        for cookies in (f"{other}; {name}={own}", f"{name}={own};{other}"):
            assert (await browser.get("/api/v1/status", headers={"Cookie": cookies})).status_code == 200
        for cookies in (other, f"{other}; x{name}={own}; {name.upper()}={own}"):
            assert (await browser.get("/api/v1/status", headers={"Cookie": cookies})).status_code == 401


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example", "", "user@127.0.0.1", "127.0.0.1:x"])
async def test_a_foreign_host_name_is_refused_everywhere(panel: Panel, name: str) -> None:
    """A page whose name was rebound to our address gets nothing, whatever it asks for."""
    async with client_of(panel, Authorization=f"Bearer {TOKEN}", Host=name) as client:
        for path in ("/healthz", "/", "/login", "/api/v1/status", "/api/v1/groups/main/events"):
            assert (await client.get(path)).status_code in {400, 421}


@pytest.mark.parametrize("name", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:9999", "[::1]:{port}"])
async def test_the_names_of_loopback_are_its_own(panel: Panel, name: str) -> None:
    """The panel answers under every name of loopback, also through a forwarded port."""
    async with client_of(panel, Host=name.format(port=panel.port)) as client:
        assert (await client.get("/healthz")).json() == {"ok": True}


async def test_a_login_link_signs_in_once(panel: Panel) -> None:
    """The second use of a link is refused, kept back and journaled."""
    code = panel.sessions.invite().code
    async with client_of(panel, Origin=panel.url) as first, client_of(panel, Origin=panel.url) as second:
        assert (await first.post("/sign-in", data={"code": code})).status_code == 303
        assert (await first.get("/")).status_code == 200
        assert (await second.post("/sign-in", data={"code": code})).status_code == 401
        assert (await second.get("/")).status_code == 401
    assert panel.rests == [0.25]
    assert [type(entry.event) for entry in panel.record.entries] == [SignedIn, SignInFailed]


async def test_opening_a_link_does_not_use_it_up(panel: Panel) -> None:
    """A preview that fetches the address leaves the link good for the person."""
    code = panel.sessions.invite().code
    async with client_of(panel, Origin=panel.url) as client:
        for _ in range(3):
            assert (await client.get(f"/login?code={code}")).status_code == 200
        assert (await client.post("/sign-in", data={"code": code})).status_code == 303


async def test_the_cookie_is_http_only_strict_and_nothing_in_the_journal_opens_a_session(panel: Panel) -> None:
    """Scripts and other sites never see the cookie; the journal holds its hash alone."""
    code = panel.sessions.invite().code
    async with client_of(panel, Origin=panel.url) as client:
        header = (await client.post("/sign-in", data={"code": code})).headers["set-cookie"]
        cookie = dict(client.cookies)
    assert header.endswith("; Path=/; HttpOnly; SameSite=Strict")
    (value,) = cookie.values()
    assert value not in str(panel.record.entries)
    assert code not in str(panel.record.entries)


async def test_a_change_by_cookie_needs_the_csrf_word(panel: Panel) -> None:
    """The cookie alone lets nobody change anything."""
    async with signed_in(panel) as client:
        assert (await client.post("/api/v1/groups/main/messages", json={"text": "hi"})).status_code == 403
        headers = {"X-Elis-CSRF": await csrf_of(client)}
        answer = await client.post("/api/v1/groups/main/messages", json={"text": "hi"}, headers=headers)
    assert answer.status_code == 202
    assert panel.main.journal[0].kind == "message_received"


@pytest.mark.parametrize(
    "foreign",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
async def test_a_change_from_another_page_is_refused(panel: Panel, foreign: dict[str, str]) -> None:
    """A page of another site, or of another port of this machine, cannot use the cookie even with the CSRF word."""
    async with signed_in(panel) as client:
        word = await csrf_of(client)
        headers = {"X-Elis-CSRF": word, **foreign}
        answer = await client.post("/api/v1/groups/main/messages", json={"text": "hi"}, headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (403, "policy_violation")
    assert panel.main.journal == []


async def test_another_page_cannot_read_with_the_cookie(panel: Panel) -> None:
    """A same-site page of another port gets nothing to read either."""
    async with signed_in(panel) as client:
        answer = await client.get("/api/v1/status", headers={"Sec-Fetch-Site": "same-site"})
    assert answer.status_code == 403


async def test_another_page_cannot_sign_a_browser_in(panel: Panel) -> None:
    """A foreign form cannot plant a session, and does not use up the code."""
    code = panel.sessions.invite().code
    async with client_of(panel) as client:
        foreign = await client.post("/sign-in", data={"code": code}, headers={"Origin": "http://evil.example"})
        own = await client.post("/sign-in", data={"code": code}, headers={"Origin": panel.url})
    assert (foreign.status_code, own.status_code) == (403, 303)


async def test_sessions_outlive_a_restart(panel: Panel) -> None:
    """A browser stays signed in when the host restarts."""
    async with signed_in(panel) as client:
        await panel.stop()
        await panel.start()
        assert (await client.get("/")).status_code == 200


async def test_sign_out_everywhere_ends_sessions_links_and_streams(panel: Panel) -> None:
    """After it no browser is signed in, no open link works, and a stream that was open says nothing more."""
    code = panel.sessions.invite().code
    async with signed_in(panel) as client, client_of(panel, Authorization=f"Bearer {TOKEN}") as operator:
        async with client.stream(
            "GET", "/api/v1/groups/main/events", headers={"Accept": "text/event-stream"}
        ) as open_one:
            lines = open_one.aiter_lines()
            assert await anext(lines) == "retry: 1000"
            answer = await operator.post("/api/v1/sign-out-everywhere")
            assert answer.json() == {"sessions": 1}
            await panel.main.begin("a secret plan")
            async with asyncio.timeout(BOUND_SECONDS):
                rest = "\n".join([line async for line in lines])
        assert "secret plan" not in rest
        assert "event: problem" in rest
        assert (await client.get("/")).status_code == 401
        assert (await client.post("/sign-in", data={"code": code})).status_code == 401
    assert any(entry.event == SignedOut(session="") for entry in panel.record.entries)


async def test_signing_out_ends_this_browsers_session_alone(panel: Panel) -> None:
    """The button ends one session; another browser stays signed in."""
    async with signed_in(panel) as one, signed_in(panel) as other:
        assert (await one.post("/sign-out")).status_code == 303
        assert (await one.get("/")).status_code == 401
        assert (await other.get("/")).status_code == 200


async def test_login_links_and_shutdown_want_the_token(panel: Panel) -> None:
    """A browser session cannot make links for other browsers or end the host."""
    async with signed_in(panel) as client:
        headers = {"X-Elis-CSRF": await csrf_of(client)}
        assert (await client.post("/api/v1/login-links", headers=headers)).status_code == 401
        assert (await client.post("/api/v1/shutdown", headers=headers)).status_code == 401
    assert panel.directory.stopping is False


async def test_a_link_made_by_the_api_opens_the_panel(panel: Panel) -> None:
    """The address in the answer is the panel's own, and its code works."""
    async with client_of(panel, Authorization=f"Bearer {TOKEN}") as operator:
        link = (await operator.post("/api/v1/login-links")).json()
    assert link["url"].startswith(f"{panel.url}/login?code=")
    code = link["url"].partition("code=")[2]
    async with client_of(panel, Origin=panel.url) as client:
        assert (await client.post("/sign-in", data={"code": code})).status_code == 303


@pytest.mark.clause("PAN-1")
async def test_every_answer_carries_the_strict_headers(panel: Panel) -> None:
    """Pages, API, errors and files all forbid framing, sniffing, foreign and inline script."""
    async with client_of(panel, Authorization=f"Bearer {TOKEN}") as client:
        for path in ("/login", "/", "/api/v1/status", "/nowhere", "/api/v1/nowhere", "/healthz", "/favicon.ico"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store", path


@pytest.mark.clause("PAN-12")
async def test_no_page_holds_a_secret(panel: Panel) -> None:
    """Token, cookie, link code and CSRF word stand in no page and no script."""
    async with signed_in(panel) as client:
        code = panel.sessions.invite().code
        secrets = [TOKEN, code, *client.cookies.values(), await csrf_of(client)]
        for path in ("/", "/groups/main", f"/login?code={code}", "/groups/none"):
            text = (await client.get(path, headers={"Accept": "text/html"})).text
            assert "</html>" in text
            assert not [secret for secret in secrets if secret in text], path


async def test_behind_a_tls_proxy_cookies_are_secure_and_origins_https(panel: Panel) -> None:
    """With a reverse proxy named, the panel answers under its name, and only its https origin may change things."""
    site = check_listen("127.0.0.1:0", proxy_url="https://elis.example.org")
    sessions = Sessions(panel.record, now_us)
    app = build_app(panel.directory, sessions, token=TOKEN, site=site, record=panel.record, now_us=now_us)
    server = PanelServer(app, site)
    await server.start()
    try:
        headers = {
            "Host": "elis.example.org",
            "X-Forwarded-For": "198.51.100.1, 203.0.113.9",
            "X-Forwarded-Proto": "https",
        }
        async with httpx2.AsyncClient(base_url=f"http://{server.address}", headers=headers) as client:
            link = await client.post("/api/v1/login-links", headers={"Authorization": f"Bearer {TOKEN}"})
            url = link.json()["url"]
            form = {"code": url.partition("code=")[2]}
            plain = await client.post("/sign-in", data=form, headers={"Origin": "http://elis.example.org"})
            answer = await client.post("/sign-in", data=form, headers={"Origin": "https://elis.example.org"})
    finally:
        await server.stop()
    assert url.startswith("https://elis.example.org/login?code=")
    assert plain.status_code == 403
    assert answer.headers["set-cookie"].startswith("__Host-elis=")
    assert "; Secure" in answer.headers["set-cookie"]
    signed = [entry.event for entry in panel.record.entries if isinstance(entry.event, SignedIn)]
    assert [event.address for event in signed] == ["203.0.113.9"]


async def test_a_stream_by_token_needs_no_session(panel: Panel) -> None:
    """The command line's stream goes on when browsers are signed out."""
    async with stream(panel.url, "/api/v1/groups/main/events") as frames:
        await panel.sessions.sign_out_everywhere()
        await panel.main.begin("hello")
        assert (await frames.next()).data["kind"] == "message_received"
