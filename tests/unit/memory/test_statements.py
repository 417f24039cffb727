"""The SQL files: every query has a name and a sentence, and scripts split into statements."""

import re
import sqlite3
from pathlib import Path

import pytest

from memory import statements

FOLDER = Path(statements.__file__).parent / "sql"


@pytest.mark.parametrize("name", ["journal", "schema", "search"])
def test_every_query_is_named_and_explained_once(name: str) -> None:
    """A heading reads `-- name: A sentence.`; no name is used twice."""
    headings = re.findall(r"^-- (\w+): [A-Z].+\.$", (FOLDER / f"{name}.sql").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings
    assert len(set(headings)) == len(headings)
    for heading in headings:
        assert sqlite3.complete_statement(statements.query(name, heading) + ";")


def test_a_missing_query_is_a_key_error() -> None:
    """A wrong name fails where it is asked for."""
    with pytest.raises(KeyError):
        statements.query("journal", "no_such_query")


def test_a_folder_of_another_room_is_read_alike(tmp_path: Path) -> None:
    """A query is what stands under its heading, without the last semicolon; the file is a script as well."""
    text = "-- first: One.\nSELECT 1;\n\n-- second: Two,\n-- with a remark.\nSELECT\n    2;\n"
    (tmp_path / "theirs.sql").write_text(text, encoding="utf-8")
    theirs = statements.Statements(tmp_path)
    assert theirs.query("theirs", "first") == "SELECT 1"
    assert theirs.query("theirs", "second").endswith("SELECT\n    2")
    assert theirs.script("theirs") == text
    assert theirs.migrations() == ()


def test_triggers_are_not_cut_at_their_inner_semicolons() -> None:
    """A script is cut where statements end, comments and a missing last semicolon included."""
    table = "-- a table; with a comment\nCREATE TABLE a (x);\n"
    script = table + "CREATE TRIGGER t BEFORE DELETE ON a\nBEGIN\n SELECT 1;\nEND;\nSELECT 1"
    cut = statements.split(script)
    assert len(cut) == 3
    assert cut[1].endswith("END;")
    database = sqlite3.connect(":memory:")
    for statement in cut:
        database.execute(statement)
    database.close()


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    """The schema version is the number of scripts."""
    numbers = [int(path.name[:4]) for path in sorted((FOLDER / "migrations").glob("*.sql"))]
    assert numbers == list(range(1, len(statements.migrations()) + 1))
