"""One group: its journal, its lanes, its desk, as plain classes that run without Ray (LANE-4).

`open` takes the journal and resumes what was under way; the methods are the group's port, called on the control door.
Turns run on lane threads. Nothing here decides policy or judges a turn.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec

from host.errors import AuditFailure, NotFound, ProtocolViolation
from host.gate.checking import Checked
from host.gate.desk import Desk
from host.gate.standing import Standing
from host.groups.chat import LANE, Chat
from host.groups.drafts import Drafts
from host.groups.placing import AlreadySaid, placement_again, placing, received_of
from host.groups.port import (
    ApprovalView,
    AssistedView,
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
from host.groups.session import Sessions
from host.groups.stop_words import is_stop_word
from host.groups.tool_servers import ToolServers
from host.groups.unrecorded import Unrecorded
from host.groups.views import (
    approval_view,
    assisted_view,
    event_view,
    found_view,
    grant_view,
    suggestion_view,
    turn_view,
    without_lent,
)
from host.ids import MESSAGE, new_id
from host.record.events import GroupEvent, MessageEntered, RequestSent
from host.record.record import Record
from host.record.rows import MessageRow, QuestionRow
from lanes.events import MessagePlaced
from memory.errors import BadQuery, JournalError

_LOG: Final = logging.getLogger(__name__)

FAILURES_SHOWN: Final = 3
ASSISTED_SHOWN: Final = 50  # of a group; the journal has them all


class GroupParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a group is put together from (`host.groups.assembly`)."""

    name: str
    model: str
    stop_words: tuple[str, ...]
    midnight_us: Callable[[], int]  # when the group's local day began
    daily_cost_usd: float | None
    record: Record
    chat: Chat
    desk: Desk
    standing: Standing
    leak: Callable[[], str]
    check_command: Callable[[str], Checked]
    servers: ToolServers
    drafts: Drafts
    sessions: Sessions
    unrecorded: Unrecorded
    mask: Callable[[str], str]
    lent: Callable[[Any], Any]  # takes plain data and returns it without lent values
    pid: int
    close: Callable[[], None]


class Group:
    """One group, awake in this process."""

    def __init__(self, parts: GroupParts) -> None:
        self._parts = parts
        self._record = parts.record
        self._chat = parts.chat

    @property
    def name(self) -> str:
        """The group's name."""
        return self._parts.name

    def resume(self) -> None:
        """Take up what was under way when the last process ended; called once, after opening."""
        self._parts.unrecorded.enter(self._record)
        self._record.journal.listen(self._parts.drafts.ring)
        self._parts.desk.reopen()
        self._chat.restore()

    def close(self) -> None:
        """Let running work end or be abandoned within a bound, and let go of the journal."""
        self._parts.close()

    async def say(self, say: Say) -> Placement:
        """Accept a message durably and place it; raise ResourceBusy, KeyTaken or AuditFailure."""
        await self._recover()
        say = msgspec.structs.replace(say, text=self._parts.mask(say.text))
        if known := self._record.message_by_key(say.key):
            return self._again(known, say)
        question = self._question_awaiting_words()
        try:
            if is_stop_word(say.text, self._parts.stop_words):
                return await self._stop_word(say)
            placement = await self._chat.say(say, new_id(MESSAGE, self._record.now_us()))
        except AlreadySaid:  # the same key came twice at the same time
            await self._record.commit(lambda _: None)  # after this the first one is durable
            known = self._record.message_by_key(say.key)
            assert known is not None  # noqa: S101 - it was found a moment ago
            return self._again(known, say)
        if question is not None and placement.disposition == "steered":
            return await self._answer(question, placement, say)
        return placement

    async def stop(self, lane: str, *, all_lanes: bool, by: str) -> Stopped:
        """Stop what runs; return when the final events are durable (STOP-1)."""
        if lane not in {"", LANE}:
            raise NotFound(f"this group has no lane {lane!r}; its lanes are: {LANE}")
        stopped = await self._chat.stop(all_lanes=all_lanes, by=by)
        if not all_lanes:
            return stopped
        return msgspec.structs.replace(stopped, turns=(*stopped.turns, *await self._chat.stop_parked()))

    async def drain(self) -> None:
        """Let what runs go on and start nothing new (OPS-1)."""
        self._chat.drain()

    async def view(self) -> GroupView:
        """Return the group at a glance."""
        spent = self._record.spend(self._parts.midnight_us())
        return GroupView(
            name=self.name,
            state="awake",
            problem="",
            model=self._parts.model,
            pid=self._parts.pid,
            lanes=(self._lane_view(),),
            approvals=len(self._record.waiting_questions()),
            today_cost_usd=spent.cost_usd,
            today_tokens=spent.tokens,
            daily_cost_usd=self._parts.daily_cost_usd,
            last_failures=tuple(turn_view(self._record, row) for row in self._record.failed_turns(FAILURES_SHOWN)),
            last_seq=self._record.journal.last_seq(),
            leak=self._parts.leak(),
        )

    async def events(self, after: int, limit: int) -> tuple[EventView, ...]:
        """Return events after the sequence `after`, oldest first."""
        return tuple(map(event_view, self._record.read(after, limit=limit)))

    async def watch(self, after: int, cursor: int, seconds: float) -> Watched:
        """Wait up to `seconds` for events after `after` or drafts after `cursor`."""
        drafts = self._parts.drafts
        bell = drafts.bell()
        found = self._look(after, cursor)
        if found.events or found.drafts:
            bell.dismiss()
            return found
        await bell.wait(seconds)
        return self._look(after, cursor)

    async def turns(self, limit: int, before: str) -> tuple[TurnView, ...]:
        """Return the latest turns, newest first."""
        return tuple(turn_view(self._record, row) for row in self._record.latest_turns(limit, before))

    async def turn_events(self, turn: str) -> tuple[EventView, ...]:
        """Return a turn's events, with the message that began it first; raise NotFound."""
        row = self._record.turn(turn)
        if row is None:
            raise NotFound(f"group {self.name} has no turn {turn!r}")
        message = self._record.message(row.message)
        begun = self._record.read(message.seq - 1, limit=1) if message else []
        return tuple(map(event_view, [*begun, *self._record.turn_events(turn)]))

    async def request_body(self, seq: int) -> bytes:
        """Return the exact body of the request whose event is `seq`; raise NotFound (TURN-3)."""
        event = self._record.event(seq)
        if not isinstance(event, RequestSent):
            raise NotFound(f"event {seq} is no request to a model")
        body = self._record.body
        return body(event.head) + b",".join(map(body, event.messages)) + body(event.tail)

    async def approvals(self) -> tuple[ApprovalView, ...]:
        """Return the questions that wait."""
        views = (approval_view(self._record, self.name, row) for row in self._record.waiting_questions())
        return tuple(view for view in views if view is not None)

    async def settle(
        self, approval: str, *, verdict: str, by: str, text: str, wider: Wider | None = None
    ) -> Settlement:
        """Answer a question; raise NotFound, or ProtocolViolation for a reach that is not on offer."""
        question = self._record.question(approval)
        if question is None:
            raise NotFound(f"group {self.name} has no question {approval!r}")
        scope, grants = "once", list[GroupEvent]()
        if wider is not None and verdict == "allowed":
            scope = wider.scope
            grants.append(self._parts.standing.given_with(question, wider.scope, wider.until, by))
        settled = await self._parts.desk.settle(
            approval, verdict=verdict, by=by, text=self._parts.mask(text), scope=scope, together_with=grants
        )
        self._chat.take_up_parked()
        return Settlement(id=settled.id, settled=settled.settled, verdict=settled.verdict, by=settled.by)

    async def grants(self) -> tuple[GrantView, ...]:
        """Return the standing answers."""
        return tuple(grant_view(self.name, row) for row in self._parts.standing.standing())

    async def revoke(self, grant: str, by: str) -> Revoked:
        """Take a standing answer back; raise NotFound."""
        return Revoked(id=grant, revoked=await self._parts.standing.revoke(grant, by))

    async def check_commands(self, commands: tuple[str, ...]) -> tuple[Checked, ...]:
        """Return what the gate would say of each; long ones take time, so no loop waits for them."""
        found = await asyncio.to_thread(lambda: tuple(map(self._parts.check_command, commands)))
        return tuple(without_lent(each, self._parts.lent) for each in found)

    async def suggestions(self) -> tuple[SuggestionView, ...]:
        """Return grants for what was always approved."""
        return tuple(suggestion_view(self.name, each) for each in self._parts.standing.suggestions())

    async def assisted(self) -> tuple[AssistedView, ...]:
        """Return the latest calls that the aux model let run without a person, newest first."""
        views = (assisted_view(self._record, self.name, row) for row in self._record.assisted(ASSISTED_SHOWN))
        return tuple(view for view in views if view is not None)

    async def queue(self) -> tuple[Queued, ...]:
        """Return the messages that wait or are held."""
        return self._chat.floor.waiting()

    async def release(self, message: str) -> Placement:
        """Let a held message go on; raise NotFound."""
        return await self._chat.release(message)

    async def drop(self, message: str, by: str) -> None:
        """Drop a waiting or held message; raise NotFound."""
        await self._chat.drop(message, by)

    async def tool_servers(self) -> tuple[ServerView, ...]:
        """Return the group's tool servers."""
        return tuple(without_lent(view, self._parts.lent) for view in self._parts.servers.views())

    async def tool_server(self, server: str) -> ServerDetail:
        """Return what a tool server shows; raise NotFound."""
        return without_lent(self._parts.servers.detail(server), self._parts.lent)

    async def release_tools(self, server: str, digest: str, by: str) -> ServerView:
        """Let the held tools of a server be used; raise NotFound or ProtocolViolation."""
        return without_lent(await self._parts.servers.release(server, digest, by), self._parts.lent)

    async def search(self, text: str, limit: int) -> tuple[Found, ...]:
        """Search everything said and done; raise ProtocolViolation for no query, or AuditFailure."""
        try:
            hits = self._record.journal.search(text, limit=limit)
        except BadQuery as error:
            raise ProtocolViolation(f"text: {error}") from error
        except JournalError as error:
            raise AuditFailure(str(error)) from error
        return tuple(found_view(hit) for hit in hits)

    async def verify(self) -> Verified:
        """Check the journal's chain from the first event to the last, and the tables that follow from the events."""
        verdict = await asyncio.to_thread(self._record.verify)  # seconds, in which Stop must come through
        return Verified(
            ok=verdict.ok, events=verdict.events, first_bad_seq=verdict.first_bad_seq or 0, detail=verdict.detail
        )

    async def mask(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Return each text as masking leaves it; long ones take time, so no loop waits for them."""
        return await asyncio.to_thread(lambda: tuple(self._parts.mask(text) for text in texts))

    async def instructions(self) -> dict[str, str]:
        """Return the invariants and the charter as the model gets them."""
        return without_lent(self._parts.sessions.instructions(), self._parts.lent)

    def _look(self, after: int, cursor: int) -> Watched:
        events = tuple(map(event_view, self._record.read(after, limit=500)))
        drafts, unrecorded, position = self._parts.drafts.since(cursor)
        return Watched(events=events + unrecorded, drafts=drafts, cursor=position)

    def _lane_view(self) -> LaneView:
        current = self._chat.floor.current
        if current is not None and current.run is None:
            current = None  # it has not begun, and while the chat is halted it does not
        waiting = self._chat.floor.waiting()
        row = self._record.turn(current.turn) if current else None
        asked = current is not None and any(q.turn == current.turn for q in self._record.waiting_questions())
        state = "idle" if current is None else "waiting" if asked else "running"
        started_us = row.started_us if row else self._record.now_us()
        return LaneView(
            name=LANE,
            state=state,
            generation=self._chat.generation,
            turn=current.turn if current else "",
            running_seconds=(self._record.now_us() - started_us) / 1e6 if current else 0.0,
            queued=sum(entry.state != "held" for entry in waiting),
            held=sum(entry.state == "held" for entry in waiting),
        )

    def _question_awaiting_words(self) -> QuestionRow | None:
        current = self._chat.floor.current
        if current is None:
            return None
        for question in self._record.waiting_questions():
            if question.turn == current.turn and question.question == "answer":
                return question
        return None

    async def _answer(self, question: QuestionRow, placement: Placement, say: Say) -> Placement:
        """A message to a turn that asked for words is the answer; it does not enter the turn a second time.

        Answer and entry are one unit. If somebody or something else settled the question first, the message is
        placed again and reaches the model as any other.
        """
        row = self._chat.floor.withhold(placement.message)
        if row is None:
            return placement
        entered = MessageEntered(turn=question.turn, message=placement.message, text="", step=0)
        try:
            settled = await self._parts.desk.settle(
                question.id, verdict="answered", by=say.principal, text=say.text, together_with=(entered,)
            )
        except AuditFailure:
            self._chat.floor.put_back(row, held=False)
            raise
        return placement if settled.settled else await self._chat.place_again(row)

    async def _stop_word(self, say: Say) -> Placement:
        after_seq = self._record.journal.last_seq()
        current = self._chat.floor.current
        turn = current.turn if current is not None else ""
        message = new_id(MESSAGE, self._record.now_us())
        placed = MessagePlaced(turn=turn, message=message, disposition="stopped")
        await self._record.commit(placing(received_of(message, say), placed))
        await self.stop("", all_lanes=False, by=say.principal)
        return Placement(message=message, turn=turn, disposition="stopped", position=0, after_seq=after_seq)

    def _again(self, known: MessageRow, say: Say) -> Placement:
        """Return what became of a message that was sent before; raise KeyTaken if it is another one.

        Compared as it would be kept now: a secret that was learnt meanwhile is masked on both sides.
        """
        return placement_again(msgspec.structs.replace(known, text=self._parts.mask(known.text)), say)

    async def _recover(self) -> None:
        """Enter final events that the journal could not take before anything new; raise AuditFailure (TURN-2)."""
        if self._parts.unrecorded.pending:
            await self._parts.unrecorded.enter_later(self._record)
            self._chat.recover()
