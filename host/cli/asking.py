"""`elis ask`: a message goes in, one answer comes out, with the questions that come up in between.

Moves a `Follower` along the host's stream of events; survives a host or group that restarts meanwhile, which resumes
the turn. (The contract: Command line, `elis ask`.)
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

import msgspec

from host.cli.client import Api, Failure, LostConnection, group_path
from host.cli.following import Answer, Follower, stopped, unplaced
from host.config.home import Home
from host.groups.port import Draft, EventView, Placement
from host.stops import Reason

T = TypeVar("T")

RECONNECT_SECONDS: Final = 30.0  # a host that restarts is back within that
_PAUSE_SECONDS: Final = 0.5
_STEADY_SECONDS: Final = 5.0  # a stream that lived that long was no part of the trouble before it


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of which group, and how long to wait."""

    group: str
    text: str
    priority: str = "turn"
    unattended: bool = False
    timeout_seconds: float | None = None


class Screen(Protocol):
    """Where a person sees what happens meanwhile."""

    def placed(self, placement: Placement) -> None:
        """Show what became of the message."""
        ...

    def event(self, event: EventView) -> None:
        """Show an event of the turn, such as a question."""
        ...

    def draft(self, draft: Draft) -> None:
        """Show text that is still being written."""
        ...

    def note(self, text: str) -> None:
        """Say something else."""
        ...


class Patience:
    """How long a host that went away is waited for: not after every break anew, but from the last good time on."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        """Wait for up to `seconds` by the clock `now`."""
        self._seconds = seconds
        self._now = now
        self._opened: float | None = None  # when the connection that broke last stood
        self._lost: float | None = None

    def opened(self) -> None:
        """Note that a connection stands."""
        self._opened = self._now()

    def lost(self, failure: Failure) -> None:
        """Note that it broke; raise `failure` when it is time to give up."""
        now = self._now()
        steady = self._opened is not None and now - self._opened > _STEADY_SECONDS
        if self._lost is None or steady:
            self._lost = now
        self._opened = None
        if now - self._lost > self._seconds:
            raise failure


def in_doubt(group: str) -> str:
    """Say that a message whose placement was not heard of in time may have been taken."""
    return (
        f"the host did not say in time what became of the message; it may have been taken and may run: "
        f"`elis queue {group}` and `elis events {group}` tell"
    )


async def place(home: Home, order: Order) -> Placement | None:
    """Do what `send` does, for no longer than the order's time-out; None when that ended it."""
    try:
        async with asyncio.timeout(order.timeout_seconds):
            return await send(home, order)
    except TimeoutError:
        return None


async def send(home: Home, order: Order) -> Placement:
    """Say it to the group and return what became of it.

    An answer that was lost on the way is asked for again under the same key, so that the message is taken once.
    """
    body = {
        "text": order.text,
        "key": secrets.token_urlsafe(16),
        "priority": order.priority,
        "unattended": order.unattended,
    }
    path = group_path(order.group, "messages")
    async with Api(home) as api:
        await api.probe()  # nobody there: say so at once; from here on the host is known to have been there
        try:
            return await api.post(path, Placement, body)
        except LostConnection:
            await asyncio.sleep(_PAUSE_SECONDS)
    return await _insist(home, lambda fresh: fresh.post(path, Placement, body))


async def ask(home: Home, order: Order, screen: Screen) -> Answer:
    """Say it, wait for the end and return the result.

    A time-out gives the outcome `running` and the reason `timed_out`; raises Failure when the host cannot be reached.
    """
    follower: Follower | None = None
    try:
        async with asyncio.timeout(order.timeout_seconds):
            placement = await send(home, order)
            screen.placed(placement)
            if placement.disposition == "stopped":
                return stopped(placement)
            follower = Follower(placement)
            await _follow(home, order, follower, screen)
    except TimeoutError:
        if follower is None:
            screen.note(in_doubt(order.group))
            return unplaced()
        screen.note(f"the turn goes on without being waited for; `elis stop {order.group}` ends it")
    return await _whole(home, order.group, follower.answer())


async def _follow(home: Home, order: Order, follower: Follower, screen: Screen) -> None:
    patience = Patience(RECONNECT_SECONDS)
    while True:
        try:
            async with Api(home) as api, api.follow(order.group, follower.cursor) as items:
                patience.opened()
                async for item in items:
                    if isinstance(item, Draft):
                        if item.turn == follower.turn:
                            screen.draft(item)
                        continue
                    if follower.feed(item):
                        screen.event(item)
                    if follower.ended is not None or (follower.parked and order.unattended):
                        return
        except Failure as failure:
            if failure.exit_code != Reason.RESOURCE_BUSY.exit_code:
                raise
            patience.lost(failure)
            await asyncio.sleep(_PAUSE_SECONDS)


async def _whole(home: Home, group: str, answer: Answer) -> Answer:
    """Let the answer begin where the turn began, also when it was entered in its middle."""
    if not answer.turn:
        return answer
    try:
        async with Api(home) as api:
            events = await api.get(group_path(group, "turns", answer.turn), tuple[EventView, ...])
    except Failure:  # the answer is there; a host that went away right after it shall not take it back
        return answer
    return msgspec.structs.replace(answer, first_seq=events[0].seq) if events else answer


async def _insist(home: Home, work: Callable[[Api], Awaitable[T]]) -> T:
    patience = Patience(RECONNECT_SECONDS)
    while True:
        try:
            async with Api(home) as api:
                return await work(api)
        except LostConnection as lost:
            patience.lost(lost)
            await asyncio.sleep(_PAUSE_SECONDS)
