"""The first stage of the gate: tools by name, arguments by schema."""

import asyncio
from typing import Any, Final

import msgspec
import pytest

from host.config.settings import GroupSettings
from host.errors import Unsupported
from host.gate.judging import at_once
from host.gate.registry import Registry, target_of
from host.gate.stages import Caller, Refusal, Requested
from host.stops import Reason
from host.tools.catalogue import tools_of
from host.tools.tool import Scope, ToolResult

TOOLS = tools_of(GroupSettings())


def asked(tool: str, arguments: str) -> Requested:
    """A call of the operator."""
    caller = Caller(turn="t1", principal="operator", unattended=False, doing="")
    return Requested(caller=caller, call="1.0", tool=tool, arguments=arguments)


def refusal(tool: str, arguments: str) -> Refusal:
    """The refusal of a call."""
    with pytest.raises(Refusal) as caught:
        asyncio.run(Registry(TOOLS, at_once).resolve(asked(tool, arguments)))
    return caught.value


@pytest.mark.clause("TURN-4")
@pytest.mark.parametrize(
    ("tool", "arguments", "rule", "said"),
    [
        ("read_fil", "{}", "unknown-tool", "Did you mean read_file?"),
        ("fly_to_the_moon", "{}", "unknown-tool", "The tools are: ask_person, edit_file"),
        ("read_file", "{", "json", "no valid JSON"),
        ("read_file", "[1]", "json", "must be one JSON object, not list"),
        ("read_file", "null", "json", "must be one JSON object"),
        ("read_file", "[" * 100_000, "json", "nested too deeply"),
        ("read_file", '{"path": "\ud800"}', "json", "no valid JSON"),
        ("read_file", "", "arguments", "`path`"),
        ("read_file", '{"path": 3}', "arguments", "Expected `str`, got `int` - at `$.path`"),
        ("read_file", '{"path": "a", "colour": 1}', "arguments", "unknown field `colour`"),
        ("shell", '{"command": "ls", "timeout_seconds": "9"}', "arguments", "$.timeout_seconds"),
        ("shell", '{"command": "ls", "timeout_seconds": 1e9}', "arguments", "$.timeout_seconds"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong_and_how_to_put_it_right(
    tool: str, arguments: str, rule: str, said: str
) -> None:
    """Unknown tools get the nearest name, bad arguments the field and what was expected."""
    refused = refusal(tool, arguments)
    assert (refused.stage, refused.rule, refused.reason) == ("registry", rule, Reason.PROTOCOL_VIOLATION)
    assert said in refused.text


@pytest.mark.clause("MASK-1")
def test_a_mask_is_no_argument() -> None:
    """Nothing stands behind «masked:KIND», so no tool may write it anywhere as if it were data."""
    refused = refusal("write_file", '{"path": "a", "content": "key = «masked:token»"}')
    assert (refused.rule, refused.reason) == ("mask", Reason.SECRET_MISSING)
    assert "«masked:token»" in refused.text


@pytest.mark.clause("REC-6")
def test_equal_calls_have_equal_bytes_and_handles_stay_in_place() -> None:
    """The order of fields makes no difference; a handle is not resolved here."""
    registry = Registry(TOOLS, at_once)
    one = asyncio.run(registry.resolve(asked("write_file", '{"path": "a", "content": "«secret:k»"}')))
    other = asyncio.run(registry.resolve(asked("write_file", '{"content":"«secret:k»","path":"a"}')))
    assert one.canonical == other.canonical
    assert "«secret:k»".encode() in one.canonical
    assert one.arguments == other.arguments


@pytest.mark.clause("APR-2")
@pytest.mark.parametrize(
    ("tool", "arguments", "target"),
    [
        ("write_file", {"path": "notes/plan.md", "content": ""}, "notes/plan.md"),
        ("write_file", {"path": "/workspace/notes/../notes//plan.md", "content": ""}, "notes/plan.md"),
        ("write_file", {"path": "./a", "content": ""}, "a"),
        ("read_file", {"path": "/etc/passwd"}, "/etc/passwd"),
        ("shell", {"command": "  git   push\n"}, "git push"),
        ("ask_person", {"question": "why?"}, ""),
    ],
)
def test_one_thing_has_one_spelling_as_a_target(tool: str, arguments: dict[str, Any], target: str) -> None:
    """Intents are told apart by what they act on, not by how it was written."""
    passport = TOOLS[tool].passport
    assert target_of(passport, msgspec.convert(arguments, passport.arguments)) == target


class _Open(msgspec.Struct):
    path: str


class _Changed:
    """`read_file` with another passport."""

    def __init__(self, **changes: Any) -> None:
        self.passport: Final = msgspec.structs.replace(TOOLS["read_file"].passport, **changes)

    async def run(self, arguments: Any, scope: Scope) -> ToolResult:
        """Do as `read_file` does."""
        return await TOOLS["read_file"].run(arguments, scope)


@pytest.mark.clause("PASS-1")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"arguments": _Open}, "unknown fields"),
        ({"paths": frozenset({"nowhere"})}, "nowhere"),
        ({"changed_by": "nothing"}, "nothing"),
        ({"summary": " "}, "summary"),
        ({"timeout_seconds": 0}, "time-out"),
        ({"name": "other"}, "registered as read_file"),
    ],
)
def test_a_tool_without_a_complete_passport_cannot_be_registered(changes: dict[str, Any], said: str) -> None:
    """What a passport leaves open or contradicts is refused when the group is opened."""
    with pytest.raises(Unsupported, match=said):
        Registry({"read_file": _Changed(**changes)}, at_once)
