"""Arguments that no tool takes: nested beyond reason, or with numbers beyond it (TURN-4).

They come back to the model as any bad arguments do, they end no turn, and a group whose journal holds them opens.
"""

import json

import pytest

from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply

ODD = {
    "deep lists": '{"path":' + "[" * 1500 + "]" * 1500 + "}",
    "deep objects": '{"path":' + '{"a":' * 1500 + "1" + "}" * 1501,
    "never closed": "[" * 4_000,
    "a little too deep": '{"path":' + "[" * 100 + "]" * 100 + "}",
    "a huge integer": '{"path":"a","start_line":99999999999999999999999}',
    "an endless integer": '{"path":"a","start_line":1' + "0" * 6000 + "}",
    "a huge unknown integer": '{"path":"a","more":-99999999999999999999999}',
    "a huge exponent": '{"path":"a","start_line":1e999}',
    "no number": '{"path":"a","start_line":NaN}',
    "a list": "[1]",
    "a lone surrogate": '{"path":"\\ud800"}',
}


@pytest.mark.clause("TURN-4")
@pytest.mark.parametrize("arguments", ODD.values(), ids=ODD.keys())
async def test_odd_arguments_come_back_to_the_model_and_the_turn_goes_on(stage: Stage, arguments: str) -> None:
    """The model is told, and its next word is the reply."""
    stage.model.script(Reply(calls=[Call("read_file", arguments)]), Reply(text="I see"))
    ended = await stage.ask()
    assert (ended.data["reason"], ended.data["reply"]) != ("unknown", "")
    assert ended.data["reply"] == "I see"
    told = stage.model.requests[1].json["messages"]
    (answer,) = (message for message in told if message["role"] == "tool")
    assert "read_file" in answer["content"] or "path" in answer["content"]


@pytest.mark.clause("TURN-4", "REC-1")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("arguments", ODD.values(), ids=ODD.keys())
async def test_a_group_opens_with_such_a_call_in_its_past(stage: Stage, provider: str, arguments: str) -> None:
    """All that was said before and after it is there."""
    stage.model_changes = {"provider": provider}
    stage.model.script(
        Reply(text="first"), Reply(calls=[Call("read_file", arguments)]), Reply(text="I see"), Reply(text="later")
    )
    for words in ("one", "two", "three"):
        await stage.ask(words)
        await stage.idle()
    stage.close()
    stage.model.script(Reply(text="after the restart"))
    ended = await stage.ask("four")
    assert ended.data["reply"] == "after the restart"
    history = json.dumps(stage.model.requests[-1].json["messages"])
    for words in ("one", "first", "two", "I see", "three", "later", "four"):
        assert words in history


@pytest.mark.clause("TURN-4")
async def test_five_such_calls_end_the_turn_without_progress(stage: Stage) -> None:
    """As five bad calls of any kind do."""
    stage.model.script(*(Reply(calls=[Call("list_files", "[" * (1500 + number))]) for number in range(6)))
    ended = await stage.ask()
    assert ended.data["reason"] == "no_progress"
