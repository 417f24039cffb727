"""Reading beside a writer, from other threads and other processes."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.errors import JournalClosed, JournalDamaged
from memory.journal import Journal
from tests.integration.memory.processes import scribe
from tests.integration.memory.said import BOUND_SECONDS, Note, NoteCodec, Said

Opener = Callable[..., Journal[Note]]


@pytest.mark.clause("JRN-1")
def test_another_process_is_read_while_it_writes(path: Path) -> None:
    """A reader takes no lock and sees everything that was confirmed before it looked."""
    with scribe(path) as writer:
        reader = Journal[Note].reader(path, NoteCodec())
        for _ in range(100):
            seq = writer.acked()
            assert reader.last_seq() >= seq
            assert [row.seq for row in reader.read(seq - 1, limit=1)] == [seq]
        assert reader.verify().ok
        reader.close()


@pytest.mark.clause("JRN-1")
def test_many_threads_read_while_one_journal_is_written(journal: Journal[Note]) -> None:
    """Readers never wait for the writer and never see half a unit."""
    errors: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                [(events,)] = journal.query("SELECT count(*) FROM events")
                assert events % 2 == 0
                assert len(journal.read(newest_first=True, limit=2)) in {0, 2}
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(40):
        journal.append(Said(text=f"{number} a"), Said(text=f"{number} b")).result(BOUND_SECONDS)
    done.set()
    for thread in threads:
        thread.join(BOUND_SECONDS)
    assert errors == []
    assert journal.last_seq() == 80


def test_a_journal_that_is_not_there_is_told(path: Path) -> None:
    """Reading makes no file; the error says that it cannot be opened."""
    with pytest.raises(JournalDamaged, match="cannot be opened"):
        Journal[Note].reader(path, NoteCodec())
    assert not path.exists()


def test_an_empty_file_is_not_a_journal_to_read(path: Path) -> None:
    """A file that no writer has opened has nothing to read."""
    path.touch()
    with pytest.raises(JournalDamaged, match="not a journal yet"):
        Journal[Note].reader(path, NoteCodec())


def test_a_closed_reader_reads_no_more(journal: Journal[Note], path: Path) -> None:
    """After closing every read says so."""
    journal.append(Said(text="x")).result(BOUND_SECONDS)
    reader = Journal[Note].reader(path, NoteCodec())
    assert len(reader.read()) == 1
    reader.close()
    with pytest.raises(JournalClosed):
        reader.read()
