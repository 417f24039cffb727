"""Patterns for paths."""

import time

import pytest

from host.tools.globs import matches


@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    [
        ("a.py", "*.py", True),
        ("src/deep/a.py", "*.py", True),
        ("src/a.pyc", "*.py", False),
        ("src/a.py", "src/*.py", True),
        ("src/deep/a.py", "src/*.py", False),
        ("src/deep/a.py", "src/**/*.py", True),
        ("src/a.py", "src/**/*.py", True),
        ("a.py", "**/*.py", True),
        ("src/deep/er", "src/**", True),
        ("src", "src/**", True),
        ("x/src/a", "src/**", False),
        ("file1", "file?", True),
        ("file12", "file?", False),
        ("b", "[a-c]", True),
        ("d", "[a-c]", False),
        ("d", "[!a-c]", True),
        ("]", "[]]", True),
        ("[x", "[x", True),
        ("", "*", True),
        ("abc", "a*b*c", True),
        ("abcd", "a*b*c", False),
        (".hidden", "*", True),
    ],
)
@pytest.mark.clause("PASS-5")
def test_a_pattern_fits_as_people_expect(path: str, pattern: str, fits: bool) -> None:
    """Stars stay within a name, two stars span folders, a pattern without a slash is for names."""
    assert matches(path, pattern) is fits


@pytest.mark.clause("PASS-5")
def test_a_row_of_stars_does_not_hold_the_interpreter() -> None:
    """A regular expression made of it would take for ever on this name."""
    began = time.process_time()
    assert not matches("a" * 255, "*a" * 40 + "b")
    assert not matches("/".join("a" * 60), "**/a/" * 40 + "b")
    assert time.process_time() - began < 5  # it takes milliseconds; exponential would not end
