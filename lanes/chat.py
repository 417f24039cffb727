"""The chat lane's queue: which message runs, which enters the running turn, which waits (LANE-2, LANE-3, STOP-1).

Above it stands the group, which runs the turns and journals what this answers; below it `lanes.mailbox`. Pure: the
time is passed in, nothing blocks, and whoever owns it serialises access, for it has no lock. It knows message ids;
it refuses to know turns' contents, threads and the journal.
"""

import enum
from collections.abc import Iterable

import msgspec

from lanes.errors import AlreadyKnown, NotHeld, NothingRunning, QueueFull, TurnRunning
from lanes.mailbox import LIMIT, Entry, Mailbox, Priority


class Disposition(enum.StrEnum):
    """What became of a message; each gets exactly one when it is offered (LANE-2)."""

    STARTED = "started"
    """A turn begins with it."""

    STEERED = "steered"
    """It enters the running turn before its next inference."""

    QUEUED = "queued"
    """It waits."""

    INTERRUPTING = "interrupting"
    """The running turn must end; then this one starts."""

    HELD = "held"
    """A Stop came before it began; it waits for a person's word. Never the answer to an offer."""


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """The one visible disposition of a message."""

    message: str
    disposition: Disposition
    position: int = 0  # counted from 1; 0 unless it is queued


class Phase(enum.StrEnum):
    """Where the running turn stands."""

    OPEN = "open"
    """It goes on, and takes steered messages."""

    ENDING = "ending"
    """It has made its last inference, or was stopped; nothing can enter it any more."""

    INTERRUPTED = "interrupted"
    """A message with `now` waits for its end; nothing can enter it any more."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was accepted and has neither started nor entered a turn, as the records tell after a restart."""

    message: str
    priority: Priority
    at_us: int  # when it was accepted, microseconds since 1970, UTC
    held: bool = False
    unattended: bool = False  # whether nobody watches what comes of it


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A message that waits, as people see it."""

    message: str
    priority: Priority
    disposition: Disposition  # queued, held or steered
    position: int  # in its own list, counted from 1
    at_us: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The queue at a glance."""

    running: str | None  # the message whose turn runs
    phase: Phase | None  # None when nothing runs
    steered: tuple[Waiting, ...]  # promised to the running turn and not yet taken by it
    queued: tuple[Waiting, ...]  # in the order in which they would start
    held: tuple[Waiting, ...]  # in order of acceptance


class ChatQueue:
    """One running turn, its inbox, and what waits. Times are microseconds since 1970, UTC.

    Whenever a turn's inbox is open, every `turn` message of its kind is in it, also those that were queued before it
    began: so none that comes later can overtake one that came earlier. There are two kinds, attended and unattended:
    in a turn of the other kind a person would wait for nobody, or an unwatched message for a person (APR-4), so there
    a message waits. Held messages do nothing until they are released.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        """Let `limit` messages wait: queued, held and steered ones together."""
        self._limit = limit
        self._mailbox = Mailbox(limit)
        self._inbox: list[Entry] = []
        self._running: str | None = None
        self._unattended = False  # the kind of the running turn
        self._phase = Phase.OPEN

    @classmethod
    def restore(
        cls,
        running: str | None,
        kept: Iterable[Kept],
        now_us: int,
        limit: int = LIMIT,
        *,
        unattended: bool = False,
    ) -> "ChatQueue":
        """Return the queue as it was: the message of the unfinished turn, if any, and `kept` in order of acceptance.

        `unattended` is the kind of the unfinished turn.

        A steered message that the turn had not taken is kept like any other. Nothing starts: with a turn running,
        look at `interrupted`, for a `now` may wait for its end; without one, call `start_next`. More than `limit` are
        accepted here, as they were before.
        """
        queue = cls(limit)
        for message in kept:
            if message.message == running:
                raise AlreadyKnown(message.message)
            queue._insert(message, now_us)
        if running is not None:
            interrupted = bool(queue._mailbox.waits(Priority.NOW))
            queue._begin(running, interrupted=interrupted, unattended=unattended)
        return queue

    @property
    def running(self) -> str | None:
        """The message whose turn runs."""
        return self._running

    @property
    def interrupted(self) -> bool:
        """Whether the running turn must be ended because a `now` waits. Look after an offer, an end and a restore."""
        return self._running is not None and self._phase is Phase.INTERRUPTED

    def offer(self, message: str, priority: Priority, now_us: int, *, unattended: bool = False) -> Placed:
        """Accept a message and say what becomes of it; raise QueueFull or AlreadyKnown, which change nothing."""
        if message == self._running or message in self._mailbox or self._is_steered(message):
            raise AlreadyKnown(message)
        entry = self._mailbox.entry(message, priority, now_us, now_us, unattended=unattended)
        if self._is_idle():
            self._begin(message, interrupted=False, unattended=unattended)
            return Placed(message=message, disposition=Disposition.STARTED)
        if len(self._mailbox) + len(self._inbox) >= self._limit:
            raise QueueFull(self._limit)
        self._mailbox.insert(entry)
        return self._place(entry, now_us)

    def take_steered(self) -> tuple[str, ...]:
        """Hand over what was steered, in order; from here on it belongs to the turn. Raise NothingRunning.

        A turn that was interrupted or is ending gets nothing: what it did not take waits for the next one.
        """
        self._require_running()
        if self._phase is not Phase.OPEN:
            return ()
        taken = tuple(entry.message for entry in self._inbox)
        self._inbox.clear()
        return taken

    def close_inbox(self) -> bool:
        """Ask to end the turn: True when nothing was steered that it has not taken, and from then on nothing is.

        False: take what was steered and go on. Raise NothingRunning.
        """
        self._require_running()
        if self._phase is Phase.OPEN and not self._inbox:
            self._phase = Phase.ENDING
        return self._phase is not Phase.OPEN

    def seal_inbox(self) -> None:
        """Note that the running turn ends whatever was steered: nothing more enters it. Raise NothingRunning.

        What it has not taken waits again once `ended` is told.
        """
        self._require_running()
        if self._phase is Phase.OPEN:
            self._phase = Phase.ENDING

    def ended(self, now_us: int) -> str | None:
        """Note the running turn's end and start the next: return its message, or None; raise NothingRunning."""
        self.left()
        return self.start_next(now_us)

    def left(self) -> None:
        """Note the running turn's end and start nothing; raise NothingRunning.

        What was steered and not taken waits again at its old place.
        """
        self._require_running()
        self._running = None
        for entry in self._inbox:
            self._mailbox.insert(entry)
        self._inbox.clear()

    def start_next(self, now_us: int) -> str | None:
        """Start what waits longest by the rules of the mailbox: return its message, or None; raise TurnRunning."""
        if self._running is not None:
            raise TurnRunning
        entry = self._mailbox.take(now_us)
        if entry is None:
            return None
        # A turn that goes before a waiting `now`, so as not to starve, is not interrupted by that one.
        interrupted = entry.priority is Priority.NOW and bool(self._mailbox.waits(Priority.NOW))
        self._begin(entry.message, interrupted=interrupted, unattended=entry.unattended)
        return entry.message

    def stopped(self, now_us: int) -> tuple[str, ...]:
        """Note a Stop: hold all that waits or was steered and not taken, and return it in the order it would have run.

        The running turn, if any, takes nothing more; tell its end by `ended`.
        """
        steered, self._inbox = self._inbox, []
        queued = self._mailbox.in_order(now_us)
        for entry in queued:
            self._mailbox.hold(entry.message)
        for entry in steered:
            self._mailbox.insert(entry, held=True)
        self._phase = Phase.ENDING
        return tuple(entry.message for entry in (*steered, *queued))

    def release(self, message: str, now_us: int) -> Placed:
        """Let a held message go on, before younger ones of its priority; raise UnknownMessage or NotHeld."""
        if self._is_steered(message):
            raise NotHeld(message)
        self._mailbox.release(message)
        entry = self._mailbox.remove(message)
        if self._is_idle():
            self._begin(message, interrupted=False, unattended=entry.unattended)
            return Placed(message=message, disposition=Disposition.STARTED)
        self._mailbox.insert(entry)
        return self._place(entry, now_us)

    def drop(self, message: str) -> None:
        """Forget a message that is queued, held or steered and not taken; raise UnknownMessage."""
        for entry in self._inbox:
            if entry.message == message:
                self._inbox.remove(entry)
                return
        self._mailbox.remove(message)

    def put_back(self, kept: Kept, now_us: int) -> None:
        """Let a message wait again whose going could not be recorded; the bound does not apply. Raise AlreadyKnown.

        Look at `interrupted` after it, and call `start_next` when nothing runs.
        """
        if kept.message == self._running or self._is_steered(kept.message):
            raise AlreadyKnown(kept.message)
        entry = self._insert(kept, now_us)
        if self._running is not None and not kept.held:
            self._place(entry, now_us)

    def snapshot(self, now_us: int) -> Snapshot:
        """Return the queue at a glance."""
        return Snapshot(
            running=self._running,
            phase=None if self._running is None else self._phase,
            steered=_listed(self._inbox, Disposition.STEERED),
            queued=_listed(self._mailbox.in_order(now_us), Disposition.QUEUED),
            held=_listed(self._mailbox.held, Disposition.HELD),
        )

    def _is_idle(self) -> bool:
        """Whether a message may start at once: nothing runs, and nothing waits that would go first."""
        return self._running is None and len(self._mailbox) == len(self._mailbox.held)

    def _is_steered(self, message: str) -> bool:
        return any(entry.message == message for entry in self._inbox)

    def _require_running(self) -> None:
        if self._running is None:
            raise NothingRunning

    def _insert(self, kept: Kept, now_us: int) -> Entry:
        """Put a message into the mailbox that was accepted before."""
        entry = self._mailbox.entry(kept.message, kept.priority, kept.at_us, now_us, unattended=kept.unattended)
        self._mailbox.insert(entry, held=kept.held)
        return entry

    def _begin(self, message: str, *, interrupted: bool, unattended: bool) -> None:
        self._running = message
        self._unattended = unattended
        self._phase = Phase.INTERRUPTED if interrupted else Phase.OPEN
        self._fill_inbox()

    def _fill_inbox(self) -> None:
        """Steer what is to be steered into the running turn, in order of acceptance."""
        if self._phase is not Phase.OPEN:
            return
        for entry in self._mailbox.waits(Priority.TURN):
            if entry.unattended is self._unattended:
                self._inbox.append(self._mailbox.remove(entry.message))
        self._inbox.sort(key=lambda entry: entry.order)

    def _place(self, entry: Entry, now_us: int) -> Placed:
        """Say what becomes of an entry that was just put into the mailbox while it cannot start."""
        if self._running is not None:
            if entry.priority is Priority.NOW:
                self._phase = Phase.INTERRUPTED
                return Placed(message=entry.message, disposition=Disposition.INTERRUPTING)
            self._fill_inbox()
            if entry in self._inbox:
                return Placed(message=entry.message, disposition=Disposition.STEERED)
        position = self._mailbox.in_order(now_us).index(entry) + 1
        return Placed(message=entry.message, disposition=Disposition.QUEUED, position=position)


def _listed(entries: Iterable[Entry], disposition: Disposition) -> tuple[Waiting, ...]:
    """Return the entries as people see them, numbered from 1."""
    return tuple(
        Waiting(
            message=entry.message,
            priority=entry.priority,
            disposition=disposition,
            position=position,
            at_us=entry.at_us,
        )
        for position, entry in enumerate(entries, start=1)
    )
