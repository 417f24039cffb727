"""The host's own journal on disk, with the panel's sessions in it."""

import itertools
from pathlib import Path

import pytest

from host.errors import ResourceBusy
from host.panel.sessions import LIFE_US, Sessions
from host.record.host_events import (
    HostEvent,
    HostStarted,
    HostStopped,
    SessionSeen,
    SignedIn,
    SignedOut,
    SignInFailed,
)
from host.record.host_record import HostJournal, HostMemory
from tests.integration.panel.conftest import now_us

EVENTS: tuple[HostEvent, ...] = (
    HostStarted(version="0.1.0", pid=1),
    SignedIn(session="s", address="127.0.0.1", agent="Chromium"),
    SessionSeen(session="s"),
    SignInFailed(address="127.0.0.1", how="link", count=2),
    SignedOut(session="s"),
    HostStopped(why="SIGTERM"),
)


@pytest.mark.clause("PAN-2")
async def test_a_browser_stays_signed_in_over_a_restart_of_the_host(tmp_path: Path) -> None:
    """What one process wrote, the next one reads: open sessions, and not those that were ended."""
    journal = HostJournal.open(tmp_path / "host.db", now_us)
    sessions = Sessions(journal, now_us)
    stays, gone = [await sessions.redeem(sessions.invite().code, address="::1", agent="a") for _ in range(2)]
    ended = sessions.recognise(gone)
    assert ended is not None
    await sessions.sign_out(ended)
    journal.close()
    journal = HostJournal.open(tmp_path / "host.db", now_us)
    sessions = Sessions(journal, now_us)
    await sessions.restore()
    assert sessions.recognise(stays) is not None
    assert sessions.recognise(gone) is None
    journal.close()
    assert stays.encode() not in _bytes_of(tmp_path)


def _bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.mark.clause("JRN-1")
async def test_every_event_of_the_host_comes_back_as_it_was(tmp_path: Path) -> None:
    """The codec loses nothing, and the chain verifies."""
    journal = HostJournal.open(tmp_path / "host.db", now_us)
    await journal.append(*EVENTS)
    assert tuple(entry.event for entry in await journal.since(0, [type(event) for event in EVENTS])) == EVENTS
    assert journal.journal.verify().ok
    journal.close()


@pytest.mark.parametrize("store", ["disk", "memory"])
async def test_events_are_found_by_kind_and_time_oldest_first(tmp_path: Path, store: str) -> None:
    """Disk and memory answer alike, also over more events than one page holds."""
    times = itertools.count(1)
    clock = lambda: next(times)  # noqa: E731 - a clock that goes on by one at each look
    record = HostJournal.open(tmp_path / "host.db", clock) if store == "disk" else HostMemory(clock)
    for first in range(0, 1200, 20):
        await record.append(SignInFailed(address="", how="link", count=1))
        await record.append(*(SignedIn(session=str(first + n), address="", agent="") for n in range(20)))
    everything = await record.since(0, (SignedIn,))
    assert [entry.event for entry in everything] == [
        SignedIn(session=str(n), address="", agent="") for n in range(1200)
    ]
    late = await record.since(everything[700].at_us, (SignedIn,))
    assert late == everything[700:]
    assert await record.since(LIFE_US, (SignedIn,)) == []
    if isinstance(record, HostJournal):
        record.close()


async def test_a_second_host_on_the_same_journal_is_refused(tmp_path: Path) -> None:
    """Two hosts cannot write one journal."""
    journal = HostJournal.open(tmp_path / "host.db", now_us)
    with pytest.raises(ResourceBusy):
        HostJournal.open(tmp_path / "host.db", now_us, wait_seconds=0.05)
    journal.close()
