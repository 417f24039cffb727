"""Damage of every kind is found and named, by verification and by opening."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.errors import JournalDamaged, JournalTooNew
from memory.journal import Journal, Unit, Verdict
from memory.schema import APPLICATION_ID, migrate
from memory.statements import migrations
from tests.integration.memory.said import BOUND_SECONDS, Note, NoteCodec, Said

Opener = Callable[..., Journal[Note]]

GUARDS = ("events_are_not_changed", "events_are_not_deleted", "events_follow_one_another", "bodies_are_not_changed")


def tamper(path: Path, *statements: str) -> None:
    """Change the closed file as somebody with a SQLite shell and intent could."""
    with sqlite3.connect(path) as shell:
        for guard in GUARDS:
            shell.execute(f"DROP TRIGGER {guard}")
        for statement in statements:
            shell.execute(statement)
    shell.close()


@pytest.fixture
def closed(opened: Opener, path: Path) -> Path:
    """A closed journal of 3,000 events and a body."""
    journal = opened()

    def unit(work: Unit[Note]) -> None:
        for number in range(3_000):
            work.append(Said(text=f"marker-{number + 1:05} was said", turn=f"t{number // 10}"))
        work.body(b"a body " * 100)

    journal.commit(unit).result(BOUND_SECONDS)
    assert journal.verify() == Verdict(ok=True, events=3_000)
    journal.close()
    return path


@pytest.mark.clause("JRN-1")
@pytest.mark.parametrize(
    ("statement", "bad"),
    [
        ("UPDATE events SET body = CAST(body || ' ' AS BLOB) WHERE seq = 700", 700),
        ("UPDATE events SET at_us = at_us + 1 WHERE seq = 1", 1),
        ("UPDATE events SET turn = 'other' WHERE seq = 3000", 3000),
        ("UPDATE events SET kind = 'did' WHERE seq = 42", 42),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = 42", 42),
        ("DELETE FROM events WHERE seq = 1500", 1500),
        ("DELETE FROM events WHERE seq = 1", 1),
        ("DELETE FROM events WHERE seq = 3000", 3000),
        ("DELETE FROM events WHERE seq > 2900", 2901),
        ("DELETE FROM events", 1),
    ],
)
def test_the_first_row_that_does_not_fit_is_named(closed: Path, statement: str, bad: int) -> None:
    """Any altered column and any missing row, also the last ones, is named by its number."""
    tamper(closed, statement)
    reader = Journal[Note].reader(closed, NoteCodec())
    verdict = reader.verify()
    reader.close()
    assert not verdict.ok
    assert verdict.first_bad_seq == bad
    assert verdict.detail
    assert verdict.events == bad - 1


@pytest.mark.clause("JRN-1")
def test_one_altered_byte_of_the_file_is_found(closed: Path) -> None:
    """A bit flipped on the disk in the middle of an event is named by that event."""
    data = bytearray(closed.read_bytes())
    data[data.index(b"marker-01234")] ^= 1
    closed.write_bytes(data)
    reader = Journal[Note].reader(closed, NoteCodec())
    assert reader.verify().first_bad_seq == 1234
    reader.close()


@pytest.mark.clause("JRN-1")
def test_a_destroyed_page_is_named_by_its_first_event(closed: Path) -> None:
    """A page that no longer reads as one is damage at the first event that cannot be read."""
    data = bytearray(closed.read_bytes())
    page = data.index(b"marker-02000") // 4096
    data[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    closed.write_bytes(data)
    reader = Journal[Note].reader(closed, NoteCodec())
    verdict = reader.verify()
    with pytest.raises(JournalDamaged):
        reader.read(limit=3_000)
    reader.close()
    assert not verdict.ok
    assert verdict.first_bad_seq is not None
    assert 1_900 < verdict.first_bad_seq <= 2_000


@pytest.mark.clause("JRN-1")
@pytest.mark.parametrize(
    ("statement", "bad"),
    [
        ("UPDATE events SET turn = 'other' WHERE seq = 2500", 2500),
        ("DELETE FROM events WHERE seq > 2900", 2901),
        ("UPDATE chain_tip SET hash = zeroblob(32)", 3000),
    ],
)
def test_damage_near_the_end_stops_the_opening(closed: Path, opened: Opener, statement: str, bad: int) -> None:
    """A journal whose end does not fit is not written on; the error names the row."""
    tamper(closed, statement)
    with pytest.raises(JournalDamaged) as caught:
        opened()
    assert caught.value.first_bad_seq == bad


@pytest.mark.clause("JRN-1")
def test_an_altered_body_is_found(closed: Path) -> None:
    """Verification reads the bodies as well, and so does whoever asks for one."""
    tamper(closed, "UPDATE bodies SET packed = zeroblob(length(packed))")
    reader = Journal[Note].reader(closed, NoteCodec())
    [(digest,)] = reader.query("SELECT lower(hex(hash)) FROM bodies")
    verdict = reader.verify()
    with pytest.raises(JournalDamaged, match=digest):
        reader.body(digest)
    reader.close()
    assert not verdict.ok
    assert digest in verdict.detail


@pytest.mark.parametrize("content", [b"not a database at all" * 500, b"SQLite format 3\x00" + b"\x01" * 8000])
def test_a_file_that_is_no_database_is_damaged(path: Path, opened: Opener, content: bytes) -> None:
    """Rubbish in the journal's place is told as damage and left as it is."""
    path.write_bytes(content)
    with pytest.raises(JournalDamaged):
        opened()
    assert path.read_bytes() == content


def test_the_database_of_another_program_is_not_taken(path: Path, opened: Opener) -> None:
    """A foreign database is refused before a table is made in it."""
    with sqlite3.connect(path) as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    with pytest.raises(JournalDamaged, match="another program"):
        opened()


@pytest.mark.clause("OPS-4")
def test_a_newer_journal_is_refused_with_the_version_it_needs(closed: Path, opened: Opener) -> None:
    """An older program neither writes nor reads a newer file, and says which version it found."""
    with sqlite3.connect(closed) as newer:
        newer.execute(f"PRAGMA user_version = {len(migrations()) + 1}")
    newer.close()
    with pytest.raises(JournalTooNew, match="schema version 2") as caught:
        opened()
    assert (caught.value.found, caught.value.known) == (len(migrations()) + 1, len(migrations()))
    with pytest.raises(JournalTooNew):
        Journal[Note].reader(closed, NoteCodec())


@pytest.mark.clause("OPS-4")
def test_a_migration_copies_the_file_first_and_happens_whole(closed: Path) -> None:
    """A newer program adds its tables in one transaction, beside a copy of what was there."""
    connection = sqlite3.connect(closed, isolation_level=None)
    wrong = "CREATE TABLE added (x);\nCREATE TABLE added (x);\n"
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, closed, (*migrations(), wrong))
    connection.close()
    connection = sqlite3.connect(closed, isolation_level=None)
    migrate(connection, closed, (*migrations(), "CREATE TABLE added (x);\n"))
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert connection.execute("SELECT count(*) FROM added").fetchone() == (0,)
    connection.close()
    with sqlite3.connect(closed.with_name("journal.db.version-1")) as copy:
        assert copy.execute("PRAGMA user_version").fetchone() == (1,)
        assert copy.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert copy.execute("SELECT count(*) FROM events").fetchone() == (3_000,)
    copy.close()


def test_an_event_of_an_unknown_kind_is_named(closed: Path) -> None:
    """What the codec cannot decode is damage with a number, not a stranger's exception."""
    tamper(closed, "UPDATE events SET kind = 'unheard_of' WHERE seq = 5")
    reader = Journal[Note].reader(closed, NoteCodec())
    with pytest.raises(JournalDamaged, match="unheard_of") as caught:
        reader.read()
    reader.close()
    assert caught.value.first_bad_seq == 5
