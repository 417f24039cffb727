"""The SQL of a folder, by file and name; the memory's own is in `memory/sql/`.

A file holds queries, each headed by `-- name: a sentence`, or is one script; a migration is a script of its own. What
is asked for at import is read once, and a name that is missing fails there, not at the first use.
"""

import re
import sqlite3
from pathlib import Path
from typing import Final

_HEADING: Final = re.compile(r"^-- (\w+): .+$", re.MULTILINE)


class Statements:
    """The `.sql` files of one folder."""

    def __init__(self, folder: Path) -> None:
        """Read from `folder`, each file of queries once."""
        self._folder = folder
        self._queries: dict[str, dict[str, str]] = {}

    def query(self, file: str, name: str) -> str:
        """Return one query; raise KeyError for a name the file does not hold."""
        if file not in self._queries:
            parts = _HEADING.split(self.script(file))
            bodies = (body.strip().removesuffix(";") for body in parts[2::2])
            self._queries[file] = dict(zip(parts[1::2], bodies, strict=True))
        return self._queries[file][name]

    def script(self, name: str) -> str:
        """Return a whole file, e.g. the tables of the search index."""
        return (self._folder / f"{name}.sql").read_text(encoding="utf-8")

    def migrations(self) -> tuple[str, ...]:
        """Return the scripts that lead from an empty file to the newest schema; version n is the n-th."""
        return tuple(path.read_text(encoding="utf-8") for path in sorted((self._folder / "migrations").glob("*.sql")))


_OWN: Final = Statements(Path(__file__).parent / "sql")
query: Final = _OWN.query
script: Final = _OWN.script
migrations: Final = _OWN.migrations


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
