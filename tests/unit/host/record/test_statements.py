"""The SQL of the record: every query fits the tables, and the tables are made anew from whatever was there."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.record import projections, statements

FOLDER = Path(statements.__file__).parent / "sql"
FILES = ("calls", "messages", "questions", "refused_intents", "spend", "turns", "version")


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    """An empty database with the projections' tables."""
    connection = sqlite3.connect(":memory:")
    connection.execute(projections.VERSION_SCHEMA)
    projections.make_anew(connection)
    yield connection
    connection.close()


@pytest.mark.parametrize("file", FILES)
def test_every_query_fits_the_tables(file: str, database: sqlite3.Connection) -> None:
    """SQLite prepares it: its tables and columns exist, and an insert gives every column a value."""
    names = re.findall(r"^-- (\w+): ", (FOLDER / f"{file}.sql").read_text(encoding="utf-8"), re.MULTILINE)
    assert names
    for name in names:
        sql = statements.query(file, name)
        numbered = set(re.findall(r"\?\d", sql))
        database.execute(f"explain {sql}", [None] * (len(numbered) or sql.count("?")))


def test_every_table_is_dropped_before_it_is_made(database: sqlite3.Connection) -> None:
    """A table of an older form, with rows in it, does not outlive a rebuild."""
    made = re.findall(r"^create table if not exists (\w+)", projections.SCHEMA, re.MULTILINE)
    form = database.execute("select name, sql from sqlite_schema order by name").fetchall()
    assert made
    for table in made:
        database.execute(f"drop table {table}")
        database.execute(f"create table {table} (something integer)")
        database.execute(f"insert into {table} values (1)")  # noqa: S608 - names from our own schema
    projections.make_anew(database)
    assert database.execute("select name, sql from sqlite_schema order by name").fetchall() == form
    assert database.execute(statements.query("version", "found")).fetchall() == [(projections.VERSION,)]
