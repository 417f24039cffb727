"""The requirements manifest, enforced both ways: no clause without a test, no test that names no clause of it."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[2]
MANIFEST = TESTS / "requirements.toml"


def entries() -> dict[str, dict[str, Any]]:
    """Return the manifest: clause id → entry."""
    return tomllib.loads(MANIFEST.read_text(encoding="utf-8"))


def marked() -> dict[str, set[str]]:
    """Return clause id → tests that say they show it."""
    found: dict[str, set[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "pytest.mark.clause":
                continue
            for argument in node.args:
                assert isinstance(argument, ast.Constant), f"{file}: a clause is a literal"
                found.setdefault(str(argument.value), set()).add(file.relative_to(TESTS).as_posix())
    return found


def test_every_clause_that_is_shown_has_a_test() -> None:
    """What the manifest calls shown is marked on a test."""
    tests = marked()
    missing = [clause for clause, entry in entries().items() if entry.get("shown") and clause not in tests]
    assert not missing


def test_every_marked_test_names_a_clause_of_the_manifest() -> None:
    """A test cannot claim what the manifest does not know, or only plans."""
    known = {clause for clause, entry in entries().items() if entry.get("shown")}
    assert set(marked()) <= known


@pytest.mark.parametrize("clause", sorted(entries()))
def test_an_entry_says_what_is_shown_and_what_is_planned(clause: str) -> None:
    """An entry has shown behaviours, planned ones, or both; a plan names its part."""
    entry = entries()[clause]
    assert set(entry) <= {"shown", "planned", "part"}
    assert entry.get("shown") or entry.get("planned")
    assert re.fullmatch(r"[A-Z]+-\d+", clause)
    if entry.get("planned"):
        assert re.fullmatch(r"part \d+(, part \d+)*", entry["part"])
