"""One idempotency key is one message; another message under it is refused, never lost (REC-6)."""

import asyncio
from typing import Any

import msgspec
import pytest

from host.errors import ProtocolViolation
from host.groups.port import Say
from tests.integration.groups.stage import Stage
from tests.scripted_model import Hang, Reply

SAID = Say(text="hello", key="k")


@pytest.mark.clause("REC-6")
@pytest.mark.parametrize(
    "change",
    [{"text": "something else"}, {"priority": "later"}, {"unattended": True}, {"principal": "someone"}],
    ids=lambda change: next(iter(change)),
)
async def test_a_key_that_was_used_for_another_message_is_refused(stage: Stage, change: dict[str, Any]) -> None:
    """At once and after a restart; the first message is untouched and can still be asked about."""
    stage.model.script(Reply(text="once"))
    first = await stage.group.say(SAID)
    await stage.ended(first)
    other = msgspec.structs.replace(SAID, **change)
    for _ in range(2):
        with pytest.raises(ProtocolViolation, match="k"):
            await stage.group.say(other)
        assert (await stage.group.say(SAID)).turn == first.turn
        stage.close()
    assert len(stage.model.requests) == 1


@pytest.mark.clause("REC-6")
async def test_of_two_messages_under_one_key_at_the_same_time_one_is_refused(stage: Stage) -> None:
    """Nobody is told that a message was taken that was not."""
    stage.model.script(Reply(text="one of them"))
    other = msgspec.structs.replace(SAID, text="something else")
    results = await asyncio.gather(stage.group.say(SAID), stage.group.say(other), return_exceptions=True)
    refused = [result for result in results if isinstance(result, BaseException)]
    assert all(isinstance(error, ProtocolViolation) for error in refused)
    assert len(refused) == 1
    said = [event.data["text"] for event in await stage.group.events(0, 100) if event.kind == "message_received"]
    assert len(said) == 1


@pytest.mark.clause("REC-6", "STOP-1")
async def test_a_stop_word_under_a_used_key_stops_nothing_and_says_so(stage: Stage) -> None:
    """And another message under a stop word's key is refused as well."""
    stage.model.respond(lambda _request, _index: Hang())
    running = await stage.group.say(SAID)
    await stage.until(lambda event: event.kind == "turn_started")
    with pytest.raises(ProtocolViolation):
        await stage.group.say(Say(text="stop", key="k"))
    assert "turn_ended" not in await stage.kinds(running.turn)
    word = Say(text="stop", key="s")
    told = await asyncio.gather(stage.group.say(word), stage.group.say(word))
    assert [placement.disposition for placement in told] == ["stopped", "stopped"]
    with pytest.raises(ProtocolViolation):
        await stage.group.say(Say(text="hello", key="s"))


@pytest.mark.clause("REC-6", "JRN-4")
async def test_a_message_with_a_secret_in_it_can_be_sent_again(stage: Stage) -> None:
    """What is compared is what was kept: the text after masking."""
    stage.model.script(Reply(text="once"))
    said = Say(text="my token is ghp_" + "a1B2" * 9, key="k")
    first = await stage.group.say(said)
    assert (await stage.group.say(said)).message == first.message
