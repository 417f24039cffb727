"""Whatever units come in whatever order: the chain holds, and each unit is there whole or not at all (JRN-1, JRN-5)."""

import tempfile
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import chain
from memory.journal import Journal, Unit
from tests.integration.memory.said import BOUND_SECONDS, Note, NoteCodec, Said, ticking


class Plan(NamedTuple):
    """What one unit does."""

    events: int
    admitted: bool
    fails_after: int | None


class Refused(Exception):
    """A unit's own error."""


PLANS = st.lists(
    st.builds(Plan, st.integers(0, 4), st.booleans() | st.just(True), st.none() | st.integers(0, 4)), max_size=25
)


def commit(journal: Journal[Note], name: int, plan: Plan) -> Future[list[int]]:
    """Hand one planned unit in."""

    def admit() -> None:
        if not plan.admitted:
            raise Refused

    def unit(work: Unit[Note]) -> list[int]:
        seqs: list[int] = []
        for number in range(plan.events):
            if plan.fails_after == number:
                raise Refused
            seqs += work.append(Said(text=f"{name}.{number}", turn=str(name)))
        return seqs

    return journal.commit(unit, admit)


@pytest.mark.clause("JRN-1", "JRN-5")
@settings(max_examples=40, deadline=None)
@given(PLANS)
def test_units_are_whole_and_in_the_order_they_were_handed_in(plans: list[Plan]) -> None:
    """The journal holds exactly the units that succeeded, in order, numbered without gaps, and its chain verifies."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        with Journal[Note].open(path, NoteCodec(), ticking()) as journal:
            futures = [commit(journal, name, plan) for name, plan in enumerate(plans)]
            expected: list[str] = []
            seqs: list[int] = []
            for name, (plan, future) in enumerate(zip(plans, futures, strict=True)):
                refused = not plan.admitted or (plan.fails_after is not None and plan.fails_after < plan.events)
                error = future.exception(BOUND_SECONDS)
                assert isinstance(error, Refused) == refused
                if not refused:
                    expected += [f"{name}.{number}" for number in range(plan.events)]
                    seqs += future.result()
            rows = journal.read(limit=1_000)
            assert seqs == list(range(1, len(expected) + 1)) == [row.seq for row in rows]
            assert [row.event for row in rows] == [Said(text=text, turn=text.split(".")[0]) for text in expected]
            assert journal.verify().ok
            assert journal.last_seq() == len(expected)


class Row(NamedTuple):
    """The columns a hash covers."""

    seq: int
    at_us: int
    turn: str
    kind: str
    body: bytes


ROWS = st.builds(
    Row,
    st.integers(1, 2**40),
    st.integers(-(2**40), 2**60),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.binary(max_size=16),
)


@pytest.mark.clause("JRN-1")
@given(ROWS, ROWS, st.binary(min_size=32, max_size=32))
def test_two_different_rows_never_share_a_hash(one: Row, other: Row, previous: bytes) -> None:
    """Any difference in any column, also a byte moved from one to its neighbour, gives another hash."""
    same = chain.link(previous, *one) == chain.link(previous, *other)
    assert same == (one == other)


@pytest.mark.clause("JRN-1")
@given(ROWS, st.text("ab", min_size=1, max_size=3), st.text("ab", min_size=1, max_size=3))
def test_text_moved_between_columns_changes_the_hash(row: Row, left: str, right: str) -> None:
    """The end of the turn cannot become the beginning of the kind unnoticed."""
    one = row._replace(turn=left + right, kind=left)
    other = row._replace(turn=left, kind=right + left)
    assert chain.link(chain.GENESIS, *one) != chain.link(chain.GENESIS, *other)
