"""From TOML tables to the records of `host.config.settings`, key by key.

It knows types, not meanings: unknown keys, missing keys and wrong types become problems that name the dotted path;
what values may be is judged by `host.config.rules`.
"""

import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from host.config.problems import Problems, join

S = TypeVar("S", bound=msgspec.Struct)
Table = dict[str, Any]
Special = Callable[[str, Table, Problems], msgspec.Struct]

_GOT: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


def read(kind: type[S], key: str, table: Table, problems: Problems, special: dict[type, Special]) -> S | None:
    """Return the record of `kind` that `table` describes; None if a key that must be there is not.

    A value of a wrong type is noted and its default stands in, so that reading goes on and finds the rest.
    """
    if kind in special:
        return cast("S", special[kind](key, table, problems))
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name in table:
        if name not in fields:
            problems.unknown(join(key, name), fields)
    values: dict[str, Any] = {}
    missing = False
    for name, field in fields.items():
        if name in table:
            value = _value(field, join(key, name), table[name], problems, special)
            if value is not msgspec.UNSET:
                values[field.name] = value
                continue
        elif field.required:
            problems.add(join(key, name), "is missing", f"write {example(name, field)}")
        missing |= field.required
    return None if missing else kind(**values)


def _value(
    field: msgspec.structs.FieldInfo, key: str, given: object, problems: Problems, special: dict[type, Special]
) -> object:
    """Return the value, or UNSET if it is not of the field's type."""
    kind = _without_none(field.type)
    if _is_record(kind):
        table = as_table(key, given, problems)
        return msgspec.UNSET if table is None else read(kind, key, table, problems, special) or msgspec.UNSET
    entry = _record_of_dict(kind)
    if entry is not None:
        return _named(entry, key, given, problems, special)
    try:
        return msgspec.convert(given, kind, strict=True)
    except msgspec.ValidationError:
        name = key.rpartition(".")[2]
        other = "another text" if typing.get_origin(kind) is typing.Literal and isinstance(given, str) else got(given)
        problems.add(key, f"should be {expected(kind)}, not {other}", f"write {example(name, field)}")
        return msgspec.UNSET


def _named(
    entry: type[msgspec.Struct], key: str, given: object, problems: Problems, special: dict[type, Special]
) -> object:
    """Read a table whose keys are names and whose values are tables of one kind."""
    table = as_table(key, given, problems)
    if table is None:
        return msgspec.UNSET
    read_entries: dict[str, msgspec.Struct] = {}
    for name, inner in table.items():
        inner_table = as_table(join(key, name), inner, problems)
        record = None if inner_table is None else read(entry, join(key, name), inner_table, problems, special)
        if record is not None:
            read_entries[name] = record
    return read_entries


def as_table(key: str, given: object, problems: Problems) -> Table | None:
    """Return `given` if it is a table, else note the problem."""
    if isinstance(given, dict):
        return cast("Table", given)
    problems.add(key, f"should be a table, not {got(given)}", f"write it as [{key}] with its keys on the lines below")
    return None


def got(given: object) -> str:
    """Return what kind of value was given, without the value."""
    return _GOT.get(type(given), "a date or time")


def expected(kind: Any) -> str:  # noqa: ANN401 - a type form
    """Return in words what a value of the type should be."""
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return "one of " + ", ".join(f'"{choice}"' for choice in typing.get_args(kind))
    if origin is tuple:
        return "a list of texts in quotes"
    if origin is dict:
        return "a table of texts in quotes"
    return {str: "text in quotes", bool: "true or false", int: "a whole number", float: "a number"}[kind]


def example(name: str, field: msgspec.structs.FieldInfo) -> str:
    """Return how the key may be written."""
    kind = _without_none(field.type)
    origin = typing.get_origin(kind)
    if field.default is not msgspec.NODEFAULT and field.default not in (None, "", (), {}):
        return f"for example `{name} = {_toml(field.default)}`"
    if origin is typing.Literal:
        return f"`{name} = {_toml(typing.get_args(kind)[0])}`"
    if origin is tuple:
        return f'`{name} = ["…", "…"]`'
    if origin is dict:
        return f'`{name} = {{ NAME = "…" }}`'
    return f'`{name} = "…"`' if kind is str else f"for example `{name} = 10`"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in cast("tuple[object, ...]", value)) + "]"
    return str(value)


def _without_none(kind: Any) -> Any:  # noqa: ANN401 - a type form
    """Return T of `T | None`: TOML has no null, an absent key is the None."""
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return next(choice for choice in typing.get_args(kind) if choice is not types.NoneType)
    return kind


def _is_record(kind: Any) -> bool:  # noqa: ANN401 - a type form
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _record_of_dict(kind: Any) -> type[msgspec.Struct] | None:  # noqa: ANN401 - a type form
    """Return T of `dict[str, T]` for a record T."""
    if typing.get_origin(kind) is not dict:
        return None
    entry = typing.get_args(kind)[1]
    return entry if _is_record(entry) else None
