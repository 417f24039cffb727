"""Groups and a directory in memory: the ports that the panel talks to, with a journal that tests write by hand.

A fake does what a group promises (dense sequences, first answer wins, one message per key, a long poll that wakes at
once) and nothing by itself: what a model would say, a test says.
"""

import asyncio
import datetime as dt
import itertools
from typing import Any

import msgspec

from host.errors import NotFound, ResourceBusy, SettingsError
from host.groups.port import (
    ApprovalView,
    Draft,
    EventView,
    Found,
    GroupPort,
    GroupView,
    LaneView,
    Placement,
    Queued,
    Say,
    Settlement,
    Stopped,
    TurnView,
    Verified,
    Watched,
)
from host.panel.directory import GroupStarting, HostView, NewGroup, ServiceView
from host.passport import Effect
from host.record.events import (
    Account,
    ApprovalAsked,
    ApprovalSettled,
    CallAsked,
    CallFinished,
    CallStarted,
    GroupEvent,
    MessageEntered,
    MessageReceived,
    RequestSent,
    ResponseReceived,
    StopRequested,
    TurnEnded,
    TurnStarted,
)
from host.stops import Outcome, Reason
from lanes.events import MessageDropped, MessagePlaced, MessageReleased


class FakeGroup:
    """One group in memory."""

    def __init__(self, name: str = "main") -> None:
        self._name = name
        self.journal: list[EventView] = []
        self.drafts: list[Draft] = []
        self.waiting: dict[str, ApprovalView] = {}
        self.settled: dict[str, str] = {}
        self.queued: dict[str, Queued] = {}
        self.keys: dict[str, Placement] = {}
        self.bodies: dict[int, bytes] = {}
        self.turn = ""
        self.texts: dict[str, str] = {}
        self.outcomes: dict[str, TurnEnded] = {}
        self.looks = 0  # that ever waited
        self.watching = 0  # looks that wait at this moment
        self.watchers = asyncio.Condition()  # notified when that number changes
        self.failure: Exception | None = None
        self.cost_usd = 0.0
        self.daily_cost_usd: float | None = 5.0
        self._hanging: asyncio.Event | None = None
        self._news = asyncio.Condition()
        self._numbers = itertools.count(1)

    @property
    def name(self) -> str:
        """The group's name."""
        return self._name

    # What a test says and does in the model's and the lanes' place.

    async def append(self, event: GroupEvent) -> int:
        """Append an event as the group would; return its sequence."""
        data: dict[str, Any] = msgspec.to_builtins(event)
        kind, turn = data.pop("kind"), data.pop("turn")
        seq = len(self.journal) + 1
        async with self._news:
            self.journal.append(EventView(seq=seq, at=_now(), turn=turn, kind=kind, data=data))
            self._news.notify_all()
        return seq

    async def begin(self, text: str, message: str = "", priority: str = "turn") -> str:
        """Start a turn for a message; return its id."""
        number = next(self._numbers)
        message = message or f"m{number}"
        self.turn = f"t{number}"
        self.texts[self.turn] = text
        if not any(event.data.get("message") == message for event in self.journal):
            await self.append(
                MessageReceived(message=message, key=message, text=text, priority=priority, principal="operator")
            )
        await self.append(MessagePlaced(message=message, disposition="started"))
        await self.append(
            TurnStarted(
                turn=self.turn,
                message=message,
                lane="chat",
                session="s1",
                model="main",
                principal="operator",
                unattended=False,
                limit_tokens=200_000,
                limit_cost_usd=1.0,
                limit_seconds=900,
                limit_steps=50,
            )
        )
        return self.turn

    async def request(self, step: int, body: bytes) -> int:
        """Send a request to the model; return its sequence."""
        seq = await self.append(
            RequestSent(
                turn=self.turn,
                step=step,
                attempt=1,
                purpose="step",
                model="main",
                url="http://127.0.0.1:1/v1/chat/completions",
                head="h",
                messages=("m",),
                tail="t",
                reserved_tokens=1000,
                reserved_cost_usd=0.0,
            )
        )
        self.bodies[seq] = body
        return seq

    async def write(self, step: int, text: str) -> None:
        """Stream a piece of a reply."""
        offset = sum(len(draft.text) for draft in self.drafts if (draft.turn, draft.step) == (self.turn, step))
        async with self._news:
            self.drafts.append(Draft(turn=self.turn, step=step, offset=offset, text=text))
            self._news.notify_all()

    async def respond(self, step: int, text: str, *calls: CallAsked) -> None:
        """Let the model's answer arrive."""
        await self.append(
            ResponseReceived(
                turn=self.turn,
                step=step,
                attempt=1,
                purpose="step",
                text=text,
                calls=calls,
                finish="tool_calls" if calls else "stop",
                tokens_in=1200,
                tokens_out=80,
                tokens_cached=900,
                cost_usd=0.0021,
                estimated=False,
                seconds=1.3,
            )
        )

    async def call(self, call: str, tool: str, effect: Effect, arguments: dict[str, Any], target: str = "") -> None:
        """Start a call."""
        await self.append(
            CallStarted(
                turn=self.turn,
                call=call,
                tool=tool,
                effect=effect,
                arguments=arguments,
                key=f"{self.turn}:{call}",
                arguments_hash="",
                target=target,
            )
        )

    async def finish(
        self, call: str, tool: str, effect: Effect, result: str, *, reason: Reason | None = None, target: str = ""
    ) -> int:
        """Finish a call."""
        return await self.append(
            CallFinished(
                turn=self.turn,
                call=call,
                tool=tool,
                effect=effect,
                ok=reason is None,
                reason=reason,
                detail="" if reason is None else "exit code 1",
                result=result,
                result_hash="",
                target=target,
                seconds=0.42,
            )
        )

    async def ask(
        self,
        approval: str,
        call: str,
        tool: str,
        effect: Effect,
        arguments: dict[str, Any],
        *,
        question: str = "approval",
    ) -> None:
        """Put a question to the operator."""
        asked = ApprovalAsked(
            turn=self.turn,
            approval=approval,
            call=call,
            tool=tool,
            question=question,
            effect=effect,
            arguments=arguments,
            what_may_happen="The command runs in the group's sandbox and may change files of its workspace.",
            doing="I will run the tests to see what fails.",
            scopes=("once",),
            timeout_seconds=300,
            expires_at=(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)).isoformat(),
        )
        self.waiting[approval] = ApprovalView(
            id=approval,
            group=self._name,
            turn=self.turn,
            call=call,
            tool=tool,
            question=question,
            effect=effect,
            arguments=arguments,
            what_may_happen=asked.what_may_happen,
            doing=asked.doing,
            scopes=asked.scopes,
            asked_at=_now(),
            expires_at=asked.expires_at,
        )
        await self.append(asked)

    async def end(
        self,
        reply: str,
        *,
        outcome: Outcome = Outcome.SUCCESS,
        reason: Reason | None = None,
        detail: str = "",
        done: tuple[Account, ...] = (),
        failed: tuple[Account, ...] = (),
        not_attempted: tuple[Account, ...] = (),
    ) -> None:
        """Write the turn's final event."""
        turn, self.turn = self.turn, ""
        self.cost_usd += 0.0134
        ended = TurnEnded(
            turn=turn,
            outcome=outcome,
            reason=reason,
            detail=detail,
            reply=reply,
            tokens_in=4210,
            tokens_out=380,
            tokens_cached=3000,
            cost_usd=0.0134,
            estimated=False,
            steps=3,
            seconds=12.4,
            done=done,
            failed=failed,
            not_attempted=not_attempted,
            verified=False,
        )
        self.outcomes[turn] = ended
        await self.append(ended)

    async def enter(self, message: str, text: str, step: int) -> None:
        """Let a steered message enter the running turn."""
        await self.append(MessageEntered(turn=self.turn, message=message, text=text, step=step))

    # GroupPort

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
                id=message, text=say.text, priority="later", state="queued", position=position, at=_now()
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
            name=self._name,
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
        return Watched(
            events=tuple(self.journal[after : after + 500]),
            drafts=tuple(draft for draft in self.drafts[cursor:] if draft.turn == self.turn),
            cursor=len(self.drafts),
        )

    async def turns(self, limit: int, before: str) -> tuple[TurnView, ...]:
        """Return the latest turns, newest first."""
        turns = [turn for turn in reversed(self.texts) if not before or turn < before]
        return tuple(self._turn(turn) for turn in turns[:limit])

    async def turn_events(self, turn: str) -> tuple[EventView, ...]:
        """Return a turn's events."""
        found = tuple(event for event in self.journal if event.turn == turn)
        if not found:
            message = f"the group {self._name} has no turn {turn!r}"
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

    async def settle(self, approval: str, *, verdict: str, by: str, text: str) -> Settlement:
        """Answer a question; the first answer wins."""
        if approval in self.settled:
            return Settlement(id=approval, settled=False, verdict=self.settled[approval], by=by)
        if approval not in self.waiting:
            message = f"there is no question {approval!r}"
            raise NotFound(message)
        await self._answer(approval, verdict, by, text)
        return Settlement(id=approval, settled=True, verdict=verdict, by=by)

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
        async with self._news:
            self.failure = failure
            self._news.notify_all()

    async def _wait(self, after: int, cursor: int, seconds: float) -> None:
        self.looks += 1
        await self._count(1)
        try:
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(
                    lambda: len(self.journal) > after or len(self.drafts) > cursor or self.failure
                )
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


class FakeDirectory:
    """A host in memory."""

    def __init__(self, *groups: FakeGroup) -> None:
        self.groups = {group.name: group for group in groups}
        self.starting: set[str] = set()
        self.broken: dict[str, Exception] = {}
        self.removed: list[tuple[str, bool]] = []
        self.stopping = False

    def names(self) -> tuple[str, ...]:
        """Return all names."""
        return (*self.groups, *self.starting, *self.broken)

    def group(self, name: str) -> GroupPort:
        """Return a group's port."""
        if name in self.starting:
            raise GroupStarting
        if name in self.broken:
            raise self.broken[name]
        if name not in self.groups:
            message = f"there is no group {name!r}"
            raise NotFound(message)
        return self.groups[name]

    async def add(self, new: NewGroup) -> None:
        """Add a group."""
        if not new.name.isidentifier():
            message = f"[groups.{new.name}]: a group's name is made of letters, digits and dashes"
            raise SettingsError(message)
        if new.name in self.groups:
            message = f"the group {new.name!r} exists"
            raise ResourceBusy(message)
        self.groups[new.name] = FakeGroup(new.name)

    async def remove(self, name: str, *, delete: bool) -> None:
        """Remove a group."""
        self.group(name)
        del self.groups[name]
        self.removed.append((name, delete))

    async def status(self) -> HostView:
        """Return the host at a glance."""
        return HostView(
            name="home",
            version="0.1.0",
            pid=4000,
            started_at=_now(),
            address="127.0.0.1:8700",
            default_group="main",
            services=(ServiceView(name="ray", state="running"),),
        )

    def request_shutdown(self) -> None:
        """Note that the host is to end."""
        self.stopping = True


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
