"""SQL lives in `.sql` files, a name and a sentence a query: none in Python, none that nobody asks for."""

import ast
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("host", "lanes", "a2a", "memory", "browser")
# What begins and ends a transaction or sets up a connection (BEGIN, SAVEPOINT, PRAGMA) is no query and stays with it.
STATEMENT = re.compile(
    r"""\s*(
        select\b.+\bfrom\b | insert\s+(or\s+\w+\s+)?into\b | replace\s+into\b | update\s+\S+\s+set\b | delete\s+from\b
        | (create|drop)\s+((temp|temporary|unique|virtual)\s+)?(table|index|trigger|view)\b | alter\s+table\b
        | with\s+(recursive\s+)?\w+\s*(\([^)]*\)\s*)?as\s*\(
    )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
HEADING = re.compile(r"^-- (\w+): [A-Z].+\.$")
SCRIPTS = {"projections", "projection_version", "search_index"}  # tables of a file, run as a whole


def trees(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the path and the syntax of every Python file of some packages."""
    for package in packages:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def inline(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a file that are SQL, with `_` where an f-string puts something in."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "_" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            text = node.value
        if STATEMENT.match(text):
            yield text


def asked(package: str) -> set[tuple[str, str]]:
    """Return (file, name) of every query that a package asks for; both are literals."""
    found: set[tuple[str, str]] = set()
    for _, tree in trees(package):
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Name(id="query"), args=[ast.Constant(value=str(file)), ast.Constant(value=str(name))]
                ):
                    found.add((file, name))
                case _:
                    pass
    return found


def held(package: str) -> list[tuple[str, str]]:
    """Return (file, name) of every query in the files of a package, whose comments are headings all."""
    found: list[tuple[str, str]] = []
    for file in sorted((ROOT / package).rglob("sql/*.sql")):
        if file.stem not in SCRIPTS:
            comments = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("--")]
            headings = [HEADING.match(line) for line in comments]
            found += [(file.stem, heading[1]) for heading in headings if heading]
            assert headings
            assert all(headings), f"{file}: a heading reads `-- name: A sentence.`"
    return found


def test_no_python_file_holds_sql() -> None:
    """A statement in Python belongs into a `.sql` file of the room that owns the table, under a name."""
    assert [(name, sql) for name, tree in trees(*PACKAGES) for sql in inline(tree)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_query_has_one_name_and_is_asked_for(package: str) -> None:
    """What nobody runs goes; what is asked for and missing fails at import already."""
    names = held(package)
    assert len(set(names)) == len(names)
    assert set(names) == asked(package)


@pytest.mark.parametrize(
    "sql",
    [
        "select a from b",
        "\n  SELECT a\n  FROM b",
        "insert or ignore into a values (1)",
        "update a set b = 1",
        "delete from a",
        "create unique index a on b (c)",
        "drop table if exists a",
        "with a as (select 1) select * from a",
    ],
)
def test_sql_is_told_from_words(sql: str) -> None:
    """A statement is found in a plain text and in an f-string; sentences that begin alike are not taken for one."""
    assert list(inline(ast.parse(f"run({sql!r})"))) == [sql]
    assert list(inline(ast.parse("run(f'update {table} set a = 1')"))) == ["update _ set a = 1"]
    words = (
        "Delete its folder.",
        "With show: the exact body.",
        "update",
        "Drop the oldest.",
        " with a tool that reads",
    )
    assert not [each for text in words for each in inline(ast.parse(f"run({text!r})"))]
    assert sqlite3.complete_statement(sql + ";")
