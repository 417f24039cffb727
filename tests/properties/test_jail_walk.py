"""Opening and walking are the same thing, and no tree of links leads out (PATH-1)."""

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.tools.beneath import openat2, walk_beneath

NAMES: Final = ("a", "b", "c")
PARTS: Final = st.sampled_from((*NAMES, *NAMES, "..", "."))
PATHS: Final = st.lists(PARTS, min_size=1, max_size=5).map("/".join)
TARGETS: Final = st.one_of(PATHS, st.sampled_from(["/", "/etc/passwd", "../secret", "../root-old/secret"]))
TREES: Final = st.dictionaries(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join), st.none() | TARGETS, max_size=7
)


def _plant(root: Path, tree: dict[str, str | None]) -> None:
    """Make files (None) and links (their target); what does not fit together is left out."""
    for path, target in sorted(tree.items()):
        place = root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.parent.resolve().is_relative_to(root.resolve()) or place.is_symlink() or place.exists():
                continue
            if target is None:
                place.write_text("inside")
            else:
                place.symlink_to(target)
        except OSError:
            continue


def _opened(opening: Callable[[int, str, int], int], root: int, path: str) -> tuple[str, int]:
    """Return the inode that was reached, or the error."""
    try:
        descriptor = opening(root, path, os.O_PATH)
    except OSError as error:
        return "error", error.errno or 0
    try:
        return "found", os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


@pytest.mark.clause("PATH-1")
@settings(max_examples=100, deadline=None)
@given(tree=TREES, paths=st.lists(PATHS, min_size=1, max_size=6))
def test_the_walk_by_hand_opens_what_the_kernel_opens_and_refuses_what_it_refuses(
    tree: dict[str, str | None], paths: list[str]
) -> None:
    """For any tree of files and links; what is opened lies beneath the root."""
    with tempfile.TemporaryDirectory() as top:
        root = Path(top) / "root"
        for folder in (root, Path(top) / "root-old"):
            folder.mkdir()
            (folder.parent / "secret").write_text("outside")
        _plant(root, tree)
        inside = {found.lstat().st_ino for found in root.rglob("*")} | {root.stat().st_ino}
        descriptor = os.open(root, os.O_PATH | os.O_DIRECTORY)
        try:
            for path in paths:
                by_kernel, by_hand = _opened(openat2, descriptor, path), _opened(walk_beneath, descriptor, path)
                assert by_hand == by_kernel, (path, [errno.errorcode.get(code) for _, code in (by_kernel, by_hand)])
                if by_hand[0] == "found":
                    assert by_hand[1] in inside
        finally:
            os.close(descriptor)
