"""Keys of the contract that this version does not act on yet, refused as `unsupported` rather than ignored.

A key that restricts and is not enforced would be a false promise; one that opens something and does nothing would be
a puzzle. Each later part takes its lines out of the table.
"""

from collections.abc import Iterator
from typing import Final, cast

import msgspec

from host.config.problems import Problems, join
from host.config.tables import Table

LATER_TOOLS: Final = frozenset(
    {
        "browse",
        "recall",
        "remember",
        "skill",
        "delegate",
        "subagent",
        "schedule",
        "plan",
    }
)


class Later(msgspec.Struct, frozen=True, kw_only=True):
    """A key that waits for a later version."""

    key: tuple[str, ...]  # "*" stands for any name
    what: str


_OUT: Final = "take it out"
_TABLE: Final = (
    Later(key=("nats",), what="handoffs between groups are not carried yet"),
    Later(key=("telemetry",), what="traces are not sent yet"),
    Later(key=("models", "*", "fallback"), what="a second model is not used yet"),
    Later(key=("groups", "*", "a2a"), what="handoffs between groups are not carried yet"),
    Later(key=("groups", "*", "browser"), what="the browser is not driven yet"),
)


def take_out(document: Table, problems: Problems) -> Table:
    """Note every key of `document` that waits for a later version; return a copy without them."""
    rest = cast("Table", _copy(document))
    for entry in _TABLE:
        for key, holder in list(_places(rest, entry.key)):
            name = entry.key[-1]
            problems.later(key, f"not supported in this version: {entry.what}", _OUT)
            del holder[name]
    return rest


def _places(table: Table, pattern: tuple[str, ...], key: str = "") -> Iterator[tuple[str, Table]]:
    """Yield each (dotted path, table that holds the last key) that fits the pattern."""
    head, *rest = pattern
    for name in list(table) if head == "*" else [head] if head in table else []:
        inner = table[name]
        if not rest:
            yield join(key, name), table
        elif isinstance(inner, dict):
            yield from _places(cast("Table", inner), tuple(rest), join(key, name))


def _copy(value: object) -> object:
    if isinstance(value, dict):
        return {name: _copy(inner) for name, inner in cast("Table", value).items()}
    return value
