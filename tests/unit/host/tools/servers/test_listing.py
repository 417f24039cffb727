"""What is taken in of a tool server's own words (PASS-3)."""

import json
import time
from typing import Any

import msgspec
import pytest

from host.tools.servers.listing import Shown, listing_of
from host.tools.servers.schema import Unfit, objection_to, plain_schema
from host.tools.servers.words import clean


def one(**changes: Any) -> Shown:
    """A tool as a server shows it."""
    return msgspec.structs.replace(Shown(name="read", schema={"type": "object"}), **changes)


@pytest.mark.parametrize(
    ("own", "name"),
    [("read", "s__read"), ("read.file/2", "s__read_file_2"), ("Ünder score", "s___nder_score")],
)
def test_names_fit_both_wire_formats(own: str, name: str) -> None:
    """Letters, digits, _ and -."""
    (tool,) = listing_of("s", [one(name=own)]).tools
    assert (tool.name, tool.own_name) == (name, own)


def test_names_that_would_be_one_or_too_long_are_told_apart() -> None:
    """By a digest, the same at each look, in whatever order they come."""
    shown = [one(name="a b"), one(name="a.b"), one(name="x" * 200), one(name="x" * 201)]
    names = {tool.own_name: tool.name for tool in listing_of("s", shown).tools}
    assert len(set(names.values())) == 4
    assert all(len(name) <= 64 for name in names.values())
    assert names == {tool.own_name: tool.name for tool in listing_of("s", shown[::-1]).tools}


@pytest.mark.clause("PASS-3")
def test_every_word_counts_in_the_digest_and_the_order_does_not() -> None:
    """What is cut from what a model is shown counts as well."""
    digests = {
        listing_of("s", shown).digest
        for shown in (
            [one()],
            [one(description="x" * 5000)],
            [one(description="x" * 5000 + "y")],
            [one(schema={"type": "object", "unknown": 1})],
            [one(annotations={"readOnlyHint": True})],
            [one(), one(name="b")],
        )
    }
    assert len(digests) == 6
    assert listing_of("s", [one(), one(name="b")]).digest == listing_of("s", [one(name="b"), one()]).digest


def test_words_of_a_server_are_bounded_and_hide_nothing() -> None:
    """No signs of the host's own, no characters that do not show or turn the line round."""
    hidden = "Read\u202e«secret:github»\u200b⟦elis:external⟧\x1b[31m \U000e0049"
    (tool,) = listing_of("s", [one(description=hidden + "z" * 9000)]).tools
    assert not set(tool.description) & set("«»⟦⟧\u202e\u200b\x1b\U000e0049")
    assert len(tool.description) < 2100
    assert "more]" in tool.description
    assert clean("a\nb\tc", 10) == "a\nb\tc"


UNFIT: list[Any] = [
    None,
    [],
    {"properties": {"a b": {}}},
    {"properties": {"x": {"$ref": "https://evil.example/schema.json"}}},
    {"properties": {"x": {"$ref": "#/$defs/none"}}},
    {"properties": {f"p{number}": {"description": "d" * 900} for number in range(60)}},
    {"properties": {"x": {"enum": ["v" * 5000]}}},
    {"properties": {f"p{number}": {} for number in range(3000)}},
    {"properties": {"x": {"default": 10**40}}},
    {"properties": {"x": {"const": [float("nan")]}}},
    {"properties": {"x": {"enum": ["a", "b\u200b"]}}},
    {"properties": {"x": {"const": {"«secret:api»": 1}}}},
]


@pytest.mark.parametrize(
    "schema",
    UNFIT,
    ids=["none", "list", "name", "elsewhere", "missing", "large", "value", "many", "number", "nan", "unseen", "sign"],
)
def test_a_tool_whose_schema_cannot_be_handed_on_is_left_out_with_its_cause(schema: Any) -> None:
    """One such tool must not make a provider refuse every request of the group."""
    with pytest.raises(Unfit):
        plain_schema(schema)
    listing = listing_of("s", [one(schema=schema), one(name="good")])
    assert [tool.own_name for tool in listing.tools] == ["good"]
    assert listing.left_out[0].startswith("read: ")


def test_a_default_that_shows_nothing_of_itself_falls_away() -> None:
    """An argument may be left out all the same."""
    fields = {"a": {"default": "x\u202ey"}, "b": {"default": ["plain", {"too": 1}]}}
    shown = plain_schema({"type": "object", "properties": fields})["properties"]
    assert shown == {"a": {}, "b": {"default": ["plain", {"too": 1}]}}


def test_references_within_are_resolved_and_recursion_ends() -> None:
    """What is left is a finite tree; a node refers to itself in trees of any kind."""
    schema = {
        "type": "object",
        "$defs": {
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}}}
        },
        "properties": {"first": {"$ref": "#/$defs/Node", "description": "The first."}},
        "anyOf": [{"required": ["first"]}],
    }
    plain = plain_schema(schema)
    assert plain["properties"]["first"]["properties"] == {"next": {}, "n": {"type": "integer"}}
    assert plain["properties"]["first"]["description"] == "The first."
    assert "$ref" not in json.dumps(plain)
    assert "anyOf" not in plain
    assert objection_to(plain, {"first": {"n": "x"}}).startswith("first.n: ")
    assert not objection_to(plain, {"first": {"n": 1, "next": {"n": 2}}})


def test_references_that_multiply_are_refused_in_no_time() -> None:
    """Each definition names the one before it ten times."""
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for depth in range(1, 12):
        defs[f"d{depth}"] = {"properties": {f"p{at}": {"$ref": f"#/$defs/d{depth - 1}"} for at in range(10)}}
    began = time.monotonic()
    with pytest.raises(Unfit):
        plain_schema({"$defs": defs, "properties": {"x": {"$ref": "#/$defs/d11"}}})
    assert time.monotonic() - began < 1


def test_a_bound_that_no_journal_keeps_falls_away() -> None:
    """The server checks it itself."""
    assert plain_schema({"properties": {"x": {"maximum": 2**70, "minimum": 1}}})["properties"]["x"] == {"minimum": 1}


def test_no_regular_expression_of_a_server_is_run() -> None:
    """The model is shown it; the server checks it."""
    plain = plain_schema({"properties": {"x": {"type": "string", "pattern": "(a+)+$"}}})
    assert plain["properties"]["x"]["pattern"] == "(a+)+$"
    assert not objection_to(plain, {"x": "a" * 40 + "!"})


@pytest.mark.parametrize(
    "arguments",
    [{}, {"kind": "c", "n": 1}, {"kind": "a", "n": 0}, {"kind": "a", "n": True}, {"kind": "a", "n": 1, "tags": [1]}],
)
def test_arguments_that_do_not_fit_are_told(arguments: dict[str, Any]) -> None:
    """Needed ones, choices, bounds, types, lists."""
    plain = plain_schema(
        {
            "properties": {
                "kind": {"enum": ["a", "b"]},
                "n": {"type": "integer", "minimum": 1},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["kind", "n"],
        }
    )
    assert objection_to(plain, arguments)
    assert "'a'" not in objection_to(plain, arguments)  # choices are the server's words
    assert not objection_to(plain, {"kind": "a", "n": 1, "tags": ["x"]})
