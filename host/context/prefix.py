"""The stable prefix: invariants, charter and tool definitions, byte for byte the same over a session (CTX-1, CTX-2).

It is rendered once a session and known by its content hash; a change of any part starts a new session. Skills will
join it. Nothing that changes from step to step belongs here.
"""

from collections.abc import Iterable
from importlib import resources
from typing import Any, Final, cast

import msgspec

from host.models.conversation import ToolSpec
from host.passport import Passport

INVARIANTS: Final = (resources.files("host.context") / "invariants.md").read_text(encoding="utf-8").strip()

DEFAULT_CHARTER: Final = "You help the person with whatever they ask, carefully and without fuss.\n"


def system_text(charter: str) -> str:
    """Return what stands above all messages: the invariants, then the group's charter (CTX-8)."""
    return f"{INVARIANTS}\n\n# Charter of this group\n\n{charter.strip()}\n"


def tool_specs(passports: Iterable[Passport]) -> tuple[ToolSpec, ...]:
    """Return the tools as a model sees them, sorted by name."""
    return tuple(
        ToolSpec(name=passport.name, description=passport.summary, schema=schema_of(passport))
        for passport in sorted(passports, key=lambda passport: passport.name)
    )


def schema_of(passport: Passport) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments; what a tool server declares is handed on as it was taken in."""
    return argument_schema(passport.arguments) if passport.declared is None else passport.declared.schema


def argument_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments with its references resolved, as small models need it."""
    (schema,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    resolved: dict[str, Any] = _inline(schema, components)
    resolved.pop("title", None)
    return resolved


def _inline(node: Any, components: dict[str, Any]) -> Any:  # noqa: ANN401 - a JSON value
    if isinstance(node, dict):
        table = cast("dict[str, Any]", node)
        if "$ref" in table:
            return _inline(components[str(table["$ref"]).rpartition("/")[2]], components)
        return {key: _inline(value, components) for key, value in table.items()}
    if isinstance(node, list):
        return [_inline(value, components) for value in cast("list[Any]", node)]
    return node
