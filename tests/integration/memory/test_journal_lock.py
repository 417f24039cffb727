"""One writer at a time: the lock, the wait, the generation."""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.errors import JournalBusy, JournalSuperseded, JournalUnwritable
from memory.journal import Journal
from tests.integration.memory.processes import scribe
from tests.integration.memory.said import BOUND_SECONDS, Note, NoteCodec, Said, ticking

Opener = Callable[..., Journal[Note]]


@pytest.mark.clause("JRN-5")
def test_a_second_writer_waits_and_is_then_refused(journal: Journal[Note], path: Path) -> None:
    """It waits as long as it was told, names the holder and changes nothing."""
    began = time.monotonic()
    with pytest.raises(JournalBusy, match=r"held by process \d+"):
        Journal[Note].open(path, NoteCodec(), ticking(), wait_seconds=0.2)
    assert time.monotonic() - began >= 0.2
    assert journal.append(Said(text="still mine")).result(BOUND_SECONDS) == (1,)


@pytest.mark.clause("JRN-5")
def test_a_second_writer_gets_the_journal_when_the_first_closes_meanwhile(opened: Opener) -> None:
    """Who waits does not wait in vain."""
    first = opened()
    threading.Thread(target=first.close).start()
    second = opened(wait_seconds=BOUND_SECONDS)
    assert second.generation == first.generation + 1


@pytest.mark.clause("JRN-5")
def test_the_journal_of_a_killed_process_is_taken_over(path: Path, opened: Opener) -> None:
    """A writer in another process holds it against us until it is killed; then it is ours, under a new generation."""
    with scribe(path) as first:
        while not first.acked():
            pass
        with pytest.raises(JournalBusy, match=f"held by process {first.process.pid}"):
            opened(wait_seconds=0.0)
        first.kill()
        second = opened(wait_seconds=BOUND_SECONDS)
        assert second.generation == first.generation + 1
        assert second.verify().ok


@pytest.mark.clause("JRN-5")
def test_a_writer_that_lost_its_lock_is_refused_at_append(opened: Opener, path: Path) -> None:
    """With the lock file deleted under it, a second writer comes in, and the older generation writes nothing more."""
    older = opened()
    older.append(Said(text="mine")).result(BOUND_SECONDS)
    path.with_name("journal.db.lock").unlink()
    newer = opened()
    with pytest.raises(JournalSuperseded, match=f"generation {newer.generation}"):
        older.append(Said(text="too late")).result(BOUND_SECONDS)
    assert newer.append(Said(text="the successor's")).result(BOUND_SECONDS) == (2,)
    with pytest.raises(JournalUnwritable):
        older.append(Said(text="still too late")).result(BOUND_SECONDS)
    assert newer.verify().ok
    assert [row.event for row in newer.read()] == [Said(text="mine"), Said(text="the successor's")]


def test_a_lock_held_by_another_program_on_the_file_itself_delays_and_does_not_lose(
    journal: Journal[Note], path: Path
) -> None:
    """A shell that holds SQLite's write lock for a moment only delays the commit."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    waiting = journal.append(Said(text="patient"))
    assert not waiting.done()
    other.execute("ROLLBACK")
    other.close()
    assert waiting.result(BOUND_SECONDS) == (1,)
