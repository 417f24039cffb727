"""Search answers the same from the index and from the events themselves (JRN-3)."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import SearchError
from memory.journal import Journal
from memory.reader import Reader
from tests.integration.memory.said import BOUND_SECONDS, Note, NoteCodec, Said, ticking

WORDS = st.sampled_from(
    [
        "run",
        "running",
        "книга",
        "книги",
        "昨晚",
        "昨",
        "晚上",
        "a/b.py",
        "it's",
        "50%",
        "x_y",
        "É",
        '"',
        "*",
        "Pythonで",
        "ab",
    ]
)
TEXT = st.lists(WORDS | st.text("abc книА昨晚'\"%/@.-* é", max_size=6), max_size=6).map(" ".join)


@pytest.mark.clause("JRN-3", "MEM-10")
@settings(max_examples=30, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=12), st.lists(TEXT, min_size=1, max_size=8), st.booleans())
def test_the_index_and_the_events_give_the_same_hits(texts: list[str], queries: list[str], newest_first: bool) -> None:
    """For any texts and queries, both ways find the same events, or both refuse the query."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        with Journal[Note].open(path, NoteCodec(), ticking()) as journal:
            journal.append(*[Said(text=text) for text in texts]).result(BOUND_SECONDS)
            assert journal.await_index(BOUND_SECONDS)
            direct = Reader[Note](path, NoteCodec(), index=Path(folder) / "none")
            for query in queries:
                try:
                    wanted = {hit.seq for hit in direct.search(query, limit=100)}
                except SearchError:
                    with pytest.raises(SearchError):
                        journal.search(query)
                else:
                    found = journal.search(query, limit=100, newest_first=newest_first)
                    assert {hit.seq for hit in found} == wanted, query
            direct.close()
