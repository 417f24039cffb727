"""A group's journal that a test writes by hand, in the model's, the gate's and the lanes' place."""

import asyncio
import datetime as dt
import itertools
from typing import Any

import msgspec

from host.groups.port import ApprovalView, Draft, EventView
from host.passport import Effect
from host.policy.grants import Scope, keys, kind_key
from host.record.events import (
    Account,
    ApprovalAsked,
    CallAsked,
    CallFinished,
    CallStarted,
    GroupEvent,
    MessageEntered,
    MessageReceived,
    Part,
    RequestSent,
    ResponseReceived,
    TurnEnded,
    TurnStarted,
)
from host.stops import Outcome, Reason
from lanes.events import MessagePlaced


class HandWrittenJournal:
    """Events, drafts and questions, as a group would have them after what a test says happened."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.journal: list[EventView] = []
        self.live: list[Draft | EventView] = []  # what is told and not journaled: drafts, ends that found no place
        self.waiting: dict[str, ApprovalView] = {}
        self.bodies: dict[int, bytes] = {}
        self.turn = ""
        self.texts: dict[str, str] = {}
        self.outcomes: dict[str, TurnEnded] = {}
        self.cost_usd = 0.0
        self.news = asyncio.Condition()
        self._numbers = itertools.count(1)

    @property
    def drafts(self) -> list[Draft]:
        """All pieces of replies."""
        return [piece for piece in self.live if isinstance(piece, Draft)]

    async def append(self, event: GroupEvent) -> int:
        """Append an event as the group would; return its sequence."""
        data: dict[str, Any] = msgspec.to_builtins(event)
        kind, turn = data.pop("kind"), data.pop("turn")
        seq = len(self.journal) + 1
        async with self.news:
            self.journal.append(EventView(seq=seq, at=now(), turn=turn, kind=kind, data=data))
            self.news.notify_all()
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
        async with self.news:
            self.live.append(Draft(turn=self.turn, step=step, offset=offset, text=text))
            self.news.notify_all()

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
        scopes: tuple[str, ...] = ("once",),
        parts: tuple[Part, ...] = (),
    ) -> None:
        """Put a question to the operator; the widest scope of several is the proposed one."""
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
            scopes=scopes,
            timeout_seconds=300,
            parts=parts,
            proposed=scopes[-1],
            expires_at=(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)).isoformat(),
        )
        self.waiting[approval] = ApprovalView(
            id=approval,
            group=self.name,
            turn=self.turn,
            call=call,
            tool=tool,
            question=question,
            effect=effect,
            arguments=arguments,
            what_may_happen=asked.what_may_happen,
            doing=asked.doing,
            scopes=asked.scopes,
            asked_at=now(),
            expires_at=asked.expires_at,
            proposed=asked.proposed,
            covers={scope: keys(Scope(scope), parts, kind_key(tool, effect)) for scope in scopes if scope != "once"},
        )
        await self.append(asked)

    async def lose(self, detail: str) -> None:
        """End the turn with an event that the journal cannot take: watchers alone hear of it."""
        turn, self.turn = self.turn, ""
        told: dict[str, Any] = {"outcome": "failed", "reason": "audit_failure", "detail": detail, "reply": ""}
        told |= dict.fromkeys(("tokens_in", "tokens_out", "tokens_cached", "cost_usd", "steps", "seconds"), 0)
        told |= dict.fromkeys(("done", "failed", "not_attempted"), ()) | {"estimated": True, "verified": False}
        async with self.news:
            # It repeats the sequence of the journal's last event, as a group's does.
            self.live.append(EventView(seq=len(self.journal), at=now(), turn=turn, kind="turn_ended", data=told))
            self.news.notify_all()

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


def now() -> str:
    """Return the time as events have it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
