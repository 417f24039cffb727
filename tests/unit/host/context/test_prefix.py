"""The stable prefix: invariants first, tools sorted, schemas without references."""

import json
from datetime import UTC, datetime

import pytest

from host.config.settings import GroupSettings
from host.context.prefix import INVARIANTS, argument_schema, system_text, tool_specs
from host.context.tail import BudgetLeft, tail
from host.tools.catalogue import tools_of

TOOLS = tools_of(GroupSettings())


@pytest.mark.clause("CTX-1", "CTX-8")
def test_the_invariants_stand_above_the_charter() -> None:
    """A lower layer comes after a higher one."""
    text = system_text("Be a gardener.")
    assert text.startswith(INVARIANTS)
    assert text.index("Be a gardener.") > len(INVARIANTS)


@pytest.mark.clause("CTX-1")
def test_tools_are_sorted_whatever_their_order() -> None:
    """The same tools give the same bytes."""
    passports = [tool.passport for tool in TOOLS.values()]
    assert tool_specs(passports) == tool_specs(reversed(passports))
    assert [spec.name for spec in tool_specs(passports)] == sorted(TOOLS)


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_a_schema_is_whole_without_references(name: str) -> None:
    """Small models do not follow `$ref`."""
    schema = argument_schema(TOOLS[name].passport.arguments)
    assert schema["type"] == "object"
    assert "$ref" not in json.dumps(schema)


@pytest.mark.clause("CTX-1", "BUD-1")
def test_the_tail_tells_time_zone_and_what_is_left() -> None:
    """Unlimited is said as such."""
    left = BudgetLeft(tokens=1200.4, cost_usd=float("inf"), seconds=30, steps=-1)
    said = tail(datetime(2026, 11, 30, 12, 0, tzinfo=UTC), left, turns_left_out=3)
    assert "2026-11-30T12:00+00:00 (UTC)" in said.text
    assert "1200 tokens, unlimited USD, 30 s, 0 steps" in said.text
    assert "3 older turns" in said.text
