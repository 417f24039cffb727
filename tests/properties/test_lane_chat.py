"""ChatQueue against plain records: order, bound, one disposition, nothing lost, nothing starts unasked."""

from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lanes.chat import ChatQueue, Disposition, Kept, Phase, Placed
from lanes.errors import NotHeld, QueueFull, UnknownMessage
from lanes.mailbox import NOW_IN_A_ROW, Priority

LIMIT = 6  # small, so that the bound is reached often


@dataclass
class Entry:
    """What the records say of one accepted message."""

    number: int
    priority: Priority
    at_us: int
    unattended: bool
    state: str  # waiting | held | running | entered | ended | dropped


class ChatMachine(RuleBasedStateMachine):
    """The records are kept here from what the queue answers, as the journal does; the queue may be lost at any time."""

    def __init__(self) -> None:
        """Begin with an empty queue."""
        super().__init__()
        self.queue = ChatQueue(LIMIT)
        self.now_us = 1_000_000_000
        self.records: dict[str, Entry] = {}
        self.dispositions: dict[str, list[Disposition]] = {}
        self.open = True  # whether the running turn may still be steered
        self.now_streak = 0

    def next_number(self) -> int:
        """Return a number larger than every message's."""
        return max((entry.number for entry in self.records.values()), default=-1) + 1

    def of(self, *states: str) -> list[str]:
        """Return the ids in these states, in order of acceptance."""
        return [message for message, entry in self.records.items() if entry.state in states]

    def running(self) -> str | None:
        """Return the running one by the records."""
        return next(iter(self.of("running")), None)

    def steered(self) -> list[str]:
        """Return those that an open inbox must hold: every waiting `turn` of the running one's kind, no other."""
        running = self.running()
        if running is None or not self.open:
            return []
        kind = self.records[running].unattended
        of_kind = [m for m in self.of("waiting") if self.records[m].unattended is kind]
        return [m for m in of_kind if self.records[m].priority is Priority.TURN]

    def begin(self, message: str | None) -> None:
        """Note what the queue started, after checking that it was its turn."""
        waiting = self.of("waiting")
        if message is None:
            assert waiting == [], "something waits and nothing started"
            return
        assert self.records[message].state == "waiting", "something started that did not wait"
        priority = self.records[message].priority
        assert message == next(m for m in waiting if self.records[m].priority is priority), "not first of its priority"
        others = [m for m in waiting if self.records[m].priority is not Priority.NOW]
        if len(others) < len(waiting) and priority is not Priority.NOW:
            assert self.now_streak == NOW_IN_A_ROW, "a `now` waits and something else started"
        self.now_streak = self.now_streak + 1 if priority is Priority.NOW and others else 0
        self.records[message].state = "running"
        self.open = not self.queue.interrupted

    def note(self, placed: Placed, priority: Priority) -> None:
        """Check a disposition against the records, and follow it."""
        busy = self.running() is not None
        others = [m for m in self.of("waiting") if m != placed.message]
        match placed.disposition:
            case Disposition.STARTED:
                assert not busy
                assert not others
                self.records[placed.message].state = "running"
                self.open = True
            case Disposition.STEERED:
                assert busy
                assert self.open
                assert priority is Priority.TURN
                running = self.running()
                assert running is not None
                assert self.records[placed.message].unattended is self.records[running].unattended
            case Disposition.INTERRUPTING:
                assert busy
                assert priority is Priority.NOW
                assert self.queue.interrupted
                self.open = False
            case Disposition.QUEUED:
                assert priority is not Priority.NOW or not busy
                assert placed.message not in self.steered(), "it could have been steered"
                queued = self.queue.snapshot(self.now_us).queued
                assert queued[placed.position - 1].message == placed.message
            case Disposition.HELD:
                pytest.fail("held is no answer to an offer")

    @rule(priority=st.sampled_from(list(Priority)), unattended=st.booleans())
    def offer(self, priority: Priority, *, unattended: bool) -> None:
        """Somebody says something."""
        number = self.next_number()
        message = f"m{number}"
        full = len(self.of("waiting", "held")) >= LIMIT
        starts = self.running() is None and not self.of("waiting")
        try:
            placed = self.queue.offer(message, priority, self.now_us, unattended=unattended)
        except QueueFull:
            assert full
            assert not starts
            return
        assert starts or not full
        self.records[message] = Entry(number, priority, self.now_us, unattended, "waiting")
        self.dispositions.setdefault(message, []).append(placed.disposition)
        self.note(placed, priority)

    @rule(seconds=st.integers(-100, 1000))
    def time_passes(self, seconds: int) -> None:
        """The clock goes on, or is set back."""
        self.now_us += seconds * 1_000_000

    @precondition(lambda self: self.running() is not None)
    @rule()
    def take(self) -> None:
        """The turn takes what was steered before an inference."""
        steered = self.steered()
        assert list(self.queue.take_steered()) == steered
        for message in steered:
            self.records[message].state = "entered"

    @precondition(lambda self: self.running() is not None)
    @rule()
    def close(self) -> None:
        """The turn has made its last inference."""
        promised = bool(self.steered())
        assert self.queue.close_inbox() is not promised
        self.open = self.open and promised

    @precondition(lambda self: self.running() is not None)
    @rule()
    def seal(self) -> None:
        """The turn must end whatever waits."""
        self.queue.seal_inbox()
        self.open = False

    @precondition(lambda self: self.running() is not None)
    @rule()
    def end(self) -> None:
        """The turn ends, in whatever way."""
        running = self.running()
        assert running is not None
        self.records[running].state = "ended"
        self.begin(self.queue.ended(self.now_us))

    @precondition(lambda self: self.running() is not None)
    @rule()
    def end_halted(self) -> None:
        """The turn ends while nothing may start."""
        running = self.running()
        assert running is not None
        self.records[running].state = "ended"
        self.queue.left()

    @precondition(lambda self: self.running() is None)
    @rule()
    def go_on(self) -> None:
        """Turns may start again."""
        self.begin(self.queue.start_next(self.now_us))

    @precondition(lambda self: self.of("waiting", "held"))
    @rule(data=st.data())
    def drop_in_vain(self, data: st.DataObject) -> None:
        """A person drops a message, and that cannot be recorded: it waits again, behind the others."""
        message = data.draw(st.sampled_from(self.of("waiting", "held")))
        entry = self.records[message]
        self.queue.drop(message)
        held = entry.state == "held"
        kept = Kept(message=message, priority=entry.priority, at_us=entry.at_us, held=held, unattended=entry.unattended)
        self.queue.put_back(kept, self.now_us)
        entry.number = self.next_number()
        self.records[message] = self.records.pop(message)
        self.open = self.open and not self.queue.interrupted

    @rule()
    def stop(self) -> None:
        """A person stops the chat."""
        held = self.queue.stopped(self.now_us)
        assert sorted(held) == sorted(self.of("waiting"))
        for message in held:
            self.records[message].state = "held"
        self.open = False

    @precondition(lambda self: self.records)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """A person lets a message go on, held or not."""
        message = data.draw(st.sampled_from(list(self.records)))
        entry = self.records[message]
        try:
            placed = self.queue.release(message, self.now_us)
        except NotHeld:
            assert entry.state == "waiting"
        except UnknownMessage:
            assert entry.state not in {"waiting", "held"}
        else:
            assert entry.state == "held"
            entry.state = "waiting"
            self.note(placed, entry.priority)

    @precondition(lambda self: self.records)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        """A person drops a message."""
        message = data.draw(st.sampled_from(list(self.records)))
        waits = self.records[message].state in {"waiting", "held"}
        try:
            self.queue.drop(message)
        except UnknownMessage:
            assert not waits
        else:
            assert waits
            self.records[message].state = "dropped"

    @rule()
    def restart(self) -> None:
        """The process dies; a new queue is made from the records."""
        kept = [
            Kept(message=m, priority=e.priority, at_us=e.at_us, held=e.state == "held", unattended=e.unattended)
            for m, e in self.records.items()
            if e.state in {"waiting", "held"}
        ]
        running = self.running()
        unattended = running is not None and self.records[running].unattended
        self.queue = ChatQueue.restore(running, kept, self.now_us, LIMIT, unattended=unattended)
        self.now_streak = 0
        assert self.queue.running == running
        if running is None:
            self.begin(self.queue.start_next(self.now_us))
        else:
            now_waits = any(self.records[m].priority is Priority.NOW for m in self.of("waiting"))
            assert self.queue.interrupted is now_waits
            self.open = not now_waits

    @invariant()
    def the_queue_and_the_records_agree(self) -> None:
        """Every accepted message is in exactly the one place that the records say."""
        snapshot = self.queue.snapshot(self.now_us)
        waiting = [w.message for w in (*snapshot.steered, *snapshot.queued)]
        assert sorted(waiting) == sorted(self.of("waiting"))
        assert [w.message for w in snapshot.held] == self.of("held")
        assert snapshot.running == self.running()
        assert len(waiting) + len(snapshot.held) <= LIMIT

    @invariant()
    def each_message_got_one_disposition(self) -> None:
        """Not none and not two."""
        assert all(len(given) == 1 for given in self.dispositions.values())
        assert self.dispositions.keys() == self.records.keys()

    @invariant()
    def nobody_overtakes_inside_a_priority(self) -> None:
        """What waits is in order of acceptance, and with an open inbox no `turn` of its kind waits outside it."""
        snapshot = self.queue.snapshot(self.now_us)
        for listed in (snapshot.steered, snapshot.queued):
            for priority in Priority:
                numbers = [self.records[w.message].number for w in listed if w.priority is priority]
                assert numbers == sorted(numbers)
        if snapshot.phase is Phase.OPEN:
            assert [w.message for w in snapshot.steered] == self.steered()


@pytest.mark.clause("LANE-2", "LANE-3", "STOP-1", "REC-1")
class TestChat(ChatMachine.TestCase):  # type: ignore[valid-type,misc] # hypothesis makes it at run time
    """Run the machine."""
