"""How the chat lane's turns begin on its thread, and come to an end whatever they do there (STOP-2).

`host.groups.floor` says whose turn it is and when; `lanes.lane` owns the thread; the runner runs the turn. This sees
to it that each turn gets its one final event.
"""

import asyncio
import concurrent.futures
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from host.errors import AuditFailure
from host.groups.current import STOPPED, Current
from host.record.record import Record
from host.record.rows import MessageRow
from host.stops import Reason
from host.turn.beginning import end_unbegun
from host.turn.ending import Verdict
from lanes.errors import LaneClosed, RunCancelled, StaleGeneration
from lanes.events import LaneReplaced
from lanes.lane import Lane, Run, Token

_LOG: Final = logging.getLogger(__name__)

GRACE_SECONDS: Final = 0.025  # STOP-2: then control itself ends the turn and replaces the lane
UNBEGUN_SECONDS: Final = 10.0  # a Stop waits so long for a message that is on its way into the journal


class Runner(Protocol):
    """Runs one turn to its final event, or until it parks."""

    def __call__(self, message: MessageRow, turn: str, token: Token) -> Coroutine[Any, Any, None]:
        """Return the coroutine; it runs on the lane's thread."""
        ...


class Runs:
    """The runs of one group's chat lane."""

    def __init__(
        self,
        record: Record,
        lane: Lane,
        run_turn: Runner,
        on_torn: Callable[[str], None],
        not_recorded: Callable[[str, str], None],
        on_over: Callable[[Current], None],
    ) -> None:
        """Take `run_turn`, which runs a turn, and who is told of its end.

        `on_torn` hears of a turn whose thread had to be abandoned, `not_recorded` of one whose final event the journal
        could not take, with the detail, `on_over` of every turn that is over, on whatever thread that happens.
        """
        self._record = record
        self._lane = lane
        self._run_turn = run_turn
        self._on_torn = on_torn
        self._not_recorded = not_recorded
        self._on_over = on_over

    def launch(self, current: Current) -> None:
        """Start the run of a turn that has none, on the lane; one that was stopped meanwhile ends without it."""
        if current.stopped is not None:
            self._end_unbegun(current, current.stopped)
            return

        def work(token: Token) -> Coroutine[Any, Any, None]:
            return self._run_turn(current.message, current.turn, token)

        try:
            current.run = self._lane.start(work, current.turn)
        except LaneClosed:
            _LOG.info("turn %s waits for the next start of the group", current.turn)
            return
        current.run.done.add_done_callback(lambda done: self._done(current, done))

    async def bring_to_end(self, current: Current, verdict: Verdict) -> None:
        """Cancel the turn; one that does not end in time is ended here, and its lane replaced (STOP-2)."""
        over = asyncio.wrap_future(current.over)
        if current.run is not None:
            current.run.cancel()
        elif current.due:  # the group is halted: there is nothing to cancel, and nobody else ends it
            self._end_unbegun(current, verdict)
        await asyncio.wait({over}, timeout=GRACE_SECONDS if current.run is not None else UNBEGUN_SECONDS)
        if not over.done() and current.run is not None:
            await self._tear(current, current.run, verdict)

    def _done(self, current: Current, done: "concurrent.futures.Future[None]") -> None:
        """The run has ended, on the lane's thread; one whose lane was replaced is `_tear`'s to finish."""
        match done.exception():
            case None:
                self._on_over(current)
            case StaleGeneration():
                pass
            case RunCancelled(started=False):
                self._end_unbegun(current, current.stopped or STOPPED)
            case error:
                _LOG.error("turn %s broke out of its loop", current.turn, exc_info=error)
                detail = f"{type(error).__name__}: {error}"
                self._end_unbegun(current, Verdict(reason=Reason.UNKNOWN, detail=detail))

    def _end_unbegun(self, current: Current, verdict: Verdict) -> None:
        unit = end_unbegun(current.message, current.turn, self._lane.name, verdict)

        def told(ended: "concurrent.futures.Future[tuple[int, bool]]") -> None:
            if (error := ended.exception()) is not None:
                self._not_recorded(current.turn, str(error))
            self._on_over(current)

        self._record.journal.commit(unit).add_done_callback(told)

    async def _tear(self, current: Current, run: Run, verdict: Verdict) -> None:
        lane = self._lane.name
        generation = self._lane.replace(run.token.generation)
        self._on_torn(current.turn)
        try:
            await self._record.commit(end_unbegun(current.message, current.turn, lane, verdict))
            replaced = LaneReplaced(turn=current.turn, lane=lane, generation=generation, why="did not end in time")
            await self._record.append(replaced)
        except AuditFailure as error:
            self._not_recorded(current.turn, error.message)
        finally:
            self._on_over(current)
