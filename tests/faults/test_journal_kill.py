"""A writing process is killed at its fault points and at random instants: nothing confirmed is lost (JRN-1, REC-5)."""

import random
import signal
from pathlib import Path

import pytest

from memory.journal import Journal
from tests.integration.memory.processes import scribe
from tests.integration.memory.said import BOUND_SECONDS, Note, NoteCodec, Said, ticking


def found_after(path: Path, acked: list[int]) -> int:
    """Open the journal as a successor does, check chain and confirmed events, and return how many events it holds."""
    with Journal[Note].open(path, NoteCodec(), ticking()) as journal:
        verdict = journal.verify()
        assert verdict.ok, verdict.detail
        rows = journal.read(limit=1_000_000)
        assert [row.seq for row in rows] == list(range(1, verdict.events + 1))
        assert set(acked) <= {row.seq for row in rows}
        assert journal.append(Said(text="after")).result(BOUND_SECONDS) == (verdict.events + 1,)
    return verdict.events


@pytest.mark.clause("JRN-1", "REC-5")
def test_killed_before_the_commit_nothing_of_the_batch_is_there(tmp_path: Path) -> None:
    """At `journal.before_commit` of the fifth batch, exactly the four before are durable."""
    path = tmp_path / "journal.db"
    with scribe(path, "--writers", "1", "--kill", "journal.before_commit", "--passing", "5") as writer:
        acked = writer.rest()
        assert writer.process.wait(BOUND_SECONDS) == -signal.SIGKILL
    assert acked == [1, 2, 3, 4]
    assert found_after(path, acked) == 4


@pytest.mark.clause("JRN-1", "REC-5")
def test_killed_after_the_commit_the_batch_is_there_though_nobody_was_told(tmp_path: Path) -> None:
    """At `journal.after_commit` of the fifth batch, it is durable and was not confirmed."""
    path = tmp_path / "journal.db"
    with scribe(path, "--writers", "1", "--kill", "journal.after_commit", "--passing", "5") as writer:
        acked = writer.rest()
        assert writer.process.wait(BOUND_SECONDS) == -signal.SIGKILL
    assert acked == [1, 2, 3, 4]
    assert found_after(path, acked) == 5


@pytest.mark.clause("JRN-1")
def test_killed_at_random_instants_one_after_another_every_confirmed_event_is_there(tmp_path: Path) -> None:
    """Eight times over the same journal, four threads writing: the chain verifies and holds all that was confirmed."""
    path = tmp_path / "journal.db"
    chance = random.Random(20)  # noqa: S311 - instants, not secrets; the same ones each run as far as a scheduler allows
    events = 0
    for _ in range(8):
        with scribe(path) as writer:
            acked = [writer.acked() for _ in range(chance.randrange(1, 400))]
            writer.kill()
            acked += writer.rest()
        assert min(acked) > events
        events = found_after(path, acked) + 1
        assert events > max(acked)


def test_a_fault_that_raises_fails_its_batch_and_the_next_one_works(tmp_path: Path) -> None:
    """Before the commit, whatever goes wrong rolls the batch back; the writer serves the next."""
    passed: list[str] = []

    def fault(point: str) -> None:
        passed.append(point)
        if passed == ["journal.before_commit"]:
            message = "armed"
            raise RuntimeError(message)

    with Journal[Note].open(tmp_path / "journal.db", NoteCodec(), ticking(), fault=fault) as journal:
        assert "armed" in str(journal.append(Said(text="lost")).exception(BOUND_SECONDS))
        assert journal.append(Said(text="kept")).result(BOUND_SECONDS) == (1,)
        assert [row.event for row in journal.read()] == [Said(text="kept")]
    assert passed == ["journal.before_commit", "journal.before_commit", "journal.after_commit"]


def test_a_writer_that_dies_fails_what_waits_and_all_that_comes(tmp_path: Path) -> None:
    """A thread that ends against all expectation leaves nobody waiting: now, in the queue, or later."""

    class Death(BaseException):
        """Something that no handler foresees."""

    def fault(point: str) -> None:
        if point == "journal.after_commit":
            raise Death

    with Journal[Note].open(tmp_path / "journal.db", NoteCodec(), ticking(), fault=fault) as journal:
        futures = [journal.append(Said(text=str(number))) for number in range(5)]
        futures.append(journal.append(Said(text="later")))
        for future in futures:
            assert "open the journal again" in str(future.exception(BOUND_SECONDS))
        assert "open the journal again" in str(journal.append(Said(text="much later")).exception(BOUND_SECONDS))
    with Journal[Note].open(tmp_path / "journal.db", NoteCodec(), ticking()) as successor:
        assert successor.verify().ok
