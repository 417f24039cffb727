"""Final events that the journal could not take: told from memory, kept as files, entered exactly once (TURN-2)."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from host.groups.drafts import Drafts
from host.groups.port import EventView
from host.groups.views import event_data, instant
from host.record.events import GroupEvent, TurnEnded
from host.record.record import Record
from host.stops import Outcome, Reason
from host.turn.beginning import end_unbegun
from host.turn.ending import Verdict, end_turn
from memory.journal import Unit

_LOG: Final = logging.getLogger(__name__)


class _Copy(msgspec.Struct, frozen=True, kw_only=True):
    turn: str
    detail: str


class Unrecorded:
    """The final events of one group that wait for its journal."""

    def __init__(self, folder: Path, lane: str, drafts: Drafts) -> None:
        """Keep copies in `folder`, which is this group's alone."""
        self._folder = folder
        self._lane = lane
        self._drafts = drafts
        self._pending: dict[str, str] = {}

    @property
    def pending(self) -> bool:
        """Whether a final event still has to be entered."""
        return bool(self._pending)

    def keep(self, record: Record, turn: str, detail: str) -> None:
        """Tell whoever waits for `turn` how it ended, and keep a copy beside the journal."""
        self._pending[turn] = detail
        ended = TurnEnded(
            turn=turn,
            outcome=Outcome.FAILED,
            reason=Reason.AUDIT_FAILURE,
            detail=detail,
            reply="",
            tokens_in=0,
            tokens_out=0,
            tokens_cached=0,
            cost_usd=0.0,
            estimated=True,
            steps=0,
            seconds=0.0,
            done=(),
            failed=(),
            not_attempted=(),
            verified=False,
        )
        try:
            self._write(turn, msgspec.json.encode(_Copy(turn=turn, detail=detail)))
        except OSError:
            # The full disk that the journal met may be this one too. Without a copy the turn is resumed at a restart.
            _LOG.exception("the final event of turn %s can be kept in memory only", turn)
        seq, at = record.journal.last_seq(), instant(record.now_us())
        self._drafts.tell(EventView(seq=seq, at=at, turn=turn, kind="turn_ended", data=event_data(ended)))

    def enter(self, record: Record) -> None:
        """At start: enter what an earlier process could not."""
        for file in sorted(self._folder.glob("*.json")):
            try:
                copy = msgspec.json.decode(file.read_bytes(), type=_Copy)
            except msgspec.DecodeError:
                _LOG.exception("%s cannot be read; it is put aside, and its turn is resumed", file)
                file.rename(file.with_suffix(".unreadable"))
                continue
            record.journal.commit(_entering(record, self._lane, copy.turn, copy.detail)).result()
            file.unlink(missing_ok=True)

    async def enter_later(self, record: Record) -> None:
        """Enter what waits; raise AuditFailure while the journal still cannot take it."""
        for turn, detail in list(self._pending.items()):
            await record.commit(_entering(record, self._lane, turn, detail))
            self._entered(turn)

    def enter_pending(self, record: Record) -> None:
        """The same from a thread, which waits; raise JournalError or AuditFailure."""
        for turn, detail in list(self._pending.items()):
            record.journal.commit(_entering(record, self._lane, turn, detail)).result()
            self._entered(turn)

    def _entered(self, turn: str) -> None:
        self._file(turn).unlink(missing_ok=True)
        self._pending.pop(turn, None)

    def _write(self, turn: str, data: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._file(turn)
        fresh = file.with_suffix(".new")
        with fresh.open("wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        fresh.rename(file)

    def _file(self, turn: str) -> Path:
        return self._folder / f"{turn}.json"


def _entering(record: Record, lane: str, turn: str, detail: str) -> Callable[[Unit[GroupEvent]], tuple[int, bool]]:
    """Return the unit that enters a final event, also of a turn that never came to its start."""
    verdict = Verdict(reason=Reason.AUDIT_FAILURE, detail=detail)
    message = record.beginning_of(turn)
    return end_turn(turn, verdict) if message is None else end_unbegun(message, turn, lane, verdict)
