"""Search over what was said: the same answers from the index, without it, and half way."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memory.errors import SearchError
from memory.journal import Hit, Journal
from memory.reader import Reader
from tests.integration.memory.said import BOUND_SECONDS, Did, Note, NoteCodec, Said, ticking

Opener = Callable[..., Journal[Note]]

TEXTS = (
    "昨晚我们吃了面条",
    "昨晚下雨了，今天晴",
    "我昨天晚上没睡",
    "昨日の晩ごはんは東京タワーで",
    "it's the wrong trousers",
    "open a/b.py and run it",
    "a b py are three words",
    "50% off until Monday",
    "50 apples, 500 pears",
    "write to user@host today",
    "user and host apart",
    "Он читал книги вчера вечером",
    "Книга лежит на столе, ёлка в углу",
    "she was running home",
    "parse_config raised ValueError in loadSettings()",
    'he said "now" AND left (early) NEAR the end*',
    "naïve café Straße",
    "an arrow → and a party 🎉",
)


NOTHING: set[int] = set()


def texts(hits: list[Hit]) -> set[str]:
    """Return the texts that were found."""
    return {TEXTS[hit.seq - 1] for hit in hits}


@pytest.fixture(scope="module", params=["index", "no index", "index of the first half"])
def searched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader[Note]]:
    """A reader of the texts, with the index as far as the parameter says."""
    folder, half = tmp_path_factory.mktemp("searched"), len(TEXTS) // 2
    path, index = folder / "journal.db", folder / "copied.search"
    for part in (TEXTS[:half], TEXTS[half:]):
        with Journal[Note].open(path, NoteCodec(), ticking()) as journal:
            journal.append(*[Said(text=text) for text in part]).result(BOUND_SECONDS)
            assert journal.await_index(BOUND_SECONDS)
        if request.param == ("index" if part == TEXTS[half:] else "index of the first half"):
            with sqlite3.connect(f"{path}.search") as source, sqlite3.connect(index) as target:
                source.backup(target)
            source.close()
            target.close()
    reader = Reader[Note](path, NoteCodec(), index=index)
    yield reader
    reader.close()


@pytest.mark.clause("JRN-3", "MEM-10")
@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("昨晚", {1, 2}),
        ("晚", {1, 2, 3}),
        ("晩", {4}),
        ("昨日の晩", {4}),
        ("東京タワー", {4}),
        ("it's", {5}),
        ("a/b.py", {6, 7}),
        ("user@host", {10}),
        ("книга", {12, 13}),
        ("КНИГИ", {12, 13}),
        ("читала", {12}),
        ("елка", {13}),
        ("run", {6, 14}),
        ("runs home", {14}),
        ("onfig", {15}),
        ("Settings", {15}),
        ("config onfig valueerror", {15}),
        ("onfig raise", {15}),
        ("load error", {15}),
        ('"now"', {16}),
        ("AND left", {16}),
        ("NEAR(the", {16}),
        ("(early)", {16}),
        ("end*", {16}),
        ("NOT here", NOTHING),
        ("cafe strasse", {17}),
        ("→", {18}),
        ("🎉", {18}),
        ("col:umn", NOTHING),
        ("a' OR '1'='1", NOTHING),
        ("{x} - y ^ z", NOTHING),
        ("^she", {14}),
        ("nowhere", NOTHING),
    ],
)
def test_plain_text_is_found_and_never_syntax(searched: Reader[Note], text: str, numbers: set[int]) -> None:
    """Words in their inflections, any script, identifiers, paths and parts of words."""
    assert texts(searched.search(text)) == {TEXTS[number - 1] for number in numbers}


@pytest.mark.clause("JRN-3")
@pytest.mark.parametrize(("text", "first"), [("a/b.py", 6), ("50%", 8), ("home", 14)])
def test_what_stands_there_as_it_was_typed_comes_first(searched: Reader[Note], text: str, first: int) -> None:
    """Of several matches, the literal one is the best."""
    assert searched.search(text)[0].seq == first


@pytest.mark.clause("JRN-3")
@pytest.mark.parametrize("text", ["", "  \n", '"', "%", "-> *", "x" * 2_000])
def test_a_text_with_nothing_to_look_for_is_an_error(searched: Reader[Note], text: str) -> None:
    """Who asks for nothing is told so, and does not get an empty answer."""
    with pytest.raises(SearchError):
        searched.search(text)


@pytest.mark.clause("JRN-3")
def test_hits_tell_where_they_stand(searched: Reader[Note]) -> None:
    """A hit carries sequence, time, turn, kind and the words around the match."""
    [hit] = searched.search("trousers")
    assert hit == Hit(seq=5, at_us=hit.at_us, turn="", kind="said", snippet="it's the wrong trousers")
    assert hit.at_us == searched.read(4, limit=1)[0].at_us


@pytest.mark.clause("JRN-3")
def test_time_order_and_paging_reach_every_match(searched: Reader[Note]) -> None:
    """By time on request, the newest first, each page below the last one."""
    pages: list[int] = []
    before: int | None = None
    while hits := searched.search("晚", limit=1, newest_first=True, before=before):
        before = hits[0].seq
        pages.append(before)
    assert pages == [3, 2, 1]


@pytest.mark.clause("JRN-3")
def test_a_snippet_shows_the_match_in_a_long_text(journal: Journal[Note]) -> None:
    """The words around the match are shown on one line, with an ellipsis where text was left out."""
    journal.append(Said(text="filler\n" * 500 + "the needle is here\n" + "filler\n" * 500)).result(BOUND_SECONDS)
    [hit] = journal.search("needles")
    assert "filler the needle is here filler" in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) < 300


@pytest.mark.clause("JRN-3")
def test_what_was_just_written_is_found_at_once(journal: Journal[Note]) -> None:
    """Search sees an event as soon as it is durable, however far the index is."""
    for number in range(200):
        seqs = journal.append(Said(text=f"event number{number}"), Did(tool="quiet")).result(BOUND_SECONDS)
        assert [hit.seq for hit in journal.search(f"number{number}")] == [seqs[0]]


@pytest.mark.clause("JRN-3")
def test_more_matches_than_are_ranked_are_found_by_time(journal: Journal[Note]) -> None:
    """With thousands of matches the newest are ranked and all are reached by time, without gaps."""
    journal.append(*[Said(text=f"common word {number}") for number in range(5_000)]).result(BOUND_SECONDS)
    assert journal.await_index(BOUND_SECONDS)
    assert len(journal.search("common", limit=50)) == 50
    seen: list[int] = []
    while hits := journal.search("commons", limit=1_000, newest_first=True, before=seen[-1] if seen else None):
        seen += [hit.seq for hit in hits]
    assert seen == list(range(5_000, 0, -1))


@pytest.mark.clause("JRN-3")
def test_a_damaged_index_is_an_error_then_made_anew(opened: Opener, path: Path) -> None:
    """Rubbish in the index fails the search by name; the next opening makes it again from the journal."""
    first = opened()
    first.append(*[Said(text=text) for text in TEXTS]).result(BOUND_SECONDS)
    assert first.await_index(BOUND_SECONDS)
    first.close()
    index = path.with_name("journal.db.search")
    for suffix in ("-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    index.write_bytes(b"rubbish " * 10_000)
    reader = Journal[Note].reader(path, NoteCodec())
    with pytest.raises(SearchError, match="damaged"):
        reader.search("昨晚")
    reader.close()
    second = opened()
    assert second.await_index(BOUND_SECONDS)
    assert texts(second.search("昨晚")) == {TEXTS[0], TEXTS[1]}


@pytest.mark.clause("JRN-3")
def test_an_index_of_another_journal_is_not_believed(opened: Opener, path: Path, tmp_path: Path) -> None:
    """A journal restored from elsewhere beside an old index is searched by itself, and its index is made anew."""
    first = opened()
    first.append(*[Said(text=f"old {number}") for number in range(10)]).result(BOUND_SECONDS)
    assert first.await_index(BOUND_SECONDS)
    first.close()
    shutil.move(path, tmp_path / "elsewhere.db")
    second = opened()
    second.append(*[Said(text=f"new {number}") for number in range(10)]).result(BOUND_SECONDS)
    assert texts_of(second.search("new")) == {f"new {number}" for number in range(10)}
    assert second.search("old") == []
    assert second.await_index(BOUND_SECONDS)
    assert second.search("old") == []
    assert texts_of(second.search("new")) == {f"new {number}" for number in range(10)}


def texts_of(hits: list[Hit]) -> set[str]:
    """Return the snippets of hits."""
    return {hit.snippet for hit in hits}


@pytest.mark.clause("JRN-3")
def test_an_event_that_cannot_be_decoded_makes_the_search_fail(opened: Opener, path: Path) -> None:
    """Nothing is left out in silence: the search names the event."""
    journal = opened()
    journal.append(Said(text="fine"), Said(text="spoilt")).result(BOUND_SECONDS)
    journal.close()
    with sqlite3.connect(path) as shell:
        shell.execute("DROP TRIGGER events_are_not_changed")
        shell.execute("UPDATE events SET kind = 'unheard_of' WHERE seq = 2")
    shell.close()
    reader = Reader[Note](path, NoteCodec(), index=path.with_name("none"))
    with pytest.raises(SearchError, match="event 2"):
        reader.search("fine")
    reader.close()
