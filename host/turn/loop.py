"""The model loop of one turn: infer → gate → journal → again (TURN-1), a plain `while` over the turn's state.

It reads where the turn stands, does the one next thing, and takes in what became durable. Budgets, inference, calls
and the final event live in modules of their own; the gate is the only way a call runs.
"""

import asyncio
import logging
from typing import Final

from host.context.assisting import CUT_FINISHES
from host.context.conversation import Part
from host.context.tail import BudgetLeft, tail
from host.errors import AuditFailure, ElisError
from host.gate.stages import Parked
from host.record.events import CallFinished, CallRefused, GroupEvent, MessageEntered, Noticed, TurnParked
from host.record.record import Admit, Ahead
from host.stops import Reason
from host.turn.budget import WARN_SHARE, ActiveClock, Exhausted, Meters
from host.turn.calls import Calling
from host.turn.ending import Ending, Verdict, end_turn
from host.turn.inference import STEP, WRAP_UP, Asked, Inferring
from host.turn.kit import TurnKit
from host.turn.state import Next, TurnState
from host.turn.wrap_up import wrap_up_message
from lanes.errors import StaleGeneration

_LOG: Final = logging.getLogger(__name__)

WINDOW_SHARE: Final = 0.8  # CTX-4: near the model's real window
EMPTY_REPLY: Final = "Your reply was empty. Answer the person, or say plainly what is missing."


class Turn:
    """One turn, from its start (or its resumption) to its one final event."""

    def __init__(self, kit: TurnKit, state: TurnState, admit: Admit, *, resumed: bool = False) -> None:
        """Take the fold of the turn's events so far; `admit` refuses once the lane's generation is over."""
        self._kit = kit
        self._state = state
        self._admit = admit = Ahead(admit)
        self._resumed = resumed  # the open calls may have been started before
        row = kit.record.turn(state.turn)
        self._meters = Meters(kit.limits, kit.model.price, ActiveClock(kit.monotonic, row.seconds if row else 0.0))
        if row is not None:
            self._meters.settle(row.tokens_in + row.tokens_out, row.cost_usd)
            self._meters.steps = row.steps
        self._inferring = Inferring(kit, state, self._meters, admit)
        self._calling = Calling(kit, state, self._meters, admit)

    async def run(self) -> None:
        """Run to the final event; it is durable when this returns, unless the turn parked or the lane was replaced."""
        try:
            await self._loop()
        except Ending as ending:
            await self._end(ending.verdict)
        except Parked as parked:
            self._kit.inbox.seal()
            await self._append(TurnParked(turn=self._state.turn, approval=parked.approval))
        except asyncio.CancelledError:
            self._state.partial = self._inferring.received
            await self._end(Verdict(reason=Reason.INTERRUPTED, detail="stopped", reply=self._state.partial))
        except StaleGeneration:
            _LOG.info("turn %s was taken from its lane", self._state.turn)
        except ElisError as error:
            await self._end(Verdict(reason=error.reason, detail=error.message))
        except Exception as error:  # noqa: BLE001 - the turn's one boundary: whatever it was, the turn gets its final event
            _LOG.exception("turn %s failed", self._state.turn)
            await self._end(Verdict(reason=Reason.UNKNOWN, detail=f"{type(error).__name__}: {error}"))

    async def _loop(self) -> None:
        self._kit.conversation.begin(self._state.turn)
        while True:
            try:
                if self._state.wrap_up is not None:  # resumed after it: there is nothing left but the end
                    await self._wrap_up(Exhausted("budget", "a limit was reached before the restart"))
                match self._state.next():
                    case Next.INFER:
                        await self._infer()
                    case Next.CALL:
                        await self._call()
                    case Next.FINISH:
                        await self._finish()
                    case Next.ENDED:
                        return
            except Exhausted as exhausted:
                await self._wrap_up(exhausted)

    async def _infer(self) -> None:
        await self._take_steered()
        await self._warn_once()
        parts = self._request_parts()
        reservation = self._meters.reserve_step(self._bytes_of(parts), self._kit.model.output_tokens)
        self._kit.fault("turn.chat")
        asked = Asked(
            step=self._state.steps + 1,
            purpose=STEP,
            parts=parts,
            reservation=reservation,
            seconds=self._meters.seconds_left(),
        )
        self._state.apply(await self._inferring.infer(asked))
        self._meters.steps += 1

    async def _call(self) -> None:
        resumed, self._resumed = self._resumed, False
        await self._calling.run(self._state.all_steps()[-1], resumed=resumed)

    async def _finish(self) -> None:
        step = self._state.all_steps()[-1]
        if not step.text.strip():
            if "empty_reply" in self._state.noticed:
                detail = "the model gave an empty reply twice"
                raise Ending(Verdict(reason=Reason.SILENT_FAILURE, detail=detail))
            await self._append(Noticed(turn=self._state.turn, code="empty_reply", text=EMPTY_REPLY, to="model"))
            return
        if not self._kit.inbox.close_if_empty():
            await self._take_steered()
            return
        if self._state.last_finish in CUT_FINISHES:
            text = f"The reply was cut at the model's limit of {self._kit.model.output_tokens} tokens."
            await self._append(Noticed(turn=self._state.turn, code="reply_cut", text=text, to="person"))
        raise Ending(Verdict(reply=step.text))

    async def _wrap_up(self, exhausted: Exhausted) -> None:
        detail = f"{exhausted.meter}: {exhausted.detail}"
        if self._state.wrap_up is not None:  # of a turn that was resumed after it
            raise Ending(Verdict(reason=Reason.BUDGET_EXHAUSTED, detail=detail, reply=self._state.wrap_up))
        if any(step.open_calls() for step in self._state.all_steps()[-1:]):
            await self._kit.record.commit(lambda _: None, self._admit)  # what was broken off is posted: now it is there
            self._take_in_ends()
        message = wrap_up_message(self._state, exhausted.detail)
        part = Part(message, self._kit.model.provider.message(message))
        reply = ""
        try:
            asked = Asked(
                step=0,
                purpose=WRAP_UP,
                parts=(part,),
                reservation=self._meters.reserve_wrap_up(self._bytes_of([part])),
                seconds=self._meters.wrap_up_seconds(),
            )
            response = await self._inferring.infer(asked)
            self._state.apply(response)
            reply = response.text
        except AuditFailure:
            raise
        except (Exhausted, ElisError) as error:
            # BUD-4: if the wrap-up fails too, the first reason stands
            _LOG.info("turn %s has no wrap-up: %s", self._state.turn, error)
        raise Ending(Verdict(reason=Reason.BUDGET_EXHAUSTED, detail=detail, reply=reply))

    def _request_parts(self) -> list[Part]:
        conversation, provider = self._kit.conversation, self._kit.model.provider
        conversation.extend(self._state.turn, self._state.messages())
        window_bytes = int(self._kit.model.context_tokens * WINDOW_SHARE * self._meters.bytes_per_token)
        conversation.shorten(window_bytes - len(self._kit.head), keep=self._state.turn)
        parts = conversation.parts()
        last = parts[-1]
        if last.message is not None:
            marked = provider.message(last.message, breakpoint_here=True)
            if marked != last.data:
                parts[-1] = Part(last.message, marked, last.weight + len(marked) - len(last.data))
        wrap_up = provider.message(wrap_up_message(self._state, ""))
        self._meters.keep_for_wrap_up(len(self._kit.head) + len(wrap_up))
        if not self._kit.model.tools:
            return parts  # it can do nothing with the status, and a small model would answer that instead
        status = tail(self._kit.now(), self._left(), turns_left_out=conversation.left_out)
        return [*parts, Part(status, provider.message(status))]

    def _left(self) -> BudgetLeft:
        limits, used = self._kit.limits, self._meters
        return BudgetLeft(
            tokens=limits.tokens - used.tokens,
            cost_usd=limits.cost_usd - used.cost_usd,
            seconds=limits.seconds - used.clock.elapsed(),
            steps=limits.steps - used.steps,
        )

    def _bytes_of(self, parts: list[Part]) -> int:
        return len(self._kit.head) + sum(part.weight + 1 for part in parts)

    async def _take_steered(self) -> None:
        for message in self._kit.inbox.take():
            step = self._state.steps + 1
            await self._append(MessageEntered(turn=self._state.turn, message=message.id, text=message.text, step=step))

    async def _warn_once(self) -> None:
        meter, share = self._meters.worst_share()
        if share >= WARN_SHARE and "budget_80" not in self._state.noticed:
            text = f"{share:.0%} of this turn's limit of {meter} is used. Come to an end, or say what is left to do."
            await self._append(Noticed(turn=self._state.turn, code="budget_80", text=text, to="model"))

    async def _end(self, verdict: Verdict) -> None:
        self._kit.fault("turn.before_end")
        turn = self._state.turn
        verdict = verdict.within(self._meters.clock.elapsed())
        try:
            self._kit.inbox.seal()
            seq, _ = await self._kit.record.commit(end_turn(turn, verdict), self._admit)
        except StaleGeneration:
            _LOG.info("turn %s was ended by others", turn)
        except AuditFailure as error:
            self._kit.unrecorded(turn, error.message)
        else:
            self._kit.fault("turn.after_end")
            self._take_in_ends()
            self._state.apply(self._kit.record.event(seq))
            self._kit.conversation.close(turn, self._state.closed_messages())

    def _take_in_ends(self) -> None:
        """Calls that were broken off are journaled from where they ran; later turns must not hear that they did not."""
        for stored in self._kit.record.turn_events(self._state.turn):
            if isinstance(stored.event, CallFinished | CallRefused):
                self._state.apply(stored.event)

    async def _append(self, *events: GroupEvent) -> None:
        await self._kit.record.append(*events, admit=self._admit)
        for event in events:
            self._state.apply(event)
