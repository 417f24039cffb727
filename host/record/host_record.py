"""The host's own journal, host.db, in the host's words; and the same in memory for hosts that keep nothing.

Above it are the panel and the composition root, below it the journal store, whose errors are translated here.
"""

import asyncio
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, Protocol, cast

import msgspec

from host.errors import AuditFailure, ResourceBusy
from host.record.host_events import HostEvent, HostStarted, HostStopped, SessionSeen, SignedIn, SignedOut, SignInFailed
from memory.errors import JournalBusy, JournalError
from memory.journal import Encoded, Journal

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[HostEvent]] = msgspec.msgpack.Decoder(HostEvent)
_PAGE: Final = 500


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An event and when it was written."""

    at_us: int  # microseconds since 1970, UTC
    event: HostEvent


class HostRecord(Protocol):
    """What happened to the host, in order."""

    async def append(self, *events: HostEvent) -> None:
        """Append `events` together; they are durable when this returns. Raises AuditFailure."""
        ...

    async def since(self, at_us: int, kinds: Collection[type[HostEvent]]) -> list[Entry]:
        """Return the events of `kinds` written at `at_us` or later, oldest first."""
        ...


class HostJournal:
    """The record on disk."""

    def __init__(self, journal: Journal[HostEvent]) -> None:
        self.journal = journal

    @classmethod
    def open(cls, path: Path, now_us: Callable[[], int], *, wait_seconds: float = 10.0) -> "HostJournal":
        """Open the journal at `path` as its one writer; raise ResourceBusy or AuditFailure."""
        try:
            journal = Journal[HostEvent].open(path, HostCodec(), now_us, wait_seconds=wait_seconds)
        except JournalBusy as error:
            raise ResourceBusy(str(error)) from error
        except JournalError as error:
            raise AuditFailure(str(error)) from error
        return cls(journal)

    def close(self) -> None:
        """Finish what was accepted and let go of the file."""
        self.journal.close()

    async def append(self, *events: HostEvent) -> None:
        """Append `events` together; they are durable when this returns. Raises AuditFailure."""
        try:
            # Shielded: what was handed over is written whatever becomes of its caller.
            await asyncio.shield(asyncio.wrap_future(self.journal.append(*events)))
        except JournalError as error:
            raise AuditFailure(str(error)) from error

    async def since(self, at_us: int, kinds: Collection[type[HostEvent]]) -> list[Entry]:
        """Return the events of `kinds` written at `at_us` or later, oldest first. Raises AuditFailure."""
        try:
            return await asyncio.to_thread(self._since, at_us, {kind_of(kind) for kind in kinds})
        except JournalError as error:
            raise AuditFailure(str(error)) from error

    def _since(self, at_us: int, kinds: set[str]) -> list[Entry]:
        newest_first: list[Entry] = []
        before: int | None = None
        while page := self.journal.read(limit=_PAGE, kinds=kinds, newest_first=True, before=before):
            before = page[-1].seq
            newest_first += [Entry(at_us=row.at_us, event=row.event) for row in page if row.at_us >= at_us]
            if page[-1].at_us < at_us:
                break
        return newest_first[::-1]


class HostMemory:
    """The record of a host that keeps nothing: for tests and for trying things out."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self.entries: list[Entry] = []

    async def append(self, *events: HostEvent) -> None:
        """Append `events`."""
        self.entries += [Entry(at_us=self._now_us(), event=event) for event in events]

    async def since(self, at_us: int, kinds: Collection[type[HostEvent]]) -> list[Entry]:
        """Return the events of `kinds` written at `at_us` or later, oldest first."""
        return [entry for entry in self.entries if entry.at_us >= at_us and isinstance(entry.event, tuple(kinds))]


class HostCodec:
    """Encodes the host's events."""

    def encode(self, event: HostEvent) -> Encoded:
        """Return kind, turn (none) and bytes of `event`."""
        return Encoded(kind=kind_of(type(event)), turn="", body=_ENCODER.encode(event))

    def decode(self, kind: str, body: bytes) -> HostEvent:
        """Return the event; raises msgspec.DecodeError when `body` is none of ours."""
        del kind  # the tag stands in the body
        return _DECODER.decode(body)

    def text(self, event: HostEvent) -> str:
        """Return what a search finds of `event`."""
        match event:
            case SignedIn(address=address, agent=agent):
                return f"{address} {agent}"
            case SignInFailed(address=address):
                return address
            case HostStopped(why=why):
                return why
            case HostStarted() | SessionSeen() | SignedOut():
                return ""


def kind_of(event: type[HostEvent]) -> str:
    """Return the tag of a kind of event."""
    return cast("str", event.__struct_config__.tag)
