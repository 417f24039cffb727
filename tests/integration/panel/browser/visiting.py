"""A person in a real Chromium, and what the tests of pages share."""

import importlib.resources
import os
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

from host.groups.port import Say
from host.passport import Effect
from host.record.events import Account, CallAsked
from host.stops import Outcome, Reason
from tests.integration.panel.conftest import BOUND_SECONDS, Panel
from tests.integration.panel.fake_group import FakeGroup

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
