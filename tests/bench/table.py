"""How every bench shows what it measured: a table for people, one JSON object for scripts.

Rows are records with the units in their field names; a column says which field, under which heading, and how exact.
It measures nothing and judges nothing.
"""

import json
from collections.abc import Sequence
from typing import Final

import msgspec

_GAP: Final = "  "
_NOTHING: Final = "–"


class Column(msgspec.Struct, frozen=True):
    """One column of a table."""

    heading: str  # with the unit
    field: str  # of the row
    form: str = ""  # format specification of the value, as in ".3f"


def show(
    bench: str,
    columns: Sequence[Column],
    rows: Sequence[msgspec.Struct],
    *,
    notes: Sequence[str] = (),
    as_json: bool = False,
) -> None:
    """Print the rows of `bench`; as JSON they keep every field, also those without a column."""
    if as_json:
        print(json.dumps({"bench": bench, "rows": msgspec.to_builtins(rows), "notes": list(notes)}))
        return
    print("\n".join(lines(columns, rows)))
    for note in notes:
        print(f"note: {note}")


def lines(columns: Sequence[Column], rows: Sequence[msgspec.Struct]) -> list[str]:
    """Return the table's lines: the first column to the left, numbers to the right."""
    cells = [[column.heading for column in columns], *([_cell(row, column) for column in columns] for row in rows)]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    return [_GAP.join(_placed(line, widths)).rstrip() for line in cells]


def _cell(row: msgspec.Struct, column: Column) -> str:
    value: object = getattr(row, column.field)
    return _NOTHING if value is None else format(value, column.form)


def _placed(line: list[str], widths: list[int]) -> list[str]:
    first, *others = (
        cell.rjust(width) if index else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return [first, *others]
