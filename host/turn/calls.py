"""The calls of a step: in order or side by side, through the gate, within the turn's seconds.

Calls that only look run side by side; anything that changes state runs strictly one at a time, in the order asked
(PASS-2). What goes round in circles is refused here, before the gate sees it (LOOP-1).
"""

import asyncio
from typing import Final

from host.gate.stages import Caller, Requested, Settled
from host.record.events import CallAsked, CallRefused, Noticed
from host.record.record import Admit
from host.stops import Reason
from host.turn import repetition
from host.turn.assisting import Assisting
from host.turn.budget import Exhausted, Meters
from host.turn.ending import Ending, Verdict
from host.turn.kit import TurnKit
from host.turn.state import CallEnd, Step, TurnState

_LOOK_AGAIN_SECONDS: Final = 0.5  # how often a paused clock is looked at while a person is awaited


class Calling:
    """The calls of one turn."""

    def __init__(self, kit: TurnKit, state: TurnState, meters: Meters, admit: Admit) -> None:
        self._kit = kit
        self._state = state
        self._meters = meters
        self._admit = admit
        self._adviser = None if kit.aux is None else Assisting(kit, kit.aux, state, meters, admit)

    async def run(self, step: Step, *, resumed: bool) -> None:
        """Run the open calls of `step`; raises Ending, Exhausted, Parked or AuditFailure."""
        calls = step.open_calls()
        if len(calls) > 1 and self._all_differ(calls) and await self._may_run_side_by_side(calls):
            ends = await asyncio.gather(
                *(self._call(asked, step.text, resumed=resumed) for asked in calls), return_exceptions=True
            )
            for end in ends:
                if isinstance(end, BaseException):
                    raise end
            await self._judge_errors()
            return
        for asked in calls:
            # what was started before a restart was judged then, and is not to be reported as not run
            if asked.call not in step.started and repetition.repeats(asked, self._state):
                await self._refuse_repetition(asked)
            await self._call(asked, step.text, resumed=resumed)
            await self._judge_errors()

    @staticmethod
    def _all_differ(calls: list[CallAsked]) -> bool:
        """Identical calls are judged one after the other, or the third would run unseen (LOOP-1)."""
        return len({repetition.call_key(asked) for asked in calls}) == len(calls)

    async def _may_run_side_by_side(self, calls: list[CallAsked]) -> bool:
        for asked in calls:
            beside = await self._kit.gate.may_run_beside(asked.tool, asked.arguments)
            if not beside or repetition.repeats(asked, self._state):
                return False
        return True

    async def _call(self, asked: CallAsked, doing: str, *, resumed: bool) -> None:
        started = self._state.started
        requested = Requested(
            caller=Caller(
                turn=self._state.turn,
                principal=started.principal if started else "",
                unattended=started.unattended if started else True,
                doing=doing,
            ),
            call=asked.call,
            tool=asked.tool,
            arguments=asked.arguments,
        )
        with self._meters.clock.working():
            settled = await self._within_time(requested, resumed=resumed)
        self._state.end_call(
            asked.call,
            CallEnd(
                ok=settled.ok,
                ran=settled.ran,
                changed_state=settled.changed_state,
                reason=settled.reason,
                text=settled.text,
                result_hash=settled.result_hash,
                misasked=settled.misasked,
                image=settled.image,
            ),
        )

    async def _within_time(self, requested: Requested, *, resumed: bool) -> Settled:
        """Pass the gate; the turn's seconds end the call, but none pass while a person is awaited."""
        clock = self._meters.clock
        call = self._kit.gate.pass_call(requested, self._admit, clock, adviser=self._adviser, resumed=resumed)
        if self._meters.seconds_left() == float("inf"):
            return await call
        passing = asyncio.ensure_future(call)
        try:
            while not passing.done():
                left = self._meters.seconds_left()
                if left <= 0:
                    raise Exhausted("seconds", f"the limit of {self._meters.limits.seconds:g} seconds is reached")
                await asyncio.wait({passing}, timeout=_LOOK_AGAIN_SECONDS if clock.paused else left)
            return passing.result()
        finally:
            if not passing.done():
                passing.cancel()
                await asyncio.wait({passing})

    async def _refuse_repetition(self, asked: CallAsked) -> None:
        refused = CallRefused(
            turn=self._state.turn,
            call=asked.call,
            tool=asked.tool,
            effect=None,
            stage="repetition",
            rule="LOOP-1",
            reason=Reason.NO_PROGRESS,
            result="This is the third identical call with nothing changed in between. It was not run.",
        )
        await self._kit.record.append(refused, admit=self._admit)
        self._state.apply(refused)
        detail = f"{asked.tool} was asked for a third time with nothing changed in between"
        raise Ending(Verdict(reason=Reason.NO_PROGRESS, detail=detail))

    async def _judge_errors(self) -> None:
        misasked = repetition.misasked_in_a_row(self._state)
        if misasked == repetition.MISASKED_SHOWN:
            text = (
                f"The model has asked for {misasked} calls in a row that do not exist or do not fit. Steer or stop it."
            )
            told = Noticed(turn=self._state.turn, code="misasked", text=text, to="person")
            await self._kit.record.append(told, admit=self._admit)
            self._state.apply(told)
        started = self._state.started
        if started is not None and started.unattended and repetition.refusals(self._state) >= repetition.REFUSALS:
            detail = f"{repetition.REFUSALS} calls were refused, and nobody watches this turn"
            raise Ending(Verdict(reason=Reason.POLICY_VIOLATION, detail=detail))
        errors = repetition.errors_in_a_row(self._state)
        if errors >= repetition.ERROR_RUN:
            detail = f"{errors} calls in a row failed or were refused"
            raise Ending(Verdict(reason=Reason.NO_PROGRESS, detail=detail))
