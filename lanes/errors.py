"""What can go wrong in a lane or its queue. The docstring of an error is its default message.

LaneError
├── StaleGeneration     the lane was replaced; whoever still holds the old token may do nothing more
├── LaneClosed          the lane takes no work any more
├── CalledFromInside    a lane's own thread asked to replace or close the lane
├── RunCancelled        a run was cancelled; says whether its coroutine had begun
├── RunAborted          a coroutine tried to end the interpreter; only its run ended
├── QueueFull           the bound of a queue is reached; nothing that was accepted is lost
└── IllegalMove         the queue is not in a state for this
    ├── NothingRunning  there is no running turn
    ├── TurnRunning     a turn is still running
    ├── AlreadyKnown    the message is running or waiting already
    ├── UnknownMessage  no such message waits
    └── NotHeld         the message waits, but is not held
"""


class LaneError(Exception):
    """Something unforeseen happened in a lane; please report it."""

    def __init__(self, message: str | None = None) -> None:
        """Take `message`, which says what to do next; without one the docstring speaks."""
        super().__init__(message or (type(self).__doc__ or "").strip())


class StaleGeneration(LaneError):
    """The lane was replaced; its old thread may do nothing more."""

    def __init__(self, lane: str, generation: int) -> None:
        """Take the lane's name and the generation that is stale."""
        super().__init__(f"lane {lane!r} was replaced; generation {generation} may do nothing more, end this work")
        self.lane = lane
        self.generation = generation


class LaneClosed(LaneError):
    """The lane takes no work any more."""

    def __init__(self, lane: str) -> None:
        """Take the lane's name."""
        super().__init__(f"lane {lane!r} is closed and takes no work any more; open a new one")
        self.lane = lane


class CalledFromInside(LaneError):
    """A lane's own thread cannot replace or close the lane."""

    def __init__(self, lane: str) -> None:
        """Take the lane's name."""
        super().__init__(f"lane {lane!r} cannot be replaced or closed from its own thread; ask another thread to do it")
        self.lane = lane


class RunCancelled(LaneError):
    """A run was cancelled."""

    def __init__(self, *, started: bool) -> None:
        """Take whether the coroutine had begun; if not, it did nothing at all and wrote no record of its end."""
        super().__init__("the run was cancelled" if started else "the run was cancelled before it began")
        self.started = started


class RunAborted(LaneError):
    """A coroutine tried to end the interpreter; only its run ended. The cause is attached."""


class QueueFull(LaneError):
    """The queue is full."""

    def __init__(self, limit: int) -> None:
        """Take the number of messages that may wait."""
        super().__init__(f"{limit} messages wait already, no more are taken; wait for some to end, or drop some")
        self.limit = limit


class IllegalMove(LaneError):
    """The queue is not in a state for this."""


class NothingRunning(IllegalMove):
    """No turn is running."""


class TurnRunning(IllegalMove):
    """A turn is still running; tell the queue that it has ended first."""


class _AboutMessage(IllegalMove):
    """The message is not in a state for this."""

    def __init__(self, message: str) -> None:
        """Take the message's id."""
        super().__init__(f"{message}: {(type(self).__doc__ or '').strip()}")
        self.message = message


class AlreadyKnown(_AboutMessage):
    """The message is running or waiting already; it is not taken twice."""


class UnknownMessage(_AboutMessage):
    """No such message waits; it may have started, been dropped or never come. List the queue to see what waits."""


class NotHeld(_AboutMessage):
    """The message is not held; it goes on by itself and needs no release."""
