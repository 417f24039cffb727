"""What the text of a path means."""

import pytest

from host.errors import PathViolation
from host.tools.paths import place_of


@pytest.mark.clause("PATH-1", "PATH-4")
@pytest.mark.parametrize(
    ("path", "root", "inner", "shown"),
    [
        ("a.txt", "", "a.txt", "a.txt"),
        ("./a//b/", "", "a/b", "a/b"),
        (".", "", ".", "."),
        ("/workspace", "", ".", "."),
        ("/workspace/a", "", "a", "a"),
        ("a/../b", "", "b", "b"),
        ("docs", "docs", ".", "docs"),
        ("docs/x/y", "docs", "x/y", "docs/x/y"),
        ("/workspace/docs/x", "docs", "x", "docs/x"),
        ("a/../docs/x", "docs", "x", "docs/x"),
        ("docsx/y", "", "docsx/y", "docsx/y"),
        ("a b\n", "", "a b\n", r"a b\x0a"),
        ("docs/caf\udce9", "docs", "caf\udce9", r"docs/caf\xe9"),
    ],
)
def test_a_path_is_read_as_a_root_and_what_lies_beneath(path: str, root: str, inner: str, shown: str) -> None:
    """Relative or absolute beneath /workspace; a folder's name at the top is that folder."""
    place = place_of(path, {"docs"})
    assert (place.root, place.inner, place.shown) == (root, inner, shown)


@pytest.mark.clause("PATH-1")
@pytest.mark.parametrize(
    "path",
    [
        "",
        " ",
        "..",
        "../x",
        "a/../../x",
        "docs/../../x",
        "/workspace/../etc/passwd",
        "/workspace-old/x",
        "/workspacex",
        "/etc/passwd",
        "/",
        "//workspace/x",
        "/proc/self/root/etc/passwd",
        "a\0b",
        "\ud800",
    ],
)
def test_a_path_that_leads_out_by_its_words_is_refused(path: str) -> None:
    """No disk is needed to see it, and the message says what to do."""
    with pytest.raises(PathViolation) as refused:
        place_of(path, {"docs"})
    assert any(advice in refused.value.message for advice in ("name a", "use a path", "leave it out", "name the file"))
