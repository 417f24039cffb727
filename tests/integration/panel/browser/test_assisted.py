"""What the panel shows of a call that an aux model was asked about (APR-6)."""

import pytest
from playwright.async_api import expect

from host.passport import Effect
from host.record.assisted import ApprovalAssisted
from host.record.events import CallAsked, ResponseReceived
from tests.integration.panel.browser.visiting import Visitor, say
from tests.integration.panel.conftest import Panel

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.clause("PAN-13")]


@pytest.mark.clause("APR-6")
async def test_the_conversation_says_who_allowed_a_call_unasked(visitor: Visitor, panel: Panel) -> None:
    """The aux model's word is no draft of the reply, and no question waits."""
    page = await visitor.open("/groups/main")
    await say(page, "build it")
    await expect(page.locator(".working")).to_contain_text("Working")
    asked = CallAsked(call="1.0", provider_id="p", tool="shell", arguments='{"command":"make"}')
    await panel.main.respond(1, "", asked)
    turn = panel.main.turn
    await panel.main.append(
        ResponseReceived(
            turn=turn,
            step=1,
            attempt=1,
            purpose="assist",
            text="allow",
            calls=(),
            finish="stop",
            tokens_in=1,
            tokens_out=1,
            tokens_cached=0,
            cost_usd=0.0,
            estimated=False,
            seconds=0.1,
        )
    )
    await panel.main.append(
        ApprovalAssisted(
            turn=turn,
            approval="a-1",
            call="1.0",
            tool="shell",
            effect=Effect.EXECUTE,
            arguments={"command": "make"},
            what_may_happen="A program runs.",
            verdict="allowed",
            by="assistant model small",
            why="allow",
        )
    )
    line = page.get_by_text("shell was allowed by assistant model small; nobody was asked")
    await expect(line).to_have_count(1)
    await expect(page.locator(".draft")).to_have_count(0)
    await panel.main.end("built")
    await expect(line).to_have_count(1)
