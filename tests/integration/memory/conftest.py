"""Journals in a folder of the test's own, closed at its end."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.journal import Journal
from tests.integration.memory.said import Note, NoteCodec, ticking

Opener = Callable[..., Journal[Note]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the journal of a test stands."""
    return tmp_path / "journal.db"


@pytest.fixture
def opened(path: Path) -> Iterator[Opener]:
    """A function that opens the test's journal with whatever options; it is closed at the end."""
    journals: list[Journal[Note]] = []

    def open_it(**options: Any) -> Journal[Note]:
        codec = options.pop("codec", None) or NoteCodec()
        now_us = options.pop("now_us", None) or ticking()
        journal = Journal[Note].open(path, codec, now_us, **options)
        journals.append(journal)
        return journal

    yield open_it
    for journal in journals:
        journal.close()


@pytest.fixture
def journal(opened: Opener) -> Journal[Note]:
    """A fresh journal."""
    return opened()
