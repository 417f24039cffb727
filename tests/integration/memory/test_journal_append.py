"""Appending, reading back, and what one unit of work may and may not do."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.bodies import pack
from memory.errors import JournalClosed, MissingBody, QueryRefused, UnitMisused
from memory.journal import Journal, Stored, Transaction, Unit
from tests.integration.memory.said import BOUND_SECONDS, Did, Note, NoteCodec, Said, ticking

Opener = Callable[..., Journal[Note]]

COUNTS = "CREATE TABLE IF NOT EXISTS counts (tool TEXT PRIMARY KEY, number INTEGER NOT NULL)"


def count(transaction: Transaction, stored: Stored[Note]) -> None:
    """A projection: how often each tool was used."""
    if isinstance(stored.event, Did):
        transaction.execute(
            "INSERT INTO counts VALUES (?, ?) ON CONFLICT (tool) DO UPDATE SET number = number + excluded.number",
            (stored.event.tool, stored.event.count),
        )


class Stale(Exception):
    """A lane was replaced."""


@pytest.mark.clause("JRN-1")
def test_what_was_appended_is_read_back_with_its_place_time_and_turn(journal: Journal[Note]) -> None:
    """Every row carries sequence, UTC time, turn, kind and event."""
    assert journal.append(Said(text="hello", turn="t1"), Did(tool="ls", turn="t1")).result(BOUND_SECONDS) == (1, 2)
    assert journal.read() == [
        Stored(1, 1_000_000, "t1", "said", Said(text="hello", turn="t1")),
        Stored(2, 1_001_000, "t1", "did", Did(tool="ls", turn="t1")),
    ]
    assert journal.last_seq() == 2


@pytest.mark.clause("JRN-1")
def test_the_last_number_is_never_behind_what_was_read(opened: Opener) -> None:
    """Also between the commit and the next step of the writer's thread: followers would meet again what they saw."""
    committed, go_on = threading.Event(), threading.Event()

    def fault(point: str) -> None:
        if point == "journal.after_commit":
            committed.set()
            assert go_on.wait(BOUND_SECONDS)

    journal = opened(fault=fault)
    writing = journal.append(Said(text="hello", turn="t1"))
    assert committed.wait(BOUND_SECONDS)
    assert [row.seq for row in journal.read()] == [1]
    assert journal.last_seq() == 1
    go_on.set()
    writing.result(BOUND_SECONDS)


@pytest.mark.clause("JRN-1")
def test_reading_narrows_by_number_turn_kind_and_direction(journal: Journal[Note]) -> None:
    """Each narrowing works alone and together with the others."""
    for number in range(1, 10):
        turn = "odd" if number % 2 else "even"
        journal.append(Said(text=str(number), turn=turn) if number % 3 else Did(tool="x", turn=turn))
    journal.append().result(BOUND_SECONDS)

    def seqs(rows: list[Stored[Note]]) -> list[int]:
        return [row.seq for row in rows]

    assert seqs(journal.read(7)) == [8, 9]
    assert seqs(journal.read(2, limit=2)) == [3, 4]
    assert seqs(journal.read(before=4)) == [1, 2, 3]
    assert seqs(journal.read(turn="odd")) == [1, 3, 5, 7, 9]
    assert seqs(journal.read(kinds={"did"})) == [3, 6, 9]
    assert seqs(journal.read(kinds=[])) == []
    assert seqs(journal.read(newest_first=True, limit=2)) == [9, 8]
    assert seqs(journal.read(2, turn="odd", kinds={"said"}, newest_first=True, before=9)) == [7, 5]


@pytest.mark.clause("JRN-1")
def test_reading_a_turn_uses_its_index(journal: Journal[Note]) -> None:
    """A turn of a long journal is found without going through all of it."""
    plan = journal.query("EXPLAIN QUERY PLAN SELECT * FROM events WHERE turn = ? AND seq > 5 ORDER BY seq", ("t",))
    assert "events_of_turn" in str(plan)


@pytest.mark.clause("JRN-1")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET kind = 'x' WHERE seq = 1",
        "DELETE FROM events WHERE seq = 1",
        "INSERT OR REPLACE INTO events VALUES (1, 0, '', 'x', x'', x'')",
        "INSERT INTO events VALUES (9, 0, '', 'x', x'', x'')",
        "DELETE FROM bodies",
        "UPDATE bodies SET packed = x''",
    ],
)
def test_the_file_itself_refuses_to_change_the_past(journal: Journal[Note], path: Path, statement: str) -> None:
    """Triggers refuse update, delete, replacement and gaps, whoever connects."""

    def unit(work: Unit[Note]) -> None:
        work.append(Said(text="kept"))
        work.body(b"kept too")

    journal.commit(unit).result(BOUND_SECONDS)
    other = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        other.execute(statement)
    other.close()
    assert [row.event for row in journal.read()] == [Said(text="kept")]


@pytest.mark.clause("JRN-1")
def test_a_body_is_stored_once_compressed_under_its_hash(journal: Journal[Note]) -> None:
    """The same content twice, packed beforehand or not, is one row, smaller than the content."""
    data = b"many words " * 10_000
    first = journal.commit(lambda unit: unit.body(data)).result(BOUND_SECONDS)
    second = journal.commit(lambda unit: unit.body(pack(data))).result(BOUND_SECONDS)
    assert first == second
    assert journal.body(first) == data
    [(rows, size)] = journal.query("SELECT count(*), sum(length(packed)) FROM bodies")
    assert rows == 1
    assert size < len(data) / 100


@pytest.mark.parametrize("digest", ["00" * 32, "not a hash", ""])
def test_a_body_that_is_not_there_is_missing(journal: Journal[Note], digest: str) -> None:
    """An unknown or malformed hash raises MissingBody, which is a KeyError."""
    with pytest.raises(KeyError) as caught:
        journal.body(digest)
    assert isinstance(caught.value, MissingBody)
    assert repr(digest) in str(caught.value)


@pytest.mark.clause("JRN-5")
def test_a_unit_that_raises_is_rolled_back_alone(opened: Opener) -> None:
    """Of three units in one batch the failing one leaves no event, no row and no projection; the others stay."""
    gate = threading.Event()
    journal = opened(schemas=[COUNTS], project=count)

    def failing(unit: Unit[Note]) -> None:
        unit.append(Did(tool="bad"))
        unit.transaction.execute("INSERT INTO counts VALUES ('own', 1)")
        message = "no"
        raise ValueError(message)

    held = journal.commit(lambda _: gate.wait(BOUND_SECONDS))  # the next three wait and form one batch
    good = journal.append(Did(tool="good"))
    bad = journal.commit(failing)
    last = journal.append(Did(tool="good"))
    gate.set()
    assert held.result(BOUND_SECONDS)
    assert good.result(BOUND_SECONDS) == (1,)
    assert last.result(BOUND_SECONDS) == (2,)
    with pytest.raises(ValueError, match="no"):
        bad.result(BOUND_SECONDS)
    assert journal.query("SELECT tool, number FROM counts") == [("good", 2)]
    assert journal.verify().ok


@pytest.mark.clause("JRN-5")
@pytest.mark.parametrize("statement", ["INSERT INTO nowhere VALUES (1)", "this is no SQL"])
def test_a_unit_with_a_wrong_statement_fails_alone(journal: Journal[Note], statement: str) -> None:
    """A mistake in SQL is the unit's own error, not the disk's."""
    gate = threading.Event()
    held = journal.commit(lambda _: gate.wait(BOUND_SECONDS))
    bad = journal.commit(lambda unit: unit.transaction.execute(statement))
    good = journal.append(Said(text="good"))
    gate.set()
    with pytest.raises(sqlite3.OperationalError):
        bad.result(BOUND_SECONDS)
    assert good.result(BOUND_SECONDS) == (1,)
    assert held.result(BOUND_SECONDS)


@pytest.mark.clause("JRN-5")
def test_a_stale_admit_refuses_its_unit_alone(journal: Journal[Note]) -> None:
    """A unit of a replaced lane does not run, also when it was queued before; its neighbours do."""
    gate = threading.Event()
    generation = 1

    def admit() -> None:
        if generation != 1:
            raise Stale

    held = journal.commit(lambda _: gate.wait(BOUND_SECONDS))
    stale = journal.append(Said(text="from the abandoned thread"), admit=admit)
    fresh = journal.append(Said(text="from its successor"))
    generation = 2
    gate.set()
    with pytest.raises(Stale):
        stale.result(BOUND_SECONDS)
    assert fresh.result(BOUND_SECONDS) == (1,)
    assert held.result(BOUND_SECONDS)
    assert [row.event for row in journal.read()] == [Said(text="from its successor")]


@pytest.mark.clause("JRN-5")
def test_rows_of_others_join_the_event_in_one_transaction(opened: Opener) -> None:
    """A unit's transaction writes foreign tables atomically with its events."""
    journal = opened(schemas=["CREATE TABLE IF NOT EXISTS outbox (id TEXT PRIMARY KEY, seq INTEGER NOT NULL)"])

    def send(unit: Unit[Note]) -> int:
        (seq,) = unit.append(Said(text="sent"))
        unit.transaction.execute("INSERT INTO outbox VALUES ('m1', ?)", (seq,))
        return seq

    assert journal.commit(send).result(BOUND_SECONDS) == 1
    with pytest.raises(sqlite3.IntegrityError):
        journal.commit(send).result(BOUND_SECONDS)
    assert journal.query("SELECT id, seq FROM outbox") == [("m1", 1)]
    assert journal.last_seq() == 1


@pytest.mark.parametrize("statement", ["COMMIT", " rollback", "savepoint x", "PRAGMA synchronous = OFF", "VACUUM;"])
def test_a_unit_cannot_end_the_transaction_it_was_lent(journal: Journal[Note], statement: str) -> None:
    """Transactions are begun and ended by the journal alone."""
    with pytest.raises(UnitMisused):
        journal.commit(lambda unit: unit.transaction.execute(statement)).result(BOUND_SECONDS)
    assert journal.append(Said(text="still works")).result(BOUND_SECONDS) == (1,)


def test_a_unit_is_of_no_use_after_it_ran(journal: Journal[Note]) -> None:
    """A unit kept beyond its function cannot write into a stranger's transaction."""
    kept = journal.commit(lambda unit: unit).result(BOUND_SECONDS)
    with pytest.raises(UnitMisused):
        kept.append(Said(text="late"))
    with pytest.raises(UnitMisused):
        kept.transaction.execute("SELECT 1")


def test_a_unit_cancelled_before_its_turn_leaves_nothing(journal: Journal[Note]) -> None:
    """Who gives up waiting before the writer came to the unit finds nothing written."""
    gate = threading.Event()
    held = journal.commit(lambda _: gate.wait(BOUND_SECONDS))
    given_up = journal.append(Said(text="never mind"))
    assert given_up.cancel()
    gate.set()
    assert held.result(BOUND_SECONDS)
    assert journal.append(Said(text="next")).result(BOUND_SECONDS) == (1,)


async def test_events_are_awaited_from_a_loop(journal: Journal[Note]) -> None:
    """A lane's loop awaits durability without blocking."""
    async with asyncio.timeout(BOUND_SECONDS):
        futures = [asyncio.wrap_future(journal.append(Said(text=str(n)))) for n in range(20)]
        assert [seq for (seq,) in await asyncio.gather(*futures)] == list(range(1, 21))


@pytest.mark.clause("JRN-4")
def test_projections_see_what_was_stored_not_what_was_given(opened: Opener) -> None:
    """What the codec masks reaches neither the events nor a table made from them."""
    seen: list[Note] = []

    def see(_: Transaction, stored: Stored[Note]) -> None:
        seen.append(stored.event)

    journal = opened(codec=NoteCodec(masked="hunter2"), project=see)
    journal.append(Said(text="it is hunter2")).result(BOUND_SECONDS)
    assert seen == [Said(text="it is [masked]")]
    assert [row.event for row in journal.read()] == seen


@pytest.mark.clause("JRN-2")
def test_a_projection_is_rebuilt_to_the_same_content(opened: Opener) -> None:
    """Dropped and replayed in one transaction, the table is as it was, also over several pages of events."""
    journal = opened(schemas=[COUNTS], project=count)
    for number in range(2_500):
        journal.append(Did(tool=f"tool{number % 7}", count=number))
    journal.append().result(BOUND_SECONDS)
    table = "SELECT tool, number FROM counts ORDER BY tool"
    before = journal.query(table)

    def drop(transaction: Transaction) -> None:
        transaction.execute("DELETE FROM counts")

    assert journal.replay(count, prepare=drop) == 2_500
    assert journal.query(table) == before
    assert len(before) == 7


def test_listeners_hear_of_each_commit_until_they_stop_listening(journal: Journal[Note]) -> None:
    """A listener is called with the last sequence; after `unlisten` no more."""
    heard: list[int] = []
    told = threading.Event()

    def hear(seq: int) -> None:
        heard.append(seq)
        told.set()

    unlisten = journal.listen(hear)
    journal.append(Said(text="one"))
    assert told.wait(BOUND_SECONDS)
    unlisten()
    journal.append(Said(text="two")).result(BOUND_SECONDS)
    journal.append(Said(text="three")).result(BOUND_SECONDS)  # the writer is past the telling of the one before
    assert heard == [1]


def test_a_listener_that_raises_is_dropped_and_harms_nobody(
    journal: Journal[Note], caplog: pytest.LogCaptureFixture
) -> None:
    """The writer goes on, the failure is logged."""
    calls: list[int] = []

    def broken(seq: int) -> None:
        calls.append(seq)
        message = "broken listener"
        raise RuntimeError(message)

    journal.listen(broken)
    for text in ("one", "two", "three"):
        journal.append(Said(text=text)).result(BOUND_SECONDS)
    assert calls == [1]
    assert "broken listener" in caplog.text


def test_an_event_that_cannot_be_encoded_fails_its_future_alone(journal: Journal[Note]) -> None:
    """A lone surrogate cannot be stored; its future says so, nothing else is touched."""
    with pytest.raises(UnicodeEncodeError):
        journal.append(Said(text="x", turn="\ud800")).result(BOUND_SECONDS)
    assert journal.append(Said(text="y")).result(BOUND_SECONDS) == (1,)


def test_a_closed_journal_refuses_at_once(opened: Opener) -> None:
    """What waits is committed at closing, what comes after fails, and closing twice is no harm."""
    journal = opened()
    pending = [journal.append(Said(text=str(n))) for n in range(50)]
    journal.close()
    journal.close()
    assert [future.result(BOUND_SECONDS) for future in pending][-1] == (50,)
    with pytest.raises(JournalClosed):
        journal.append(Said(text="late")).result(BOUND_SECONDS)
    with pytest.raises(JournalClosed):
        journal.read()


def test_closing_leaves_one_file_without_a_log(journal: Journal[Note], path: Path) -> None:
    """After closing, the journal can be copied as a file."""
    journal.append(Said(text="x")).result(BOUND_SECONDS)
    journal.close()
    assert not path.with_name("journal.db-wal").exists()
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as copy:
        assert copy.execute("SELECT count(*) FROM events").fetchone() == (1,)
    copy.close()


def test_a_query_reads_and_cannot_write(journal: Journal[Note]) -> None:
    """A statement that would write, or does not parse, is refused by name."""
    journal.append(Said(text="x")).result(BOUND_SECONDS)
    assert journal.query("SELECT seq, kind FROM events WHERE seq = ?", (1,)) == [(1, "said")]
    for statement in ("CREATE TABLE mine (x)", "no SQL at all"):
        with pytest.raises(QueryRefused):
            journal.query(statement)


def test_the_journal_is_readable_by_its_owner_only(journal: Journal[Note], path: Path) -> None:
    """The file and what stands beside it hold private words."""
    journal.append(Said(text="x")).result(BOUND_SECONDS)
    for each in path.parent.iterdir():
        assert each.stat().st_mode & 0o077 == 0, each


def test_events_of_a_reopened_journal_go_on_where_they_ended(opened: Opener) -> None:
    """Numbers and chain continue over openings, the generation rises."""
    first = opened()
    first.append(Said(text="one")).result(BOUND_SECONDS)
    first.close()
    second = opened(now_us=ticking(5_000_000))
    assert second.last_seq() == 1
    assert second.append(Said(text="two")).result(BOUND_SECONDS) == (2,)
    assert second.generation == first.generation + 1
    assert second.verify().ok
