"""A bounded queue of messages with priorities, ageing, and messages that are held; pure, with the time passed in.

Above it stand `lanes.chat` and the later lanes. It knows ids and priorities; it refuses to know clocks, threads and
what a message says. Whoever owns it serialises access.

The order: `now` first, then `turn`, then `later`, first come first served inside a priority, with two exceptions so
that nothing starves. A `later` that has waited AGEING_SECONDS competes with `turn` by order of acceptance. After
NOW_IN_A_ROW messages with `now` one other goes first, if others wait.
"""

import enum
from collections import deque
from typing import Final, assert_never

import msgspec

from lanes.errors import AlreadyKnown, NotHeld, QueueFull, UnknownMessage

LIMIT: Final = 100
"""How many may wait by default (LANE-3)."""

AGEING_SECONDS: Final = 60.0
"""Longer than most turns take, so that `later` does let a burst of talk go first; short enough to be noticed."""

NOW_IN_A_ROW: Final = 8
"""More than a person interrupts in a row; only a machine that floods the group gets so far."""

_MICROSECONDS: Final = 1_000_000


class Priority(enum.StrEnum):
    """How urgent a message is (LANE-2)."""

    NOW = "now"
    """It interrupts the running turn and starts."""

    TURN = "turn"
    """It enters the running turn before its next inference."""

    LATER = "later"
    """It waits for the running turn's end, and for what is more urgent."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A message that waits."""

    message: str
    priority: Priority
    order: int  # of acceptance; smaller is earlier
    at_us: int  # when it was accepted, microseconds since 1970, UTC
    since_us: int  # the same on the mailbox's own count of time, which a clock set back cannot turn
    unattended: bool = False  # whether nobody watches what comes of it; of no weight here


class Mailbox:
    """Messages that wait or are held. Times are microseconds since 1970, UTC; a clock that jumps back does no harm."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Let `limit` messages wait, held ones included."""
        self._limit = limit
        self._entries: dict[str, Entry] = {}  # waiting and held
        self._held: dict[str, None] = {}  # the ids of the held ones; a dict keeps their order
        self._next_order = 0
        self._last_us: int | None = None
        self._passed_us = 0  # the sum of all steps forward of the clock
        self._streak = 0  # `now` messages taken in a row while others waited

    def __len__(self) -> int:
        """Return how many wait, held ones included."""
        return len(self._entries)

    def __contains__(self, message: str) -> bool:
        """Whether the message waits or is held."""
        return message in self._entries

    @property
    def held(self) -> tuple[Entry, ...]:
        """The held ones in order of acceptance."""
        return tuple(sorted((self._entries[message] for message in self._held), key=_order))

    def entry(self, message: str, priority: Priority, at_us: int, now_us: int, *, unattended: bool = False) -> Entry:
        """Give a message accepted at `at_us` its place in the order, without letting it wait here yet."""
        self._tick(now_us)
        self._next_order += 1
        age_us = max(0, now_us - at_us)
        return Entry(
            message=message,
            priority=priority,
            order=self._next_order,
            at_us=at_us,
            since_us=self._passed_us - age_us,
            unattended=unattended,
        )

    def put(self, message: str, priority: Priority, now_us: int) -> Entry:
        """Let a message wait; raise QueueFull or AlreadyKnown, which change nothing."""
        if message in self._entries:
            raise AlreadyKnown(message)
        if len(self._entries) >= self._limit:
            raise QueueFull(self._limit)
        entry = self.entry(message, priority, now_us, now_us)
        self.insert(entry)
        return entry

    def insert(self, entry: Entry, *, held: bool = False) -> None:
        """Put an entry at its place by order of acceptance; it was accepted before, so the bound does not apply."""
        if entry.message in self._entries:
            raise AlreadyKnown(entry.message)
        self._entries[entry.message] = entry
        if held:
            self._held[entry.message] = None

    def remove(self, message: str) -> Entry:
        """Take a waiting or held message out; raise UnknownMessage."""
        entry = self._entries.pop(message, None)
        if entry is None:
            raise UnknownMessage(message)
        self._held.pop(message, None)
        return entry

    def take(self, now_us: int) -> Entry | None:
        """Take out whose turn it is; None when nothing waits but what is held."""
        self._tick(now_us)
        choice = self._choose(self._lines(), self._streak)
        if choice is None:
            return None
        entry, self._streak = choice
        return self.remove(entry.message)

    def hold(self, message: str) -> None:
        """Keep a message from going on by itself; raise UnknownMessage."""
        if message not in self._entries:
            raise UnknownMessage(message)
        self._held[message] = None

    def release(self, message: str) -> None:
        """Let a held message wait again, at its old place; raise UnknownMessage or NotHeld."""
        if message not in self._entries:
            raise UnknownMessage(message)
        if message not in self._held:
            raise NotHeld(message)
        del self._held[message]

    def in_order(self, now_us: int) -> tuple[Entry, ...]:
        """Return those that wait in the order in which they would be taken, if all were taken at `now_us`."""
        self._tick(now_us)
        lines = self._lines()
        streak = self._streak
        result: list[Entry] = []
        while choice := self._choose(lines, streak):
            entry, streak = choice
            lines[entry.priority].popleft()
            result.append(entry)
        return tuple(result)

    def waits(self, priority: Priority) -> tuple[Entry, ...]:
        """Return those of one priority that wait, in order of acceptance."""
        return tuple(self._lines()[priority])

    def _lines(self) -> dict[Priority, deque[Entry]]:
        """Return those that wait and are not held, a line for each priority, in order of acceptance."""
        lines: dict[Priority, deque[Entry]] = {priority: deque() for priority in Priority}
        for entry in sorted(self._entries.values(), key=_order):
            if entry.message not in self._held:
                lines[entry.priority].append(entry)
        return lines

    def _choose(self, lines: dict[Priority, deque[Entry]], streak: int) -> tuple[Entry, int] | None:
        """Return whose turn it is and the streak after it. Only the first of each line is a candidate."""
        now = lines[Priority.NOW]
        others = [line[0] for line in (lines[Priority.TURN], lines[Priority.LATER]) if line]
        if now and not others:
            return now[0], 0
        if now and streak < NOW_IN_A_ROW:
            return now[0], streak + 1
        if not others:
            return None
        return min(others, key=lambda entry: (self._is_patient(entry), entry.order)), 0

    def _is_patient(self, entry: Entry) -> bool:
        """Whether an entry still lets `turn` messages go first."""
        match entry.priority:
            case Priority.NOW | Priority.TURN:
                return False
            case Priority.LATER:
                return self._passed_us - entry.since_us < AGEING_SECONDS * _MICROSECONDS
            case _:
                assert_never(entry.priority)

    def _tick(self, now_us: int) -> None:
        """Count the time that has passed; a step back counts as none."""
        if self._last_us is not None:
            self._passed_us += max(0, now_us - self._last_us)
        self._last_us = now_us


def _order(entry: Entry) -> int:
    return entry.order
