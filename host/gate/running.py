"""The fifth stage: the tool runs, once (REC-1, REC-6).

The start is durable before the tool runs. A call whose key is known already is not run as if it were new: a finished
one gives its recorded result, a started one follows its passport's replay rule. Time-outs and errors of a tool end
here as results with a reason; what concerns the turn (parked, a journal that cannot be written, a lane that was
replaced) passes through, and so does cancellation.
"""

import asyncio
import hashlib
import logging
import time
import traceback
from collections.abc import Callable
from typing import Final, assert_never

from host.errors import AuditFailure, ElisError
from host.gate.permission import plain_arguments
from host.gate.stages import Armed, Parked, Ran, Refusal, Registered, WaitClock
from host.passport import Replay
from host.record.events import CallFinished, CallRefused, CallRepeated, CallStarted, ImageSeen
from host.record.record import Admit, Record
from host.record.rows import CallRow
from host.stops import Reason
from host.tools.images import Seen
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

    async def run(self, armed: Armed, admit: Admit, waits: WaitMeter, *, resumed: bool) -> Ran:
        """Run the call, or answer from the record; raise Refusal for a key that was used for something else."""
        registered = armed.confined.permitted.registered
        digest = arguments_hash(registered)
        known = self._record.call_of(armed.scope.key)
        if known is None or known.state == "asked":
            await self._record.append(_started(registered, armed.scope.key, digest), admit=admit)
            return await self._timed(armed, admit, waits)
        event = self._record.result_of(known)
        if isinstance(event, CallRefused):
            raise Refusal(event.stage, event.rule, event.reason, event.result)
        if known.arguments_hash != digest:
            text = f"The key {armed.scope.key} belongs to a call with other arguments; it was not run."
            raise Refusal("registry", "idempotency-key", Reason.PROTOCOL_VIOLATION, text)
        if isinstance(event, CallFinished):
            image = None if event.image is None else self._image(event.image)
            result = ToolResult(text=event.result, ok=event.ok, reason=event.reason, detail=event.detail, image=image)
            return Ran(armed=armed, result=result, seconds=0.0, recorded=True, result_hash=event.result_hash)
        return await self._interrupted(armed, admit, waits, known) if resumed else _unknown(armed)

    def _image(self, seen: ImageSeen) -> Seen:
        data = self._record.body(seen.body) if seen.body else b""
        return Seen(
            how=seen.how, media_type=seen.media_type, data=data, width=seen.width, height=seen.height, name=seen.name
        )

    async def _interrupted(self, armed: Armed, admit: Admit, waits: WaitMeter, known: CallRow) -> Ran:
        """The host went down while this call ran: its passport says what may be done about it."""
        registered = armed.confined.permitted.registered
        match registered.passport.replay:
            case Replay.PURE | Replay.IDEMPOTENT:
                repeated = CallRepeated(turn=known.turn, call=known.call, key=known.key)
                await self._record.append(repeated, admit=admit)
                return await self._timed(armed, admit, waits)
            case Replay.EFFECT:
                return _unknown(armed)
            case _:
                assert_never(registered.passport.replay)

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
        return Ran(armed=armed, result=result, seconds=time.monotonic() - began - waits.seconds, recorded=False)

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
            text = f"{passport.name} failed unexpectedly ({detail}). Try another way, or tell the person."
            return ToolResult(text="", head=text, ok=False, reason=Reason.UNKNOWN, detail=detail)


def arguments_hash(registered: Registered) -> str:
    """Return what is equal for calls of one tool with equal arguments, secrets still as handles (REC-6)."""
    named = registered.requested.tool.encode() + b"\0" + registered.canonical
    return hashlib.blake2b(named, digest_size=16).hexdigest()


def _started(registered: Registered, key: str, digest: str) -> CallStarted:
    requested = registered.requested
    return CallStarted(
        turn=requested.caller.turn,
        call=requested.call,
        tool=requested.tool,
        effect=registered.passport.effect,
        arguments=plain_arguments(registered.arguments),
        key=key,
        arguments_hash=digest,
        target=registered.target,
    )


def _unknown(armed: Armed) -> Ran:
    registered = armed.confined.permitted.registered
    path = registered.passport.changed_by in registered.passport.paths
    look = f"look at {registered.target}" if path and registered.target else "look at what it would have changed"
    text = (
        "The host stopped while this call ran, so its outcome is unknown and it was not run again. Find out what it"
        f" did before you go on: {look} with a tool that only reads, and repeat only what is missing."
    )
    result = ToolResult(text="", head=text, ok=False, reason=Reason.UNKNOWN, detail="outcome unknown after a restart")
    return Ran(armed=armed, result=result, seconds=0.0, recorded=False)


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
