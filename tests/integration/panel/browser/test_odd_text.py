"""Texts with characters that cannot be seen, in a real Chromium: what is approved is what is shown."""

import pytest
from playwright.async_api import expect

from host.passport import Effect
from tests.integration.panel.browser.visiting import Visitor
from tests.integration.panel.conftest import Panel

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.clause("PAN-13")]

HARM = "ls \u202e#gnihton fr- mr\u2066 ; rm x \r\x1b[2K ls \u200b\u2028 new\tline\nsecond"
SHOWN = r"ls \u202e#gnihton fr- mr\u2066 ; rm x \r\x1b[2K ls \u200b\u2028 new"


@pytest.mark.clause("APR-1")
async def test_a_question_shows_what_cannot_be_seen(visitor: Visitor, panel: Panel) -> None:
    """In its arguments, their names, and in the line by which the call is known."""
    await panel.main.begin("x")
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": HARM, "more\u202e": [HARM]})
    page = await visitor.open("/groups/main")
    question = page.locator("[data-question='a1']")
    first = question.locator("pre").first
    assert await first.text_content() == f"{SHOWN}\tline\nsecond"
    await expect(question.locator("dt").last).to_have_text(r"more\u202e")
    assert SHOWN.replace(r"\x1b", r"\u001b") in (await question.locator("pre").last.text_content() or "")
    await expect(page.locator(".call-what")).to_have_text(SHOWN + " line")


@pytest.mark.clause("PAN-4")
async def test_a_reply_turns_no_direction_but_its_own(visitor: Visitor, panel: Panel) -> None:
    """Each of its blocks and words is isolated."""
    await panel.main.begin("x")
    await panel.main.end("one \u202e *two*\n\nthree")
    page = await visitor.open("/groups/main")
    for part in (".reply", ".reply p >> nth=0", ".reply em"):
        await expect(page.locator(part)).to_have_css("unicode-bidi", "isolate")
