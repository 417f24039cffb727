"""The chat of a group in a real Chromium: streaming, calls, messages, questions, Stop."""

import asyncio
import datetime as dt
import json

import pytest
from playwright.async_api import expect

from host.passport import Effect
from host.record.events import Part
from host.stops import Outcome, Reason
from tests.integration.panel.browser.visiting import PHONE, Visitor, say
from tests.integration.panel.conftest import BOUND_SECONDS, Panel

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.clause("PAN-13")]


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
    await card.get_by_role("button", name="Allow", exact=True).click()
    await expect(page.locator(".verdict")).to_have_text("allowed by the operator")
    assert panel.main.settled == {"a1": "allowed"}


@pytest.mark.clause("APR-1", "PAN-5")
@pytest.mark.parametrize("where", ["/", "/groups/main"])
async def test_an_answer_can_stand_for_later_calls(visitor: Visitor, panel: Panel, where: str) -> None:
    """The card offers how far and for how long, says what that would cover, and names the proposed reach."""
    await panel.main.begin("publish")
    push = Part(exact="execute:command:git push origin main", under=("execute:command:git push",))
    scopes = ("once", "target", "under")
    await panel.main.ask("a1", "1.0", "shell", Effect.EXECUTE, {"command": "git push"}, scopes=scopes, parts=(push,))
    page = await visitor.open(where)
    card = page.locator("[data-question='a1']")
    await expect(card.locator(".question-hint")).to_contain_text("git push” would have spared the last questions")
    await expect(card.get_by_label("For how long")).to_be_hidden()
    await card.locator(".question-reach select").first.select_option("under")
    await card.get_by_label("For how long").select_option("24")
    await card.get_by_role("button", name="Allow", exact=True).click()
    await expect(card).to_have_count(0)
    wider = panel.main.wider["a1"]
    assert wider.scope == "under"
    hours = (dt.datetime.fromisoformat(wider.until) - dt.datetime.now(dt.UTC)).total_seconds() / 3600
    assert 23.9 < hours < 24.1


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


@pytest.mark.clause("TURN-2", "PAN-4")
async def test_a_turn_whose_end_the_journal_could_not_take_is_over(visitor: Visitor, panel: Panel) -> None:
    """The page says how it ended, also when it is opened later, and shows the journaled end once when that comes."""
    await panel.main.begin("long before")
    page = await visitor.open("/groups/main")
    await expect(page.locator(".working")).to_be_visible()
    turn = panel.main.turn
    await panel.main.lose("the disk is full")
    await expect(page.locator(".account")).to_contain_text("the disk is full")
    await expect(page.locator(".working")).to_have_count(0)
    await page.reload()
    await expect(page.locator(".account")).to_contain_text("the disk is full")
    await expect(page.locator(".working")).to_have_count(0)
    panel.main.turn = turn
    await panel.main.end("", outcome=Outcome.FAILED, reason=Reason.AUDIT_FAILURE, detail="the disk is full")
    await panel.main.begin("next")
    await expect(page.locator("[data-turn]")).to_have_count(2)
    await expect(page.locator(".account")).to_have_count(1)
    await expect(page.locator(".working")).to_have_count(1)
