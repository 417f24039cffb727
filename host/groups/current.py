"""The turn that has the chat lane, from the decision that it begins until the lane is free again."""

import concurrent.futures
from typing import Final

from host.record.rows import MessageRow
from host.stops import Reason
from host.turn.ending import Verdict
from lanes.lane import Run

STOPPED: Final = Verdict(reason=Reason.INTERRUPTED, detail="stopped by a person")
SUPERSEDED: Final = Verdict(reason=Reason.INTERRUPTED, detail="a message with priority now came first")


class Current:
    """The turn that runs, or is about to."""

    def __init__(self, message: MessageRow, turn: str) -> None:
        self.message = message
        self.turn = turn
        self.run: Run | None = None  # None until its message is durable
        self.due = False  # its message is durable: only a group that is halted keeps it from running
        self.stopped: Verdict | None = None  # why it must not begin any more
        self.taken: list[MessageRow] = []  # what was steered into it and handed over
        self.over: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.over.set_running_or_notify_cancel()

    @property
    def waits(self) -> bool:
        """Whether it could run and does not, because the group is halted."""
        return self.due and self.run is None

    def leave(self) -> None:
        """Tell whoever waits that the lane is free of this turn."""
        if not self.over.done():
            self.over.set_result(None)
