"""The SQL of `memory/sql/`, by file and name.

A file holds queries, each headed by `-- name: a sentence`; a migration is a file of its own. A name that is missing
fails at import, not at the first use.
"""

import re
import sqlite3
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "sql"
_HEADING: Final = re.compile(r"^-- (\w+): .+$", re.MULTILINE)


@cache
def _file(name: str) -> dict[str, str]:
    parts = _HEADING.split((_FOLDER / f"{name}.sql").read_text(encoding="utf-8"))
    return {heading: body.strip().removesuffix(";") for heading, body in zip(parts[1::2], parts[2::2], strict=True)}


def query(file: str, name: str) -> str:
    """Return one query; raise KeyError for a name the file does not hold."""
    return _file(file)[name]


def migrations() -> tuple[str, ...]:
    """Return the scripts that lead from an empty file to the newest schema; version n is the n-th."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted((_FOLDER / "migrations").glob("*.sql")))


def script(name: str) -> str:
    """Return a whole file, e.g. the tables of the search index."""
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")


def split(text: str) -> list[str]:
    """Cut a script into statements, so that it can run inside a transaction (`executescript` would commit it)."""
    statements: list[str] = []
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    if pending.strip():
        statements.append(pending.strip())
    return statements
