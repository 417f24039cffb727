"""The doors of a group's chat lane: say, release, drop, stop, and what is taken up again (LANE-2, STOP-1, REC-1).

Called on the control door. `host.groups.floor` decides, `host.groups.runs` runs; this waits for the journal between
the two: what became of a message is acted on, and told, once it is durable; what the journal did not take is undone.
"""

import functools
from collections.abc import Callable
from typing import Final

import msgspec

from host.errors import AuditFailure, NotFound, ResourceBusy
from host.groups.current import STOPPED, SUPERSEDED, Current
from host.groups.floor import Decided, Floor, Posted
from host.groups.placing import AlreadySaid, TurnOver, found_again, placement_of, received_of, row_of
from host.groups.port import Placement, Say, Stopped
from host.groups.runs import Runner, Runs
from host.record.events import MessageReceived, StopRequested
from host.record.record import Record
from host.record.rows import MessageRow
from host.stops import Reason
from host.turn.ending import Verdict
from lanes.chat import Disposition
from lanes.errors import IllegalMove, QueueFull
from lanes.lane import Lane

LANE: Final = "chat"
STOPPED_PARKED: Final = Verdict(reason=Reason.INTERRUPTED, detail="stopped by a person while it was parked")


class Chat:
    """One group's chat lane."""

    def __init__(  # noqa: PLR0913 - its parts, and who hears of trouble
        self,
        record: Record,
        lane: Lane,
        run_turn: Runner,
        on_torn: Callable[[str], None],
        not_recorded: Callable[[str, str], None],
        *,
        try_again: Callable[[], None],
        queue_limit: int,
        fault: Callable[[str], None],
    ) -> None:
        """Take `run_turn`, which runs a turn, and who is told of trouble (`Runs`).

        `try_again` asks for `recover` to be called as soon as the journal may take events again.
        """
        self._record = record
        self._lane = lane
        self._try_again = try_again
        self._fault = fault
        self._runs = Runs(record, lane, run_turn, on_torn, not_recorded, self._over)
        self.floor = Floor(record, lane.name, queue_limit, self._runs.launch)

    @property
    def generation(self) -> int:
        """The lane's generation."""
        return self._lane.generation

    def restore(self) -> None:
        """Take up what the journal says was waiting or running when the last process ended (REC-1)."""
        begun = {row.message: row for row in self._record.open_turns()}
        found = [found_again(row, begun.get(row.id)) for row in self._record.open_messages()]
        parked = {row.turn for row in begun.values() if row.state == "parked"}
        rows = [row for row in found if row.turn not in parked or row.state != "running"]
        first = next((row for row in rows if row.state == "running"), None)
        self.floor.restore(first, [row for row in rows if row is not first])
        self.take_up_parked()

    async def say(self, say: Say, message: str) -> Placement:
        """Accept a message durably and place it; raise ResourceBusy (queue full), AlreadySaid or AuditFailure."""
        after_seq = self._record.journal.last_seq()
        decided = await self._place(row_of(message, say, self._record.now_us()), received_of(message, say))
        return placement_of(decided.placed, decided.turn, after_seq)

    async def place_again(self, row: MessageRow) -> Placement:
        """Place a message that was accepted before and did not get where it was to go."""
        after_seq = self._record.journal.last_seq()
        decided = await self._place(row)
        return placement_of(decided.placed, decided.turn, after_seq)

    async def release(self, message: str) -> Placement:
        """Let a held message go on; raise NotFound."""
        after_seq = self._record.journal.last_seq()
        try:
            decided = self.floor.release(message)
        except IllegalMove as error:
            raise NotFound(str(error)) from error
        try:
            await self._follow(decided)
        except AuditFailure:
            self.floor.put_back(decided.row, held=True)
            raise
        except TurnOver as error:
            raise NotFound(f"{message}: its turn {error} has ended") from error
        return placement_of(decided.placed, decided.turn, after_seq)

    async def drop(self, message: str, by: str) -> None:
        """Forget a message that waits, and end the turn that it has, if any; raise NotFound."""
        try:
            removed = self.floor.drop(message, f"dropped by {by}")
        except IllegalMove as error:
            raise NotFound(str(error)) from error
        try:
            await self._record.settled(removed.posted)
        except AuditFailure:
            self.floor.put_back(removed.row, held=removed.held)
            raise

    async def stop(self, *, all_lanes: bool, by: str) -> Stopped:
        """End the running turn and hold what waits; its final event is durable when this returns (STOP-1).

        Raises AuditFailure when that could not be recorded: the turn is broken off all the same.
        """
        asked = StopRequested(lane=LANE, all_lanes=all_lanes, by=by)
        current, held, posted = self.floor.stop(asked, STOPPED)
        if current is not None:
            await self._runs.bring_to_end(current, STOPPED)
        await self._record.settled(posted)
        return Stopped(turns=() if current is None else self._ended(current), held=held)

    async def stop_parked(self) -> tuple[str, ...]:
        """End the turns that wait for a person, answered or not; return those whose final event is durable."""
        ended: list[str] = []
        for row in self._record.open_turns():
            if row.state != "parked":
                continue
            match self.floor.end_parked(row, STOPPED_PARKED):
                case Current() as current:  # its answer came a moment ago
                    await self._runs.bring_to_end(current, STOPPED_PARKED)
                    ended += self._ended(current)
                case posted:
                    await self._record.settled(posted)
                    ended.append(row.turn)
        return tuple(ended)

    def halt(self) -> None:
        """Start nothing until `recover`: the journal could not take a final event (TURN-2)."""
        self.floor.halt()

    def drain(self) -> None:
        """Start nothing any more: the host is stopping (OPS-1)."""
        self.floor.drain()

    def recover(self) -> None:
        """The journal takes events again: go on."""
        self.floor.go_on()
        self.take_up_parked()

    def take_up_parked(self) -> None:
        """Queue the parked turns whose question has its answer, behind what people said meanwhile (APR-4).

        Called whenever an answer became durable, a turn ended, or the group was opened: who comes last finds both the
        answer and the parked turn, whatever their order. What does not fit the queue is taken up later.
        """
        for turn in self._record.answered_turns():
            message = self._record.message(turn.message)
            if message is None:
                continue
            try:
                decided = self.floor.place(msgspec.structs.replace(message, turn=turn.turn))
            except (QueueFull, IllegalMove):  # the latter: it waits or runs already
                continue
            decided.posted.add_done_callback(functools.partial(self._taken_up, decided))

    def _taken_up(self, decided: Decided, posted: Posted) -> None:
        if (error := posted.exception()) is not None:
            self.floor.take_back(decided.placed.message)
            if not isinstance(error, TurnOver):
                self._try_again()  # not here and now: on a full disk it would fail again and again
        elif decided.placed.disposition is Disposition.STARTED and decided.current is not None:
            self.floor.launch(decided.current)

    async def _place(self, row: MessageRow, received: MessageReceived | None = None) -> Decided:
        try:
            decided = self.floor.place(row, received)
        except QueueFull as error:
            raise ResourceBusy(str(error)) from error
        await self._follow(decided)
        return decided

    async def _follow(self, decided: Decided) -> None:
        """Wait until the placement is durable, then act on it; what the journal did not take was never accepted."""
        try:
            await self._record.settled(decided.posted)
        except (AuditFailure, AlreadySaid, TurnOver):
            if self.floor.take_back(decided.placed.message):
                self.take_up_parked()
            raise
        self._fault("message.accepted")
        if decided.current is None:
            return
        if decided.placed.disposition is Disposition.STARTED:
            self.floor.launch(decided.current)
        elif decided.placed.disposition is Disposition.INTERRUPTING:
            await self._runs.bring_to_end(decided.current, SUPERSEDED)

    def _ended(self, current: Current) -> tuple[str, ...]:
        """Return the turn if its final event is durable; raise AuditFailure when it still has to be entered."""
        row = self._record.turn(current.turn)
        if row is not None and row.state == "ended":
            return (current.turn,)
        if current.over.done() and (row is None or row.state == "parked"):
            return ()  # it never began, because its message was not taken; or it parked before it could be stopped
        message = (
            f"turn {current.turn} was told to stop, but its final event is not in the journal yet; it is entered as "
            "soon as the journal can be written: make room on the disk, then look with `elis events`"
        )
        raise AuditFailure(message)

    def _over(self, current: Current) -> None:
        """The turn is over, on whatever thread: let the next one begin."""
        self.floor.ended(current)
        self.take_up_parked()
