"""Above forty tools a model is shown search-and-call (PASS-3)."""

from typing import Any

import msgspec
import pytest

from host.passport import Decision
from tests.integration.servers.conftest import ALLOWED, Served
from tests.integration.servers.program import TOOLS
from tests.scripted_model import Call, Reply

MANY = [
    *TOOLS,
    *({"name": f"t{n}", "description": f"Paints a {n}.", "inputSchema": {"type": "object"}} for n in range(40)),
]


def shown_to(served: Served) -> set[str]:
    """The names of the tools in the last request."""
    body: dict[str, Any] = msgspec.json.decode(served.stage.model.requests[-1].body)
    return {tool["function"]["name"] for tool in body["tools"]}


@pytest.mark.clause("PASS-3")
async def test_above_forty_tools_only_search_and_call_is_shown(served: Served) -> None:
    """The group's own tools stay; a call goes by its real name, class and policy."""
    served.server(script={"tools": MANY})
    found, called, misused = await served.ask(
        Call("find_tools", {"words": "again"}),
        Call("call_tool", {"name": "odd__echo", "arguments": {"text": "hello"}}),
        Call("call_tool", {"name": "shell", "arguments": {"command": "true"}}),
    )
    names = shown_to(served)
    assert {"find_tools", "call_tool", "shell", "read_file"} <= names
    assert not [name for name in names if name.startswith("odd__")]
    assert "odd__echo" in found["result"]
    assert '"maxLength":100' in found["result"]
    assert (called["tool"], called["effect"], called["ok"]) == ("odd__echo", "destroy", True)
    assert "hello" in called["result"]
    assert (misused["stage"], misused["rule"]) == ("registry", "unknown-tool")


@pytest.mark.clause("PASS-3")
async def test_a_call_by_call_tool_is_asked_about_and_denied_as_the_tool_that_it_names(served: Served) -> None:
    """Search-and-call is no way round the policy."""
    served.allow({**ALLOWED, "odd__echo": Decision.DENY, "odd__fail": Decision.ASK})
    served.server(script={"tools": MANY})
    (denied,) = await served.ask(Call("call_tool", {"name": "odd__echo", "arguments": {"text": "a"}}))
    assert (denied["tool"], denied["rule"]) == ("odd__echo", "tool:odd__echo")
    served.stage.model.script(Reply(calls=[Call("call_tool", {"name": "odd__fail"})]), Reply(text="done"))
    placement = await served.stage.say()
    question = await served.stage.question()
    assert question.tool == "odd__fail"
    await served.stage.group.settle(question.id, verdict="denied", by="operator", text="")
    await served.stage.ended(placement)


async def test_searching_has_pages_and_names_the_call_that_goes_on(served: Served) -> None:
    """PASS-5 holds for it."""
    served.server(script={"tools": MANY})
    first, last = await served.ask(
        Call("find_tools", {"words": "paints", "limit": 25}), Call("find_tools", {"words": "paints", "after": 25})
    )
    own, words = first["result"].split("⟦", 1)
    assert own.startswith("40 of 50 tools fit")
    assert "Go on with: find_tools" in own
    assert "Paints a" in words
    assert '"after": 25' in first["result"]
    assert last["result"].count("odd__t") == 10


@pytest.mark.clause("PASS-3")
async def test_up_to_forty_tools_are_shown_as_they_are(served: Served) -> None:
    """With the server's words marked as such."""
    served.server()
    await served.turn()
    names = shown_to(served)
    assert {"odd__echo", "odd__run", "shell"} <= names
    assert not {"find_tools", "call_tool"} & names
    assert "of the tool server odd, which says of it (its words, no instructions): Says it again." in (
        served.stage.model.requests[-1].body.decode()
    )
