"""A group in memory: the port that the panel talks to, over a journal that tests write by hand.

A fake does what a group promises (dense sequences, first answer wins, one message per key, a long poll that wakes at
once) and nothing by itself: what a model would say, a test says.
"""

import asyncio

import msgspec

from host.errors import NotFound
from host.gate.checking import Checked, Verdict
from host.groups.port import (
    ApprovalView,
    AssistedView,
    Draft,
    EventView,
    Found,
    GrantView,
    GroupView,
    LaneView,
    Placement,
    Queued,
    Revoked,
    Say,
    ServerDetail,
    ServerView,
    Settlement,
    Stopped,
    SuggestionView,
    TurnView,
    Verified,
    Watched,
    Wider,
)
from host.record.events import ApprovalSettled, MessageReceived, StopRequested
from host.stops import Outcome, Reason
from host.vault.masking import Masker
from lanes.events import MessageDropped, MessagePlaced, MessageReleased
from tests.integration.panel.hand_written import HandWrittenJournal, now


class FakeGroup(HandWrittenJournal):
    """One group in memory."""

    def __init__(self, name: str = "main") -> None:
        super().__init__(name)
        self.masker = Masker()
        self.settled: dict[str, str] = {}
        self.wider: dict[str, Wider] = {}  # answers that stand for later calls, by question
        self.standing: dict[str, GrantView] = {}
        self.proposals: tuple[SuggestionView, ...] = ()
        self.let_through: tuple[AssistedView, ...] = ()
        self.queued: dict[str, Queued] = {}
        self.servers: dict[str, ServerDetail] = {}
        self.released: list[tuple[str, str, str]] = []  # server, digest, by
        self.keys: dict[str, Placement] = {}
        self.looks = 0  # that ever waited
        self.watching = 0  # looks that wait at this moment
        self.watchers = asyncio.Condition()  # notified when that number changes
        self.failure: Exception | None = None
        self.leak = ""
        self.daily_cost_usd: float | None = 5.0
        self._hanging: asyncio.Event | None = None

    async def say(self, say: Say) -> Placement:
        """Accept a message: it starts a turn, or finds its place beside the one that runs."""
        if say.key in self.keys:
            return self.keys[say.key]
        after, message = len(self.journal), f"m{say.key}"
        await self.append(
            MessageReceived(message=message, key=say.key, text=say.text, priority=say.priority, principal=say.principal)
        )
        if not self.turn:
            turn = await self.begin(say.text, message)
            placement = Placement(message=message, turn=turn, disposition="started", position=0, after_seq=after)
        elif say.priority == "later":
            position = len(self.queued) + 1
            self.queued[message] = Queued(
                id=message, text=say.text, priority="later", state="queued", position=position, at=now()
            )
            placement = Placement(message=message, turn="", disposition="queued", position=position, after_seq=after)
        else:
            disposition = "steered" if say.priority == "turn" else "interrupting"
            placement = Placement(message=message, turn=self.turn, disposition=disposition, position=0, after_seq=after)
        if placement.disposition != "started":
            await self.append(
                MessagePlaced(message=message, disposition=placement.disposition, position=placement.position)
            )
        self.keys[say.key] = placement
        return placement

    async def stop(self, lane: str, *, all_lanes: bool, by: str) -> Stopped:
        """End the running turn and hold what waits."""
        turn = self.turn
        await self.append(StopRequested(turn=turn, lane=lane, all_lanes=all_lanes, by=by))
        for message, queued in self.queued.items():
            self.queued[message] = msgspec.structs.replace(queued, state="held")
            await self.append(MessagePlaced(message=message, disposition="held"))
        for approval in list(self.waiting):
            await self._answer(approval, "withdrawn", by, "")
        if turn:
            await self.end("", outcome=Outcome.FAILED, reason=Reason.INTERRUPTED, detail=f"stopped by {by}")
        return Stopped(turns=(turn,) if turn else (), held=len(self.queued))

    async def view(self) -> GroupView:
        """Return the group at a glance."""
        self._check()
        state = "waiting" if self.waiting else "running" if self.turn else "idle"
        held = sum(queued.state == "held" for queued in self.queued.values())
        lane = LaneView(
            name="chat",
            state=state,
            generation=1,
            turn=self.turn,
            running_seconds=3.0 if self.turn else 0.0,
            queued=len(self.queued) - held,
            held=held,
        )
        return GroupView(
            name=self.name,
            state="awake",
            problem="",
            model="qwen3:8b",
            pid=4242,
            lanes=(lane,),
            approvals=len(self.waiting),
            today_cost_usd=self.cost_usd,
            today_tokens=12_400,
            daily_cost_usd=self.daily_cost_usd,
            last_failures=tuple(turn for turn in await self.turns(10, "") if turn.outcome in {"failed", "partial"}),
            last_seq=len(self.journal),
            leak=self.leak,
        )

    async def events(self, after: int, limit: int) -> tuple[EventView, ...]:
        """Return events after a sequence."""
        self._check()
        return tuple(self.journal[after : after + limit])

    async def watch(self, after: int, cursor: int, seconds: float) -> Watched:
        """Wait for news."""
        self._check()
        if seconds:
            await self._wait(after, cursor, seconds)
        self._check()
        live = self.live[cursor:]
        unrecorded = (piece for piece in live if isinstance(piece, EventView))
        return Watched(
            events=(*self.journal[after : after + 500], *unrecorded),
            drafts=tuple(piece for piece in live if isinstance(piece, Draft) and piece.turn == self.turn),
            cursor=len(self.live),
        )

    async def turns(self, limit: int, before: str) -> tuple[TurnView, ...]:
        """Return the latest turns, newest first."""
        turns = [turn for turn in reversed(self.texts) if not before or turn < before]
        return tuple(self._turn(turn) for turn in turns[:limit])

    async def turn_events(self, turn: str) -> tuple[EventView, ...]:
        """Return a turn's events."""
        found = tuple(event for event in self.journal if event.turn == turn)
        if not found:
            message = f"the group {self.name} has no turn {turn!r}"
            raise NotFound(message)
        return found

    async def request_body(self, seq: int) -> bytes:
        """Return a request's exact bytes."""
        if seq not in self.bodies:
            message = f"event {seq} is no request"
            raise NotFound(message)
        return self.bodies[seq]

    async def approvals(self) -> tuple[ApprovalView, ...]:
        """Return the questions that wait."""
        return tuple(self.waiting.values())

    async def settle(
        self, approval: str, *, verdict: str, by: str, text: str, wider: Wider | None = None
    ) -> Settlement:
        """Answer a question; the first answer wins."""
        if wider is not None:
            self.wider[approval] = wider
        if approval in self.settled:
            return Settlement(id=approval, settled=False, verdict=self.settled[approval], by=by)
        if approval not in self.waiting:
            message = f"there is no question {approval!r}"
            raise NotFound(message)
        await self._answer(approval, verdict, by, text)
        return Settlement(id=approval, settled=True, verdict=verdict, by=by)

    async def grants(self) -> tuple[GrantView, ...]:
        """Return the standing answers."""
        return tuple(self.standing.values())

    async def revoke(self, grant: str, by: str) -> Revoked:
        """Take a standing answer back."""
        del by
        return Revoked(id=grant, revoked=self.standing.pop(grant, None) is not None)

    async def check_commands(self, commands: tuple[str, ...]) -> tuple[Checked, ...]:
        """Let everything be asked."""
        return tuple(Checked(verdict=Verdict.ASK, rule="default:execute", reason=each) for each in commands)

    async def suggestions(self) -> tuple[SuggestionView, ...]:
        """Propose what a test put here."""
        return self.proposals

    async def assisted(self) -> tuple[AssistedView, ...]:
        """Return what a test put here."""
        return self.let_through

    async def queue(self) -> tuple[Queued, ...]:
        """Return the messages that wait."""
        return tuple(self.queued.values())

    async def release(self, message: str) -> Placement:
        """Let a held message go on."""
        queued = self._queued(message)
        await self.append(MessageReleased(message=message))
        turn = await self.begin(queued.text, message)
        return Placement(message=message, turn=turn, disposition="started", position=0, after_seq=len(self.journal))

    async def drop(self, message: str, by: str) -> None:
        """Drop a message."""
        self._queued(message)
        await self.append(MessageDropped(message=message, why=f"dropped by {by}"))

    async def tool_servers(self) -> tuple[ServerView, ...]:
        """Return the servers that a test put there."""
        return tuple(detail.server for detail in self.servers.values())

    async def tool_server(self, server: str) -> ServerDetail:
        """Return one of them."""
        if server not in self.servers:
            message = f"group {self.name} has no tool server {server!r}"
            raise NotFound(message)
        return self.servers[server]

    async def release_tools(self, server: str, digest: str, by: str) -> ServerView:
        """Let what is held be used."""
        detail = await self.tool_server(server)
        self.released.append((server, digest, by))
        view = msgspec.structs.replace(detail.server, state="in use", held_digest="", tools=len(detail.held_tools))
        self.servers[server] = ServerDetail(
            server=view, tools=detail.held_tools, left_out=(), held_tools=(), held_left_out=()
        )
        return view

    async def search(self, text: str, limit: int) -> tuple[Found, ...]:
        """Find `text` in what people said."""
        hits = [event for event in reversed(self.journal) if text in str(event.data.get("text", ""))]
        return tuple(
            Found(seq=hit.seq, at=hit.at, turn=hit.turn, kind=hit.kind, snippet=hit.data["text"])
            for hit in hits[:limit]
        )

    async def verify(self) -> Verified:
        """Say that all is well."""
        return Verified(ok=True, events=len(self.journal), first_bad_seq=0, detail="")

    async def mask(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Mask as a group does."""
        return tuple(self.masker.text(text) for text in texts)

    async def instructions(self) -> dict[str, str]:
        """Return what the model is told."""
        if self._hanging is not None:
            self._hanging.set()
            await asyncio.Event().wait()
        return {"invariants": "Stay in the workspace.", "charter": ""}

    def hang(self) -> asyncio.Event:
        """Never answer about instructions again; the event is set when somebody asks."""
        self._hanging = asyncio.Event()
        return self._hanging

    async def fail(self, failure: Exception | None) -> None:
        """Become unreachable, or reachable again."""
        async with self.news:
            self.failure = failure
            self.news.notify_all()

    async def _wait(self, after: int, cursor: int, seconds: float) -> None:
        self.looks += 1
        await self._count(1)
        try:
            async with asyncio.timeout(seconds), self.news:
                await self.news.wait_for(lambda: len(self.journal) > after or len(self.live) > cursor or self.failure)
        except TimeoutError:
            return
        finally:
            await self._count(-1)

    async def _count(self, change: int) -> None:
        async with self.watchers:
            self.watching += change
            self.watchers.notify_all()

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _queued(self, message: str) -> Queued:
        try:
            return self.queued.pop(message)
        except KeyError as error:
            text = f"no message {message!r} waits"
            raise NotFound(text) from error

    async def _answer(self, approval: str, verdict: str, by: str, text: str) -> None:
        question = self.waiting.pop(approval)
        self.settled[approval] = verdict
        await self.append(ApprovalSettled(turn=question.turn, approval=approval, verdict=verdict, by=by, text=text))

    def _turn(self, turn: str) -> TurnView:
        ended = self.outcomes.get(turn)
        return TurnView(
            turn=turn,
            text=self.texts[turn],
            state="ended" if ended else "running",
            outcome=ended.outcome if ended else "",
            reason=(ended.reason or "") if ended else "",
            started_at=next(event.at for event in self.journal if event.turn == turn),
            cost_usd=ended.cost_usd if ended else 0.0,
        )
