"""The schema of a tool's arguments as a tool server declares it: bounded, plain, and held against given arguments.

Everything in it is foreign. References are resolved here and only within the schema, recursion becomes "anything",
unknown keywords fall away; what is left is a finite tree that no provider stumbles over. Regular expressions of a
server are shown to the model and never run: the server checks them itself. The one place that knows jsonschema.
"""

import functools
import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from host.tools.servers.words import clean

SCHEMA_BYTES: Final = 32 << 10  # of one tool; larger ones are no description any more
_NODES: Final = 2000
_DEPTH: Final = 16
_WORDS_CHARS: Final = 1000  # of one description
_VALUE_BYTES: Final = 4096  # of one default, constant or list of choices
_OBJECTION_CHARS: Final = 400
_NUMBER_CHARS: Final = 40
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")  # what the wire formats take as the name of an argument
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_NUMBERS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
     "minProperties", "maxProperties"}
)  # fmt: skip
_WORDS: Final = frozenset({"title", "description", "pattern", "format"})
_BRANCHES: Final = frozenset({"anyOf", "oneOf", "allOf"})
_CHECKED: Final = (
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "allOf",
    *_NUMBERS,
)  # fmt: skip

Table = dict[str, Any]


class Unfit(Exception):
    """The schema cannot be handed to a model; the text says why."""


def plain_schema(declared: object) -> Table:
    """Return the schema that models get; raise Unfit."""
    if not isinstance(declared, dict):
        raise Unfit("its schema is no table")
    schema = _Reading(cast("Table", declared)).node(cast("Table", declared), 0, ())
    for name in _BRANCHES:
        schema.pop(name, None)  # providers refuse these at the top; the server holds to them itself
    schema["type"] = "object"
    schema.setdefault("properties", {})
    if len(json.dumps(schema).encode()) > SCHEMA_BYTES:
        raise Unfit(f"its schema is larger than {SCHEMA_BYTES >> 10} KiB")
    return schema


def objection_to(schema: Table, arguments: Mapping[str, Any]) -> str:
    """Return in words what in `arguments` does not fit a plain schema; empty when all does."""
    error = next(_checker()(schema).iter_errors(arguments), None)
    if error is None:
        return ""
    where = clean(".".join(str(part) for part in error.absolute_path), _OBJECTION_CHARS)
    said = _said(str(error.validator), error.validator_value, error.instance)
    return f"{where}: {said}" if where else said


def _said(rule: str, value: object, given: object) -> str:
    """Say what breaks a rule, in the host's words: a schema's own (choices, constants) are those of its server."""
    match rule:
        case "type":
            types = cast("list[str]", value if isinstance(value, list) else [value])
            return f"it is not of the type {' or '.join(types)}"
        case "required" if isinstance(given, dict):
            missing = [name for name in cast("list[str]", value) if name not in given]
            return f"it lacks {clean(', '.join(missing), _OBJECTION_CHARS)}"
        case "additionalProperties":
            return "it has a part that the schema does not know"
        case _ if rule in _NUMBERS:
            return f"it does not keep to {rule} {str(value)[:_NUMBER_CHARS]}"
        case _:
            return f"it does not keep to what the schema says under {rule}"


class _Reading:
    """One pass over a schema."""

    def __init__(self, whole: Table) -> None:
        self._whole = whole
        self._nodes = 0

    def node(self, given: object, depth: int, within: tuple[str, ...]) -> Table:
        """Return a node of the plain schema; `within` are the references that led here."""
        self._nodes += 1
        if self._nodes > _NODES:
            raise Unfit("its schema has too many parts")
        if not isinstance(given, dict) or depth > _DEPTH:
            return {}
        table = cast("Table", given)
        reference = table.get("$ref")
        if isinstance(reference, str):
            if reference in within:
                return {}
            target = self._target(reference)
            beside = {name: value for name, value in table.items() if name != "$ref"}
            return self.node(target | beside, depth + 1, (*within, reference))
        plain: Table = {}
        for name, value in table.items():
            kept = self._kept(name, value, depth, within)
            if kept is not None:
                plain[name] = kept
        return plain

    def _kept(self, name: str, value: object, depth: int, within: tuple[str, ...]) -> Any:  # noqa: ANN401, PLR0911 - JSON; a line a keyword
        match name:
            case "type":
                return _types(value)
            case "properties" if isinstance(value, dict):
                return {
                    _argument(key): self.node(inner, depth + 1, within) for key, inner in cast("Table", value).items()
                }
            case "required" if isinstance(value, list):
                return [each for each in cast("list[object]", value) if isinstance(each, str) and _NAME.match(each)]
            case "additionalProperties":
                return value if isinstance(value, bool) else self.node(value, depth + 1, within)
            case "items":
                return self.node(value, depth + 1, within)
            case "enum" if isinstance(value, list):
                return _exact(cast("list[object]", value))
            case name if name in _BRANCHES and isinstance(value, list) and value:
                return [self.node(each, depth + 1, within) for each in cast("list[object]", value)]
            case name if name in _NUMBERS and isinstance(value, int | float) and not isinstance(value, bool):
                return value if _fits(value) else None
            case name if name in _WORDS and isinstance(value, str):
                return clean(value, _WORDS_CHARS)
            case "const":
                return _exact(cast("object", value))
            case "default":
                return _value(cast("object", value)) if _is_plain(cast("object", value)) else None
            case _:
                return None

    def _target(self, reference: str) -> Table:
        if not reference.startswith("#/"):
            raise Unfit("its schema refers to something outside itself")
        found: object = self._whole
        for part in reference.removeprefix("#/").split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            found = cast("dict[str, object]", found).get(name) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            raise Unfit("its schema refers to what it does not hold")
        return cast("Table", found)


def _types(value: object) -> str | list[str] | None:
    if isinstance(value, str):
        return value if value in _TYPES else None
    if isinstance(value, list):
        return [each for each in cast("list[object]", value) if isinstance(each, str) and each in _TYPES] or None
    return None


def _argument(name: str) -> str:
    if not _NAME.match(name):
        raise Unfit("an argument has a name that no provider takes")
    return name


def _exact(value: object) -> Any:  # noqa: ANN401 - JSON
    """Return what an argument must be, character by character; raise Unfit for what cannot be shown as it is."""
    if not _is_plain(value):
        raise Unfit("its schema holds a value with characters that show nothing, or are the host's own signs")
    return _value(value)


def _is_plain(value: object) -> bool:
    """Whether every text in a value, names of fields too, is what a person and a model would see of it."""
    match value:
        case str():
            return clean(value, _VALUE_BYTES) == value.strip()
        case dict():
            fields = cast("dict[object, object]", value)
            return all(_is_plain(name) and _is_plain(each) for name, each in fields.items())
        case list():
            return all(map(_is_plain, cast("list[object]", value)))
        case _:
            return True


def _value(value: object) -> Any:  # noqa: ANN401 - JSON
    if not _fits(value):
        raise Unfit("its schema holds a number that others cannot read")
    if len(json.dumps(value).encode()) > _VALUE_BYTES:
        raise Unfit("its schema holds a value that is too large")
    return value


def _fits(value: object) -> bool:
    """Say whether providers can read a value, and the journal keep it: its numbers have an end and 64 bits."""
    try:
        json.dumps(value, allow_nan=False)
        msgspec.msgpack.encode(value)
    except (ValueError, OverflowError):
        return False
    return True


@functools.cache
def _checker() -> Any:  # noqa: ANN401 - a class that jsonschema makes
    """Make the validator of plain schemas: the keywords kept above, none that runs a regular expression."""
    import jsonschema.validators  # noqa: PLC0415 - takes 0.14 s, for groups that have tool servers only

    library: Any = jsonschema.validators  # its types leave half of every signature open
    usual = library.Draft202012Validator
    keywords = {name: usual.VALIDATORS[name] for name in _CHECKED}
    return library.create({}, keywords, type_checker=usual.TYPE_CHECKER)
