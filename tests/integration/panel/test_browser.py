"""The panel in a real Chromium: sign-in, streaming, Stop, questions, restarts, phones, keyboards, accessibility."""

import asyncio
import importlib.resources
import json
import os
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    async_playwright,
    expect,
)

from host.errors import AuditFailure
from host.groups.port import Say
from host.passport import Effect
from host.record.events import Account, CallAsked
from host.stops import Outcome, Reason
from tests.integration.panel.conftest import BOUND_SECONDS, Panel, running_panel
from tests.integration.panel.fake_group import FakeGroup

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.clause("PAN-13")]

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
AXE = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text()
BOUND_MS = BOUND_SECONDS * 2000

expect.set_options(timeout=BOUND_MS)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncGenerator[Browser]:
    """One Chromium for all tests of this module."""
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        await running.close()


@pytest_asyncio.fixture(loop_scope="module")
async def panel() -> AsyncGenerator[Panel]:
    """A panel of a test's own."""
    async with running_panel("main") as running:
        yield running


class Visitor:
    """A person's browser. Whatever goes wrong in its pages is kept and ends the test."""

    def __init__(self, browser: Browser, panel: Panel) -> None:
        self._browser = browser
        self._panel = panel
        self.contexts: list[BrowserContext] = []
        self.requests: list[str] = []
        self.troubles: list[str] = []
        self.expected: set[str] = set()  # parts of console errors that a test provokes

    async def open(self, path: str = "/", **context: Any) -> Page:
        """Go to `path` with a fresh browser that is signed in."""
        opened = await self._browser.new_context(**context)
        opened.set_default_timeout(BOUND_MS)
        self.contexts.append(opened)
        await opened.add_cookies([await self._cookie()])
        page = await self.tab(opened)
        await page.goto(self._panel.url + path)
        return page

    async def _cookie(self) -> Any:
        sessions = self._panel.sessions
        value = await sessions.redeem(sessions.invite().code, address="127.0.0.1", agent="Chromium")
        return {"name": f"elis-{self._panel.port}", "value": value, "url": self._panel.url, "httpOnly": True}

    async def tab(self, context: BrowserContext) -> Page:
        """Open a page that reports its troubles."""
        page = await context.new_page()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("dialog", lambda dialog: self.troubles.append(f"dialog: {dialog.message}"))
        page.on("request", self._request)
        return page

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.troubles.append(message.text)

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith(self._panel.url):
            self.troubles.append(f"foreign request: {request.url}")


@pytest_asyncio.fixture(loop_scope="module")
async def visitor(browser: Browser, panel: Panel) -> AsyncGenerator[Visitor]:
    """A visitor whose pages must end without an error in the console and without a foreign request."""
    visiting = Visitor(browser, panel)
    yield visiting
    for context in visiting.contexts:
        await context.close()
    assert [trouble for trouble in visiting.troubles if not any(part in trouble for part in visiting.expected)] == []


async def say(page: Page, text: str) -> None:
    """Type a message and send it."""
    await page.get_by_label("Message to main").fill(text)
    await page.get_by_role("button", name="Send").click()


async def scene(group: FakeGroup) -> None:
    """Let much happen in a group: calls good and bad, all outcomes, a question, messages that wait."""
    long_name = "a/very/long/path/without/any/blank/" + "x" * 120
    await group.begin("Look at the parsers. " + "W" * 80)
    await group.request(1, b"{}")
    await group.respond(1, "First I look.", CallAsked(call="1.0", provider_id="a", tool="read_file", arguments="{}"))
    await group.call("1.0", "read_file", Effect.READ, {"path": long_name}, long_name)
    seq = await group.finish("1.0", "read_file", Effect.READ, "line\n" * 40 + "y" * 400, target=long_name)
    await group.call("1.1", "shell", Effect.EXECUTE, {"command": "make " + "z" * 200}, "make")
    await group.finish("1.1", "shell", Effect.EXECUTE, "no rule", reason=Reason.TOOL_FAILED, target="make")
    table = "| a | b | c |\n|---|---|---|\n| " + "1" * 60 + " | " + "2" * 60 + " | 3 |\n\n```\n" + "c" * 200 + "\n```\n"
    await group.end(
        f"# Found\n\n{table}\n> quoted\n\n- [link](https://example.org/)\n",
        outcome=Outcome.PARTIAL,
        reason=Reason.TOOL_FAILED,
        detail="make ended with exit code 2",
        done=(Account(call="1.0", what="read_file " + long_name, seq=seq),),
        failed=(Account(call="1.1", what="shell make", seq=8, reason=Reason.TOOL_FAILED),),
        not_attempted=(Account(call="1.2", what="shell git push", seq=0),),
    )
    await group.begin("Again.")
    await group.end("All **good**.")
    await group.begin("And now?")
    await group.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": "make " + "z" * 120, "timeout_seconds": 60})
    await group.say(Say(text="steer", key="s", priority="turn"))
    await group.say(Say(text="wait", key="w", priority="later"))


async def violations(page: Page) -> list[dict[str, Any]]:
    """Return what axe finds wrong with a page, by WCAG 2.2 AA and good practice."""
    await page.evaluate(AXE)
    result = await page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    found: list[dict[str, Any]] = result["violations"]
    return [{"id": each["id"], "nodes": [node["html"][:200] for node in each["nodes"]]} for each in found]


@pytest.mark.clause("PAN-2")
async def test_a_link_signs_in_once(visitor: Visitor, panel: Panel, browser: Browser) -> None:
    """The link opens the overview and leaves no code in the address; a second browser is told how to get its own."""
    link = panel.link()
    first = await browser.new_context()
    second = await browser.new_context()
    visitor.contexts += [first, second]
    page = await visitor.tab(first)
    await page.goto(link)
    await expect(page).to_have_url(f"{panel.url}/")
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    late = await second.new_page()
    await late.goto(link)
    await expect(late.get_by_role("heading", name="You are not signed in")).to_be_visible()
    assert "code=" not in late.url
    assert [(cookie.get("httpOnly"), cookie.get("sameSite")) for cookie in await first.cookies()] == [(True, "Strict")]
    assert await page.evaluate("document.cookie") == ""


@pytest.mark.clause("TURN-5", "PAN-4", "PAN-1")
async def test_a_reply_is_a_draft_until_the_final_event(visitor: Visitor, panel: Panel) -> None:
    """Text appears as it is written, as plain text marked as draft; the final event replaces it, rendered."""
    page = await visitor.open("/groups/main")
    await say(page, "hello")
    await expect(page.locator(".working")).to_contain_text("Working")
    await panel.main.write(1, "It **is")
    draft = page.locator(".draft")
    await expect(draft).to_contain_text("It **is")
    await panel.main.write(1, " so**.")
    await expect(draft.locator(".draft-text")).to_have_text("It **is so**.")
    await expect(draft).to_contain_text("Draft")
    await panel.main.respond(1, "It **is so**.")
    await expect(draft.locator(".draft-text")).to_have_text("It **is so**.")
    await panel.main.end("It **is so**.")
    await expect(page.locator(".reply strong")).to_have_text("is so")
    await expect(draft).to_have_count(0)
    await expect(page.locator(".account")).to_contain_text("Done")
    await expect(page.locator(".account")).to_contain_text("3 steps")


@pytest.mark.clause("PAN-4")
async def test_a_page_opened_in_mid_sentence_shows_all_of_it_once(visitor: Visitor, panel: Panel) -> None:
    """The history, the draft so far and what follows make one conversation."""
    await panel.main.begin("hello")
    await panel.main.write(1, "It was ")
    page = await visitor.open("/groups/main")
    await expect(page.locator(".draft-text")).to_have_text("It was")
    await panel.main.write(1, "so.")
    await expect(page.locator(".draft-text")).to_have_text("It was so.")
    await expect(page.locator("[data-turn]")).to_have_count(1)


@pytest.mark.clause("PAN-4")
async def test_calls_show_arguments_result_and_time(visitor: Visitor, panel: Panel) -> None:
    """A call appears while it runs; opened, it shows what exactly was asked and what came back."""
    await panel.main.begin("go")
    page = await visitor.open("/groups/main")
    await panel.main.call("1.0", "read_file", Effect.READ, {"path": "a.txt", "lines": [1, 5]}, "a.txt")
    call = page.locator("[data-call='1.0']")
    await expect(call).to_contain_text("runs")
    await panel.main.finish("1.0", "read_file", Effect.READ, "the first line", target="a.txt")
    await expect(call).to_contain_text("420 ms")
    await call.locator("summary").click()
    await expect(call.locator(".arguments")).to_contain_text("a.txt")
    await expect(call.locator(".call-result")).to_contain_text("the first line")
    await panel.main.call("1.1", "shell", Effect.EXECUTE, {"command": "make"}, "make")
    await panel.main.finish("1.1", "shell", Effect.EXECUTE, "no rule", reason=Reason.TOOL_FAILED, target="make")
    await expect(page.locator("[data-call='1.1']")).to_contain_text("a tool failed")
    await expect(call.locator("details")).to_have_attribute("open", "")


@pytest.mark.clause("STOP-1", "PAN-4")
async def test_stop_is_one_tap_and_says_what_it_did(visitor: Visitor, panel: Panel) -> None:
    """Stop ends the turn; what waited is held and goes on when the person says so."""
    page = await visitor.open("/groups/main", **PHONE)
    stop = page.get_by_role("button", name="Stop")
    await expect(stop).to_be_in_viewport()
    await say(page, "long work")
    await page.get_by_role("radio", name="Later").tap()
    await say(page, "then this")
    await expect(page.locator(".pending")).to_contain_text("waits, place 1")
    await expect(stop).to_be_in_viewport()
    await stop.tap()
    await expect(page.locator(".account")).to_contain_text("Not done stopped")
    await expect(page.locator(".pending")).to_contain_text("held since the Stop")
    await page.get_by_role("button", name="Let it run").tap()
    await expect(page.locator("[data-turn]").nth(1)).to_contain_text("then this")
    await expect(page.locator(".pending")).to_have_text("")


@pytest.mark.clause("LANE-2", "PAN-4")
async def test_every_message_shows_what_became_of_it(visitor: Visitor, panel: Panel) -> None:
    """A steered message waits to enter and then stands where it entered; a queued one can be dropped."""
    page = await visitor.open("/groups/main")
    await say(page, "work")
    await expect(page.locator("[data-turn]")).to_have_count(1)
    await say(page, "and mind the tests")
    await expect(page.locator(".pending")).to_contain_text("enters the running turn")
    steered = next(placed for placed in panel.main.keys.values() if placed.disposition == "steered")
    await panel.main.enter(steered.message, "and mind the tests", 2)
    await expect(page.locator("[data-turn] .said-text")).to_have_text(["work", "and mind the tests"])
    await expect(page.locator(".pending")).to_have_text("")
    await page.get_by_role("radio", name="Later").check()
    await say(page, "never mind")
    await page.get_by_role("button", name="Drop").click()
    await expect(page.locator(".blocks > .said")).to_contain_text("dropped by panel")


@pytest.mark.clause("APR-1", "PAN-4")
async def test_a_question_is_allowed_where_it_stands(visitor: Visitor, panel: Panel) -> None:
    """The card shows who, tool, exact arguments, what may happen and what it was doing; one click allows."""
    await panel.main.begin("run it")
    page = await visitor.open("/groups/main")
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": "make  test # 'x'"})
    card = page.locator("[data-question='a1']")
    for words in (
        "main asks to use shell",
        "for operator",
        "runs a program",
        "may change files",
        "I will run the tests",
    ):
        await expect(card).to_contain_text(words)
    assert await card.locator(".arguments pre").text_content() == "make  test # 'x'"
    await card.get_by_role("button", name="Allow once").click()
    await expect(page.locator(".verdict")).to_have_text("allowed by the operator")
    assert panel.main.settled == {"a1": "allowed"}


@pytest.mark.clause("APR-2", "PAN-4")
async def test_a_question_is_denied_with_a_reason(visitor: Visitor, panel: Panel) -> None:
    """The reason reaches the group, and the card becomes one line."""
    await panel.main.begin("run it")
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": "make"})
    page = await visitor.open("/groups/main")
    card = page.locator("[data-question='a1']")
    await card.get_by_label("Reason").fill("not on Fridays")
    await card.get_by_role("button", name="Deny").click()
    await expect(page.locator(".verdict")).to_have_text("denied by the operator: “not on Fridays”")
    await expect(card).to_have_count(0)
    assert panel.main.journal[-1].data["text"] == "not on Fridays"


async def test_ask_person_is_answered(visitor: Visitor, panel: Panel) -> None:
    """A question for words takes words."""
    await panel.main.begin("plan")
    await panel.main.ask("a1", "1.0", "ask_person", Effect.PURE, {"question": "Red or blue?"}, question="answer")
    page = await visitor.open("/groups/main")
    await expect(page.locator(".question-asked")).to_have_text("Red or blue?")
    await page.get_by_label("Your answer").fill("Blue.")
    await page.get_by_role("button", name="Send answer").click()
    await expect(page.locator(".verdict")).to_contain_text("answered by the operator: “Blue.”")


@pytest.mark.clause("PAN-3")
async def test_the_overview_is_live_and_answers_questions(visitor: Visitor, panel: Panel) -> None:
    """Work, a question and a failure appear by themselves, and the question is answered there."""
    page = await visitor.open("/")
    card = page.locator("[data-card='main']")
    await expect(card).to_contain_text("idle")
    await panel.main.begin("Summarise the papers")
    await expect(card).to_contain_text("Summarise the papers")
    await expect(card).to_contain_text("working")
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": "make"})
    await expect(page.get_by_role("heading", name="Waiting for you")).to_be_visible()
    await expect(page).to_have_title("(1) Overview · home · Elis")
    await page.get_by_role("button", name="Allow once").click()
    await expect(page.locator("[data-question]")).to_have_count(0)
    await panel.main.stop("chat", all_lanes=False, by="api")
    await expect(card.locator(".failures")).to_contain_text("stopped")
    await expect(card).to_contain_text("$0.01 of $5.00 today")


async def test_many_tabs_share_one_overview_stream(visitor: Visitor, panel: Panel) -> None:
    """A second tab hears the news through the first, and takes over when that one closes."""
    page = await visitor.open("/")
    await expect(page.locator("[data-card='main']")).to_be_visible()
    other = await visitor.tab(page.context)
    await other.goto(panel.url)
    await expect(other.locator("[data-card='main']")).to_contain_text("idle")
    stream = f"{panel.url}/api/v1/overview"
    assert visitor.requests.count(stream) == 1
    await page.close()
    await panel.main.begin("work")
    await expect(other.locator("[data-card='main']")).to_contain_text("working")
    assert visitor.requests.count(stream) == 2


@pytest.mark.clause("REC-2", "PAN-12")
async def test_a_restart_loses_and_repeats_nothing(visitor: Visitor, panel: Panel) -> None:
    """While the host is away the page says so; afterwards each event of before, meanwhile and after stands once."""
    await panel.main.begin("one")
    await panel.main.end("first answer")
    page = await visitor.open("/groups/main")
    await expect(page.locator(".reply")).to_have_text(["first answer"])
    visitor.expected = {"ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED"}
    await panel.stop()
    await expect(page.get_by_text("The connection to the host is lost")).to_be_visible()
    await say(page, "kept words")
    await expect(page.get_by_text("Not sent")).to_be_visible()
    await panel.main.begin("two")
    await panel.main.end("second answer")
    await panel.start()
    await expect(page.locator(".reply")).to_have_text(["first answer", "second answer"])
    await expect(page.get_by_text("The connection to the host is lost")).to_have_count(0)
    await expect(page.get_by_label("Message to main")).to_have_value("kept words")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator("[data-turn]").nth(2)).to_contain_text("kept words")
    await panel.main.end("third answer")
    await expect(page.locator(".reply")).to_have_text(["first answer", "second answer", "third answer"])


@pytest.mark.clause("PAN-2")
async def test_a_page_that_was_signed_out_says_so(visitor: Visitor, panel: Panel) -> None:
    """After sign-out everywhere an open page shows nothing new, and how to get in again."""
    page = await visitor.open("/groups/main")
    await expect(page.get_by_text("Say something to main")).to_be_visible()
    await panel.sessions.sign_out_everywhere()
    await panel.main.begin("not for you")
    await expect(page.get_by_text("You are signed out").first).to_be_visible()
    await expect(page.get_by_text("not for you")).to_have_count(0)
    visitor.expected = {"401"}


@pytest.mark.clause("PAN-12")
async def test_a_broken_journal_is_a_banner_with_the_repair(visitor: Visitor, panel: Panel) -> None:
    """Neither chat nor overview shows an empty list where something is wrong."""
    panel.directory.broken["bad"] = AuditFailure("event 412 does not verify; run `elis restore FILE`")
    page = await visitor.open("/groups/bad")
    await expect(page.get_by_role("alert").get_by_text("event 412 does not verify")).to_be_visible()
    await expect(page.get_by_role("heading", name="The conversation cannot be read")).to_be_visible()
    await page.goto(panel.url)
    await expect(page.locator("[data-card='bad']")).to_contain_text("run `elis restore FILE`")
    visitor.expected = {"500"}


@pytest.mark.clause("PAN-12")
async def test_a_group_that_starts_appears_by_itself(visitor: Visitor, panel: Panel) -> None:
    """The page of a group that is not up yet waits and then shows its conversation."""
    panel.directory.starting.add("lab")
    page = await visitor.open("/groups/lab")
    await expect(page.get_by_role("heading", name="lab is starting")).to_be_visible()
    lab = FakeGroup("lab")
    await lab.begin("hello")
    panel.directory.starting.clear()
    panel.directory.groups["lab"] = lab
    await expect(page.locator("[data-turn]")).to_contain_text("hello")
    visitor.expected = {"503"}


@pytest.mark.clause("PAN-4")
async def test_earlier_history_is_a_click_away(visitor: Visitor, panel: Panel) -> None:
    """A long history opens at its end; the rest is loaded on demand, complete and in order."""
    for number in range(150):
        await panel.main.begin(f"message {number}")
        await panel.main.end(f"answer {number}")
    page = await visitor.open("/groups/main")
    await expect(page.locator(".reply").last).to_have_text("answer 149")
    assert await page.locator(".reply").count() < 150
    await page.get_by_role("button", name="Show earlier").click()
    await expect(page.locator(".reply")).to_have_text([f"answer {number}" for number in range(150)])
    await expect(page.get_by_role("button", name="Show earlier")).to_be_hidden()


@pytest.mark.clause("PAN-1", "PAN-4")
async def test_hostile_text_is_inert_everywhere(visitor: Visitor, panel: Panel) -> None:
    """Markup in messages, arguments, results, drafts, notices and replies is shown or dropped, never run or loaded."""
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>"
    reply = (
        f"{evil}\n\n![i](http://evil.example/i.png) [l](javascript:alert(4)) <a href='/api/v1/x' onclick=alert(5)>l</a>"
    )
    group = panel.main
    await group.begin(evil)
    await group.respond(1, evil, CallAsked(call="1.0", provider_id="p", tool=evil, arguments=evil))
    await group.call("1.0", "shell", Effect.EXECUTE, {evil: evil}, evil)
    await group.finish("1.0", "shell", Effect.EXECUTE, evil, reason=Reason.TOOL_FAILED, target=evil)
    await group.ask("a1", "1.1", "shell", Effect.EXECUTE, {"command": evil})
    await group.write(2, evil)
    page = await visitor.open("/groups/main")
    await expect(page.locator(".draft-text")).to_have_text(evil)
    await group.settle("a1", verdict="denied", by=evil, text=evil)
    await group.end(reply, outcome=Outcome.FAILED, reason=Reason.TOOL_FAILED, detail=evil)
    await expect(page.locator(".reply")).to_contain_text("<script>alert(2)</script>")
    for selector in ("script:not([src])", ".talk img", ".reply a[href^='javascript']", "[onerror]", "[onclick]"):
        await expect(page.locator(selector)).to_have_count(0)
    await page.goto(panel.url)
    await expect(page.locator("[data-card='main']")).to_contain_text("<img src=x")


@pytest.mark.clause("PAN-1")
async def test_the_policy_stops_what_a_page_would_have_to_smuggle_in(visitor: Visitor, panel: Panel) -> None:
    """Inline script, strings as markup, foreign addresses and frames are refused by the browser itself."""
    page = await visitor.open("/")
    refused = await page.evaluate(
        """async () => {
            const seen = new Set();
            document.addEventListener("securitypolicyviolation", (event) => seen.add(event.effectiveDirective));
            const script = document.createElement("script");
            try { script.textContent = "window.smuggled = 1"; document.body.append(script); } catch {}
            try { document.body.innerHTML += "<b>x</b>"; } catch {}
            await fetch("http://127.0.0.1:1/").catch(() => {});
            const frame = document.createElement("iframe");
            frame.src = "/login";
            document.body.append(frame);
            await new Promise((done) => setTimeout(done, 200));
            return { seen: [...seen].sort(), smuggled: window.smuggled ?? null };
        }"""
    )
    assert refused["smuggled"] is None
    assert {"require-trusted-types-for", "connect-src", "frame-src"} <= set(refused["seen"])
    visitor.troubles.clear()


@pytest.mark.clause("PAN-1")
async def test_nothing_scrolls_sideways_on_a_phone(visitor: Visitor, panel: Panel) -> None:
    """At 360 px every page fits, with Stop and Send in sight, however long words and tables are."""
    await scene(panel.main)
    page = await visitor.open("/", **PHONE)
    await expect(page.locator("[data-question]")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
    await page.goto(f"{panel.url}/groups/main")
    await expect(page.locator("[data-turn]")).to_have_count(3)
    for summary in await page.locator("summary").all():
        await summary.click()
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
    for name in ("Stop", "Send"):
        box = await page.get_by_role("button", name=name).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert min(box["width"], box["height"]) >= 36
    await page.goto(f"{panel.url}/login")
    assert await page.evaluate("document.documentElement.scrollWidth") == 360


SHOWS_FOCUS = """(node) => [node, node.nextElementSibling, node.closest("form")].some(
    (shown) => shown && getComputedStyle(shown).outlineStyle !== "none")"""


async def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until `target` has the focus."""
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await target.evaluate("(node) => node === document.activeElement"):
            assert await target.evaluate(SHOWS_FOCUS), "the focus cannot be seen"
            return
    pytest.fail("the keyboard does not get there")


@pytest.mark.clause("PAN-1")
async def test_everything_works_by_keyboard(visitor: Visitor, panel: Panel) -> None:
    """Without a mouse: to a group, a message, its priority, an answer to a question, and Stop."""
    page = await visitor.open("/")
    await expect(page.locator("[data-card='main']")).to_be_visible()
    await tab_to(page, page.locator("[data-card='main'] a"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="main", exact=True)).to_be_visible()
    field = page.get_by_label("Message to main")
    await tab_to(page, field)
    await page.keyboard.type("first")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("second")
    await page.keyboard.press("Enter")
    await expect(page.locator(".said-text")).to_have_text("first\nsecond")
    await tab_to(page, page.get_by_role("radio", name="This turn"))
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("radio", name="Later")).to_be_checked()
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": "make"})
    allow = page.get_by_role("button", name="Allow once")
    await expect(allow).to_be_visible()
    await tab_to(page, allow)
    await page.keyboard.press("Enter")
    await expect(page.locator(".verdict")).to_contain_text("allowed")
    await tab_to(page, page.get_by_role("button", name="Stop"))
    await page.keyboard.press("Enter")
    await expect(page.locator(".account")).to_contain_text("stopped")


@pytest.mark.clause("PAN-1")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing(visitor: Visitor, panel: Panel, scheme: str) -> None:
    """Contrast, labels, roles and structure of every page hold, in light and dark, with everything unfolded."""
    await scene(panel.main)
    panel.directory.broken["bad"] = AuditFailure("event 412 does not verify")
    page = await visitor.open("/", color_scheme=scheme)
    await expect(page.locator("[data-question]")).to_be_visible()
    assert await violations(page) == []
    await page.goto(f"{panel.url}/groups/main")
    await expect(page.locator("[data-turn]")).to_have_count(3)
    for summary in await page.locator("summary").all():
        await summary.click()
    assert await violations(page) == []
    await page.goto(f"{panel.url}/groups/bad")
    await expect(page.locator(".banner-problem")).to_be_visible()
    assert await violations(page) == []
    await page.goto(f"{panel.url}/login")
    assert await violations(page) == []
    await page.goto(f"{panel.url}/nowhere")
    assert await violations(page) == []
    visitor.expected = {"500", "404"}


@pytest.mark.clause("TURN-3")
async def test_the_exact_request_is_a_click_away(visitor: Visitor, panel: Panel) -> None:
    """From a turn to the bytes that were sent for it."""
    body = json.dumps({"model": "qwen3:8b", "messages": []})
    await panel.main.begin("hello")
    await panel.main.request(1, body.encode())
    await panel.main.end("done")
    page = await visitor.open("/groups/main")
    await page.get_by_text("Exact requests to the model: 1").click()
    async with page.context.expect_page() as opening:
        await page.get_by_role("link", name="step 1, attempt 1").click()
    shown = await opening.value
    async with asyncio.timeout(BOUND_SECONDS):
        assert body in await shown.inner_text("body")


@pytest.mark.clause("PAN-1")
async def test_people_who_listen_are_told(visitor: Visitor, panel: Panel) -> None:
    """A live region says when work begins, when a question waits and when the answer is there."""
    page = await visitor.open("/groups/main")
    region = page.locator("[data-announce]")
    await say(page, "go")
    await expect(region).to_have_text("The assistant is working.")
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": "make"})
    await expect(region).to_have_text("A question waits for you: shell.")
    await panel.main.settle("a1", verdict="allowed", by="api", text="")
    await panel.main.end("done")
    await expect(region).to_have_text("The answer is there.")
