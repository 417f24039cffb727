"""The panel's pages in a real Chromium: sign-in, overview, restarts, hostile text, phones, keyboards, accessibility."""

import re

import pytest
from playwright.async_api import Browser, expect

from host.errors import AuditFailure
from host.passport import Effect
from host.record.events import CallAsked
from host.stops import Outcome, Reason
from tests.integration.panel.browser.visiting import PHONE, Visitor, say, scene, tab_to, violations
from tests.integration.panel.conftest import Panel
from tests.integration.panel.fake_group import FakeGroup

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.clause("PAN-13")]


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
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(page.locator("[data-question]")).to_have_count(0)
    await panel.main.stop("chat", all_lanes=False, by="api")
    await expect(card.locator(".failures")).to_contain_text("stopped")
    await expect(card).to_contain_text("$0.01 of $5.00 today")


@pytest.mark.clause("POL-8")
async def test_a_way_on_which_data_could_leave_is_named_on_the_groups_card(visitor: Visitor, panel: Panel) -> None:
    """With the setting that closes it; a group without one says nothing."""
    panel.main.leak = 'It reads files. To close this way: [groups.main.policy] send = "ask".'
    page = await visitor.open("/")
    await expect(page.locator(".card-leak")).to_have_text(panel.main.leak)


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


@pytest.mark.clause("PAN-12")
@pytest.mark.parametrize("path", ["/", "/groups/main"])
async def test_a_page_whose_stream_never_came_up_says_so(visitor: Visitor, panel: Panel, path: str) -> None:
    """A host that goes before the page's stream has begun is as lost as one that goes later."""
    page = await visitor.open("/login")
    visitor.expected = {"ERR_CONNECTION_REFUSED"}
    streams = re.compile(r"/api/v1/(overview|groups/main/events\?html)")
    await page.route(streams, lambda route: route.abort("connectionrefused"))
    await page.goto(panel.url + path)
    await expect(page.get_by_text("The connection to the host is lost")).to_be_visible()
    await expect(page.get_by_text("Reconnecting")).to_be_visible()
    await page.unroute(streams)
    await expect(page.get_by_text("The connection to the host is lost")).to_have_count(0)
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()


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
    allow = page.get_by_role("button", name="Allow", exact=True)
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
