"""Final events that the journal could not take: told from memory, kept as files, entered exactly once (TURN-2)."""

import logging
from pathlib import Path
from typing import Final

import msgspec

from host.groups.drafts import Drafts
from host.groups.port import EventView
from host.groups.views import event_data, instant
from host.record.events import TurnEnded
from host.record.record import Record
from host.stops import Outcome, Reason
from host.turn.ending import Verdict, end_turn

_LOG: Final = logging.getLogger(__name__)


class _Copy(msgspec.Struct, frozen=True, kw_only=True):
    turn: str
    detail: str


class Unrecorded:
    """The final events of one group that wait for its journal."""

    def __init__(self, folder: Path, group: str, drafts: Drafts) -> None:
        self._folder = folder
        self._group = group
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
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file(turn).write_bytes(msgspec.json.encode(_Copy(turn=turn, detail=detail)))
        except OSError:
            _LOG.exception("the final event of turn %s can be kept in memory only", turn)
        seq, at = record.journal.last_seq(), instant(record.now_us())
        self._drafts.tell(EventView(seq=seq, at=at, turn=turn, kind="turn_ended", data=event_data(ended)))

    def enter(self, record: Record) -> None:
        """At start: enter what an earlier process could not."""
        for file in sorted(self._folder.glob(f"{self._group}-*.json")):
            copy = msgspec.json.decode(file.read_bytes(), type=_Copy)
            record.journal.commit(end_turn(copy.turn, _verdict(copy.detail))).result()
            file.unlink(missing_ok=True)

    async def enter_later(self, record: Record) -> None:
        """Enter what waits; raise AuditFailure while the journal still cannot take it."""
        for turn, detail in list(self._pending.items()):
            await record.commit(end_turn(turn, _verdict(detail)))
            self._file(turn).unlink(missing_ok=True)
            del self._pending[turn]

    def _file(self, turn: str) -> Path:
        return self._folder / f"{self._group}-{turn}.json"


def _verdict(detail: str) -> Verdict:
    return Verdict(reason=Reason.AUDIT_FAILURE, detail=detail)
