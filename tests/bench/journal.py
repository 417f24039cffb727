"""What a durable event costs: the journal against raw fsynced commits of SQLite in the same run (turns.md, Speed).

`python -m tests.bench.journal [--json] [--seconds S] [--folder DIR]` prints a table and asserts nothing about time.
"""

import argparse
import asyncio
import json
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from memory.journal import Encoded, Journal

WRITERS: Final = 8
WORDS: Final = " ".join(f"word{n:02}" for n in range(30))


class Said(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="said"):
    """An event of thirty words."""

    turn: str
    text: str


class SaidCodec:
    """JSON by msgspec."""

    def __init__(self) -> None:
        self._decoder = msgspec.json.Decoder(Said)

    def encode(self, event: Said, /) -> Encoded:
        """Return the event as JSON."""
        return Encoded("said", event.turn, msgspec.json.encode(event))

    def decode(self, kind: str, body: bytes, /) -> Said:
        """Return the event."""
        assert kind == "said"
        return self._decoder.decode(body)

    def text(self, event: Said, /) -> str:
        """Return its words."""
        return event.text


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table."""

    what: str
    writers: int
    events_per_second: float
    p50_ms: float
    p99_ms: float
    ratio_to_floor: float


class Measured(msgspec.Struct, frozen=True):
    """What one way of writing gave."""

    seconds: float
    latencies: list[float]


def floor(path: Path, seconds: float) -> Measured:
    """Commit single rows with raw SQLite, one after the other: what the disk and SQLite alone take."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE raw (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        body = msgspec.json.encode(Said(turn="t", text=WORDS))
        return timed(lambda: db.execute("INSERT INTO raw (body) VALUES (?)", (body,)), seconds)


def timed(step: Callable[[], object], seconds: float) -> Measured:
    """Repeat `step` for some seconds."""
    latencies: list[float] = []
    began = now = time.perf_counter()
    while now - began < seconds:
        step()
        after = time.perf_counter()
        latencies.append(after - now)
        now = after
    return Measured(now - began, latencies)


def in_threads(journal: Journal[Said], writers: int, seconds: float) -> Measured:
    """Let threads append, each waiting for its event to be durable before the next."""
    return together(writers, lambda turn: timed(lambda: journal.append(event(turn)).result(), seconds))


def in_loops(journal: Journal[Said], writers: int, seconds: float) -> Measured:
    """Let asyncio loops, one a thread as lanes are, await appends one after the other."""

    async def work(turn: str) -> Measured:
        latencies: list[float] = []
        began = now = time.perf_counter()
        while now - began < seconds:
            await asyncio.wrap_future(journal.append(event(turn)))
            after = time.perf_counter()
            latencies.append(after - now)
            now = after
        return Measured(now - began, latencies)

    return together(writers, lambda turn: asyncio.run(work(turn)))


def event(turn: str) -> Said:
    """Return an event to write."""
    return Said(turn=turn, text=WORDS)


def together(writers: int, work: Callable[[str], Measured]) -> Measured:
    """Run `work` in as many threads and join what they measured."""
    results: list[Measured] = []

    def run(turn: str) -> None:
        results.append(work(turn))

    threads = [threading.Thread(target=run, args=(f"t{n}",)) for n in range(writers)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Measured(time.perf_counter() - began, [each for result in results for each in result.latencies])


@contextmanager
def a_journal(folder: Path, name: str) -> Generator[Journal[Said]]:
    """Open a fresh journal, and make sure afterwards that its chain holds."""
    with Journal[Said].open(folder / name / "journal.db", SaidCodec(), lambda: time.time_ns() // 1000) as journal:
        yield journal
        verdict = journal.verify()
        assert verdict.ok, verdict.detail


def row(what: str, writers: int, measured: Measured, floor_rate: float) -> Row:
    """Make a line of the table."""
    milliseconds = sorted(each * 1000 for each in measured.latencies)
    rate = len(milliseconds) / measured.seconds
    return Row(
        what=what,
        writers=writers,
        events_per_second=round(rate, 1),
        p50_ms=round(statistics.median(milliseconds), 3),
        p99_ms=round(milliseconds[int(len(milliseconds) * 0.99)], 3),
        ratio_to_floor=round(rate / floor_rate, 2) if floor_rate else 1.0,
    )


def measure(folder: Path, seconds: float) -> list[Row]:
    """Measure the floor and the journal in threads and in loops."""
    raw = floor(folder / "raw.db", seconds)
    rows = [row("floor: raw sqlite, one fsynced row a commit", 1, raw, 0.0)]
    floor_rate = rows[0].events_per_second
    for what, work in (("threads", in_threads), ("asyncio loops", in_loops)):
        for writers in (1, WRITERS):
            name = f"{what.replace(' ', '-')}-{writers}"
            (folder / name).mkdir()
            with a_journal(folder, name) as journal:
                rows.append(row(f"journal, {what}", writers, work(journal, writers, seconds), floor_rate))
    return rows


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.journal", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each line is measured")
    parser.add_argument("--folder", type=Path, help="where to write; default: the system's temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = measure(Path(folder), options.seconds)
    if options.json:
        print(json.dumps({"bench": "journal", "rows": msgspec.to_builtins(rows)}))
        return
    print(f"{'':46}{'writers':>8}{'events/s':>11}{'p50 ms':>9}{'p99 ms':>9}{'x floor':>9}")
    for each in rows:
        print(
            f"{each.what:46}{each.writers:>8}{each.events_per_second:>11,.0f}"
            f"{each.p50_ms:>9.3f}{each.p99_ms:>9.3f}{each.ratio_to_floor:>9.2f}",
        )


if __name__ == "__main__":
    main()
