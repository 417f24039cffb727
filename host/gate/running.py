"""The fifth stage: the tool runs, once (REC-1, REC-6).

The start is durable before the tool runs; whether a call whose key is known may run at all was decided before
(`earlier.py`). Time-outs and errors of a tool end here as results with a reason; what concerns the turn (parked, a
journal that cannot be written, a lane that was replaced) passes through, and so does cancellation.
"""

import asyncio
import logging
import time
import traceback
from collections.abc import Callable
from typing import Final

from host.errors import AuditFailure, ElisError
from host.gate.earlier import hash_of
from host.gate.permission import plain_arguments
from host.gate.stages import Armed, Parked, Ran, Registered, WaitClock
from host.record.events import CallFinished, CallRepeated, CallStarted
from host.record.record import Admit, Record
from host.stops import Reason
from host.tools.names import escaped
from host.tools.tool import ToolResult
from host.vault.masking import Masker
from lanes.errors import StaleGeneration

_LOG: Final = logging.getLogger(__name__)


class WaitMeter:
    """A turn's clock that also knows how long one call waited for a person. Belongs to one call."""

    def __init__(self, clock: WaitClock) -> None:
        self.seconds = 0.0
        self._clock = clock
        self._since = 0.0

    def pause(self) -> None:
        """Stand still."""
        self._since = time.monotonic()
        self._clock.pause()

    def resume(self) -> None:
        """Go on."""
        self.seconds += time.monotonic() - self._since
        self._clock.resume()


class Running:
    """Runs tools for one group."""

    def __init__(self, record: Record, masker: Masker, fault: Callable[[str], None]) -> None:
        self._record = record
        self._masker = masker
        self._fault = fault

    async def run(self, armed: Armed, admit: Admit, waits: WaitMeter, *, again: bool) -> Ran:
        """Run the call; `again` says that it was started before, and that its passport lets it run a second time."""
        registered, key = armed.confined.permitted.registered, armed.scope.key
        requested = registered.requested
        repeated = CallRepeated(turn=requested.caller.turn, call=requested.call, key=key)
        await self._record.append(repeated if again else _started(registered, key), admit=admit)
        return await self._timed(armed, admit, waits)

    async def _timed(self, armed: Armed, admit: Admit, waits: WaitMeter) -> Ran:
        self._fault("call.before_run")
        began = time.monotonic()
        try:
            result = await self._outcome(armed)
        except asyncio.CancelledError:
            # Kept as interrupted, so that the journal says it may have done a part. Not awaited: the task is being
            # stopped. A lane that was given up writes nothing, and its turn is resumed by the replay rule.
            self._record.post(_broken_off(armed, time.monotonic() - began - waits.seconds), admit=admit)
            raise
        self._fault("call.after_effect")
        return Ran(armed=armed, result=result, seconds=time.monotonic() - began - waits.seconds)

    async def _outcome(self, armed: Armed) -> ToolResult:
        registered = armed.confined.permitted.registered
        passport = registered.passport
        limit = asyncio.timeout(None if passport.person_waits else passport.timeout_seconds)
        try:
            async with limit:
                return await registered.tool.run(armed.arguments, armed.scope)
        except (Parked, AuditFailure, StaleGeneration):
            raise
        except ElisError as error:
            return ToolResult(text="", head=error.message, ok=False, reason=error.reason, detail=error.message)
        except Exception as error:  # noqa: BLE001 - the gate's one boundary: a tool's bug fails the call, not the turn
            if isinstance(error, TimeoutError) and limit.expired():
                text = f"{passport.name} was ended after {passport.timeout_seconds:g} seconds."
                return ToolResult(text="", head=text, ok=False, reason=Reason.TIMED_OUT, detail=text)
            trace = escaped(self._masker.text("".join(traceback.format_exception(error))))
            _LOG.error("the tool %s failed unexpectedly: %s", passport.name, trace)
            detail = f"{type(error).__name__}: {error}"
            text = f"{passport.name} failed unexpectedly. Try another way, or tell the person."
            # the error may quote what came from outside: no words of the host
            return ToolResult(text=detail, head=text, ok=False, reason=Reason.UNKNOWN, detail=detail)


def _started(registered: Registered, key: str) -> CallStarted:
    requested = registered.requested
    return CallStarted(
        turn=requested.caller.turn,
        call=requested.call,
        tool=requested.tool,
        effect=registered.passport.effect,
        arguments=plain_arguments(registered.arguments),
        key=key,
        arguments_hash=hash_of(registered),
        target=registered.target,
    )


def _broken_off(armed: Armed, seconds: float) -> CallFinished:
    registered = armed.confined.permitted.registered
    return CallFinished(
        turn=registered.requested.caller.turn,
        call=registered.requested.call,
        tool=registered.requested.tool,
        effect=registered.passport.effect,
        ok=False,
        reason=Reason.INTERRUPTED,
        detail="broken off",
        result="The call was broken off; it may have done a part of its work.",
        result_hash="",
        target=registered.target,
        seconds=seconds,
    )
