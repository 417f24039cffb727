"""All groups at a glance, live (PAN-3): one card per group, pushed when it changes.

While somebody looks, one watcher per group waits for news through the group's port; with nobody looking nothing runs.
A group that fails or hangs becomes a card that says so and delays no other.
"""

import asyncio
import functools
from collections.abc import AsyncGenerator, Callable
from typing import Final

import msgspec

from host.errors import ElisError, ResourceBusy
from host.groups.port import ApprovalView, GroupPort, GroupView, TurnView
from host.panel.directory import Directory, GroupStarting, HostView
from host.panel.problems import NotSignedIn, problem_of
from host.panel.streams import HEARTBEAT, HEARTBEAT_SECONDS, RETRY, Closing, frame

LOOK_SECONDS: Final = 2.0  # a group that takes longer is shown as not answering
CALM_SECONDS: Final = 0.1  # between two looks at one busy group
REFRESH_SECONDS: Final = 5.0  # for what changes without an event, such as the process id
ROSTER_SECONDS: Final = 1.0  # how often the list of groups and the services are compared

_RUNNING_TURNS: Final = 8  # the newest turns among which the running ones are


class GroupCard(msgspec.Struct, frozen=True, kw_only=True):
    """One group with what runs and what waits in it."""

    view: GroupView
    running: tuple[TurnView, ...]
    questions: tuple[ApprovalView, ...]


class OverviewView(msgspec.Struct, frozen=True, kw_only=True):
    """The host with all its groups."""

    host: HostView
    groups: tuple[GroupCard, ...]


class Overview:
    """Looks at groups for all who watch. Lives in one event loop; `run` is its one task."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._cards: dict[str, GroupCard] = {}
        self._revisions: dict[str, int] = {}  # group → the revision in which its card changed or went
        self._host: HostView | None = None
        self._host_revision = 0
        self._revision = 0
        self._changed = asyncio.Condition()
        self._watched = asyncio.Event()
        self._watchers = 0

    async def snapshot(self) -> OverviewView:
        """Look at everything now; groups are asked side by side."""
        cards = await asyncio.gather(*(self.look(name) for name in self._directory.names()))
        return OverviewView(host=await self._directory.status(), groups=tuple(cards))

    async def look(self, name: str) -> GroupCard:
        """Return a group's card, whatever state it is in."""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await _card(self._directory.group(name))
        except GroupStarting as error:
            return _absent(name, "starting", error.message)
        except ResourceBusy as error:
            return _absent(name, "restarting", error.message)
        except ElisError as error:
            return _absent(name, "failed", error.message)
        except TimeoutError:
            return _absent(name, "restarting", "the group does not answer at the moment")

    async def follow(self, closing: Closing, is_open: Callable[[], bool]) -> AsyncGenerator[bytes, None]:
        """Yield a snapshot, then each change, until the panel or the session closes."""
        self._watchers += 1
        self._watched.set()
        try:
            seen = self._revision
            yield RETRY + frame(await self.snapshot(), event="overview")
            while await closing.or_end(functools.partial(self._news, seen)) is not None:
                if not is_open():
                    yield frame(problem_of(NotSignedIn()), event="problem")
                    return
                frames, seen = self._frames(seen), self._revision
                yield b"".join(frames) or HEARTBEAT
        finally:
            self._watchers -= 1
            if not self._watchers:
                self._watched.clear()

    async def run(self) -> None:
        """Keep one watcher per group while somebody looks; never returns."""
        while True:
            await self._watched.wait()
            async with asyncio.TaskGroup() as tasks:
                watchers: dict[str, asyncio.Task[None]] = {}
                while self._watchers:
                    await self._call_roll(tasks, watchers)
                    await asyncio.sleep(ROSTER_SECONDS)
                for watcher in watchers.values():
                    watcher.cancel()
            self._cards.clear()
            self._revisions.clear()
            self._host = None

    async def _call_roll(self, tasks: asyncio.TaskGroup, watchers: dict[str, asyncio.Task[None]]) -> None:
        names = set(self._directory.names())
        for name in names - watchers.keys():
            watchers[name] = tasks.create_task(self._watch(name), name=f"overview of {name}")
        for name in watchers.keys() - names:
            watchers.pop(name).cancel()
            self._cards.pop(name, None)
            await self._publish(name)
        host = await self._directory.status()
        if host != self._host:
            self._host = host
            self._host_revision = self._revision + 1
            await self._publish(None)

    async def _watch(self, name: str) -> None:
        while True:
            card = await self.look(name)
            if not _alike(card, self._cards.get(name)):
                self._cards[name] = card
                await self._publish(name)
            await asyncio.sleep(CALM_SECONDS)
            await self._until_news(name, card)

    async def _until_news(self, name: str, card: GroupCard) -> None:
        """Return when the group has new events, or after a while; drafts alone do not count."""
        if card.view.state != "awake":
            await asyncio.sleep(ROSTER_SECONDS)
            return
        try:
            async with asyncio.timeout(REFRESH_SECONDS):
                port, cursor = self._directory.group(name), 0
                while True:
                    look = await port.watch(card.view.last_seq, cursor, REFRESH_SECONDS)
                    if look.events:
                        return
                    cursor = look.cursor
                    await asyncio.sleep(CALM_SECONDS)
        except ElisError:
            await asyncio.sleep(ROSTER_SECONDS)  # the next look shows what is wrong
        except TimeoutError:
            return

    async def _publish(self, name: str | None) -> None:
        self._revision += 1
        if name is not None:
            self._revisions[name] = self._revision
        async with self._changed:
            self._changed.notify_all()

    async def _news(self, seen: int) -> bool:
        """Wait until something changed after the revision `seen`, or for a heartbeat."""
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS), self._changed:
                await self._changed.wait_for(lambda: self._revision > seen)
        except TimeoutError:
            return False
        return True

    def _frames(self, seen: int) -> list[bytes]:
        frames: list[bytes] = []
        for name, revision in self._revisions.items():
            if revision > seen:
                card = self._cards.get(name)
                frames.append(frame(card, event="group") if card else frame(name, event="gone"))
        if self._host is not None and self._host_revision > seen:
            frames.append(frame(self._host, event="host"))
        return frames


async def _card(port: GroupPort) -> GroupCard:
    view = await port.view()
    busy = any(lane.state != "idle" for lane in view.lanes)
    turns = await port.turns(_RUNNING_TURNS, "") if busy else ()
    return GroupCard(
        view=view,
        running=tuple(turn for turn in turns if turn.state == "running"),
        questions=await port.approvals() if view.approvals else (),
    )


def _absent(name: str, state: str, problem: str) -> GroupCard:
    view = GroupView(
        name=name,
        state=state,
        problem=problem,
        model="",
        pid=0,
        lanes=(),
        approvals=0,
        today_cost_usd=0.0,
        today_tokens=0,
        daily_cost_usd=None,
        last_failures=(),
        last_seq=0,
    )
    return GroupCard(view=view, running=(), questions=())


def _alike(card: GroupCard, other: GroupCard | None) -> bool:
    """Compare what a page shows: running times tick by themselves there."""
    return other is not None and _still(card) == _still(other)


def _still(card: GroupCard) -> GroupCard:
    lanes = tuple(msgspec.structs.replace(lane, running_seconds=0.0) for lane in card.view.lanes)
    return msgspec.structs.replace(card, view=msgspec.structs.replace(card.view, lanes=lanes))
