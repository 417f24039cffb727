"""A group's events as server-sent events, with resume, drafts, heartbeats and a clean end (TURN-5, REC-2).

Each client long-polls its group's port; nothing is polled in between. A stream ends when the client goes (the server
cancels it), when the panel closes, when its session does, or with a `problem` event when the group cannot be reached.
"""

import asyncio
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Final, TypeVar

import msgspec

from host.errors import ElisError
from host.groups.port import Draft, EventView, GroupPort, Watched
from host.panel.problems import NotSignedIn, problem_of

T = TypeVar("T")

HEARTBEAT_SECONDS: Final = 15.0  # well under the idle time-outs of proxies
HEARTBEAT: Final = b": still here\n\n"
RETRY: Final = b"retry: 1000\n\n"  # milliseconds a browser waits before it connects again
MEDIA_TYPE: Final = "text/event-stream"

_ENCODER: Final = msgspec.json.Encoder()


class Closing:
    """The end of the panel, as something that long waits notice at once. Lives in one event loop."""

    def __init__(self) -> None:
        self._waits: set[asyncio.Timeout] = set()
        self.closed = False

    async def or_end(self, wait: Callable[[], Awaitable[T]]) -> T | None:
        """Return what `wait` gives, or None when the panel closes first."""
        if self.closed:
            return None
        bound = asyncio.timeout(None)
        try:
            async with bound:
                self._waits.add(bound)
                try:
                    return await wait()
                finally:
                    self._waits.discard(bound)
        except TimeoutError:
            if not bound.expired():
                raise
            return None

    def close(self) -> None:
        """End all waits, and all later ones at once."""
        self.closed = True
        now = asyncio.get_running_loop().time()
        for bound in self._waits:
            bound.reschedule(now)


def frame(data: object, *, event: str = "", seq: int | None = None) -> bytes:
    """Return one server-sent event; JSON has no line breaks, so the data is one line."""
    lines = [b"id: %d\n" % seq] if seq is not None else []
    if event:
        lines.append(b"event: %s\n" % event.encode())
    return b"".join([*lines, b"data: ", _ENCODER.encode(data), b"\n\n"])


class _Order:
    """Tells the events of the journal from ends of turns that it could not take (TURN-2).

    Sequences of a journal are dense, and such an end repeats the sequence that was the last: it moves no resume point,
    and it waits until everything before it has been told.
    """

    def __init__(self, after: int) -> None:
        self.after = after  # the sequence from which a client goes on
        self._waiting: list[EventView] = []

    def take(self, events: Iterable[EventView]) -> list[tuple[EventView, int | None]]:
        """Return what to tell now, each with the id that it moves the client to."""
        told: list[tuple[EventView, int | None]] = []
        for event in events:
            if event.seq == self.after + 1 or (event.seq > self.after and event.kind != "turn_ended"):
                self.after = event.seq
                told.append((event, event.seq))
            else:
                self._waiting.append(event)
        told += [(event, None) for event in self._waiting if event.seq <= self.after]
        self._waiting = [event for event in self._waiting if event.seq > self.after]
        return told


async def follow(
    port: GroupPort,
    first: Watched,
    after: int,
    *,
    closing: Closing,
    is_open: Callable[[], bool],
    show: Callable[[EventView], Awaitable[EventView]],
) -> AsyncGenerator[bytes, None]:
    """Yield frames from `first` on, which was looked up after the sequence `after`. `show` prepares an event."""
    yield RETRY
    look: Watched | None = first
    order = _Order(after)
    while look is not None:
        if not is_open():  # asked also before the first look is told: a session may have ended since it was let in
            yield frame(problem_of(NotSignedIn()), event="problem")
            return
        frames = [frame(await show(event), seq=seq) for event, seq in order.take(look.events)]
        frames += [_draft(draft) for draft in look.drafts]
        yield b"".join(frames) or HEARTBEAT
        watch = functools.partial(port.watch, order.after, look.cursor, HEARTBEAT_SECONDS)
        try:
            look = await closing.or_end(watch)
        except ElisError as error:
            yield frame(problem_of(error), event="problem")
            return


def _draft(draft: Draft) -> bytes:
    return frame(draft, event="draft")
