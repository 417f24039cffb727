"""False positives of masking, measured: ordinary texts are left alone (MASK-1)."""

import collections
import json
from pathlib import Path
from typing import Final

import pytest

from host.vault.masking import Masker

MOST: Final = 0.01
ROWS: Final = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "cases" / "ordinary.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.clause("MASK-1")
def test_at_most_one_ordinary_text_in_a_hundred_is_touched() -> None:
    """Code, prose in many languages, hashes, pictures, locks, logs: with three secrets lent, as a group may have."""
    masker = Masker()
    lent = {"api": "s3cr3t-Value/42+x==", "key": "kJ8sd9f7Gh2kLmN0pQrS", "password": "hunter2hunter2"}
    for name, value in lent.items():
        masker.lend(name, value)
    touched = [row["text"] for row in ROWS if masker.text(row["text"]) != row["text"]]
    assert len(touched) <= MOST * len(ROWS), touched


@pytest.mark.clause("MASK-1")
def test_the_ordinary_texts_are_many_and_of_many_kinds() -> None:
    """The set is what the clause is measured by."""
    kinds = collections.Counter(row["kind"] for row in ROWS)
    assert len({row["text"] for row in ROWS}) >= 300
    assert len(kinds) >= 12
    assert min(kinds.values()) >= 4
