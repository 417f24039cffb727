"""The fifth stage: the tool runs, once (REC-1, REC-6).

The start is durable before the tool runs. A call whose key is known already is not run as if it were new: a finished
one gives its recorded result, a started one follows its passport's replay rule. Time-outs and errors of a tool end
here as results with a reason.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable
from typing import Final, assert_never

from host.errors import ElisError
from host.gate.permission import plain_arguments
from host.gate.stages import Armed, Parked, Ran, Refusal
from host.ids import idempotency_key
from host.passport import Replay
from host.record.events import CallFinished, CallRepeated, CallStarted
from host.record.record import Admit, Record
from host.record.rows import CallRow
from host.stops import Reason
from host.tools.tool import ToolResult

_LOG: Final = logging.getLogger(__name__)

UNKNOWN_OUTCOME: Final = (
    "The host stopped while this call ran, so its outcome is unknown and it was not run again. "
    "Find out what it did (read the files it would have changed) before you go on."
)


class Running:
    """Runs tools for one group."""

    def __init__(self, record: Record, fault: Callable[[str], None]) -> None:
        self._record = record
        self._fault = fault

    async def run(self, armed: Armed, admit: Admit, *, resumed: bool) -> Ran:
        """Run the call, or answer from the record; raise Refusal for a key that was used for something else."""
        registered = armed.confined.permitted.registered
        turn, call = registered.requested.caller.turn, registered.requested.call
        key = idempotency_key(turn, call)
        digest = hashlib.blake2b(registered.canonical, digest_size=16).hexdigest()
        known = self._record.call_of(key)
        if known is None or known.state == "asked":
            await self._record.append(
                CallStarted(
                    turn=turn,
                    call=call,
                    tool=registered.requested.tool,
                    effect=registered.passport.effect,
                    arguments=plain_arguments(registered.arguments),
                    key=key,
                    arguments_hash=digest,
                    target=registered.target,
                ),
                admit=admit,
            )
            return await self._timed(armed, admit)
        if known.arguments_hash != digest:
            text = f"The key {key} belongs to a call with other arguments; a new call needs a new key."
            raise Refusal("registry", "idempotency-key", Reason.PROTOCOL_VIOLATION, text)
        if known.state != "started":
            return self._recorded(armed, known)
        return await self._interrupted(armed, admit, key) if resumed else _unknown(armed)

    async def _interrupted(self, armed: Armed, admit: Admit, key: str) -> Ran:
        """The host went down while this call ran: its passport says what may be done about it."""
        registered = armed.confined.permitted.registered
        match registered.passport.replay:
            case Replay.PURE | Replay.IDEMPOTENT:
                turn, call = registered.requested.caller.turn, registered.requested.call
                await self._record.append(CallRepeated(turn=turn, call=call, key=key), admit=admit)
                return await self._timed(armed, admit)
            case Replay.EFFECT:
                return _unknown(armed)
            case _:
                assert_never(registered.passport.replay)

    def _recorded(self, armed: Armed, known: CallRow) -> Ran:
        event = self._record.result_of(known)
        if not isinstance(event, CallFinished):
            return _unknown(armed)
        result = ToolResult(text=event.result, ok=event.ok, reason=event.reason, detail=event.detail)
        return Ran(armed=armed, result=result, seconds=0.0, recorded=True)

    async def _timed(self, armed: Armed, admit: Admit) -> Ran:
        passport = armed.confined.permitted.registered.passport
        self._fault("call.before_run")
        began = time.monotonic()
        try:
            async with asyncio.timeout(None if passport.person_waits else passport.timeout_seconds):
                result = await armed.confined.permitted.registered.tool.run(armed.arguments, armed.scope)
        except asyncio.CancelledError:
            self._broken_off(armed, admit, time.monotonic() - began)
            raise
        except TimeoutError:
            text = f"{passport.name} was ended after {passport.timeout_seconds:g} seconds."
            result = ToolResult(text=text, ok=False, reason=Reason.TIMED_OUT, detail=text)
        except Parked:
            raise
        except ElisError as error:
            result = ToolResult(text=error.message, ok=False, reason=error.reason, detail=error.message)
        except Exception as error:  # noqa: BLE001 - the gate's one boundary: a tool's bug fails the call, not the turn
            _LOG.exception("the tool %s failed unexpectedly", passport.name)
            detail = f"{type(error).__name__}: {error}"
            text = f"{passport.name} failed unexpectedly ({detail}). Try another way, or tell the person."
            result = ToolResult(text=text, ok=False, reason=Reason.UNKNOWN, detail=detail)
        self._fault("call.after_effect")
        if result.ok and passport.promises_content and not result.text.strip():
            text = f"{passport.name} reported success and gave nothing. Do not rely on it."
            result = ToolResult(text=text, ok=False, reason=Reason.SILENT_FAILURE, detail="empty success")
        return Ran(armed=armed, result=result, seconds=time.monotonic() - began, recorded=False)

    def _broken_off(self, armed: Armed, admit: Admit, seconds: float) -> None:
        # Not awaited: the task is being cancelled. The final event's unit comes after it in the journal's order.
        registered = armed.confined.permitted.registered
        text = "The call was broken off; it may have done a part of its work."
        finished = CallFinished(
            turn=registered.requested.caller.turn,
            call=registered.requested.call,
            tool=registered.requested.tool,
            effect=registered.passport.effect,
            ok=False,
            reason=Reason.INTERRUPTED,
            detail="broken off",
            result=text,
            result_hash="",
            target=registered.target,
            seconds=seconds,
        )
        self._record.post(finished, admit=admit)


def _unknown(armed: Armed) -> Ran:
    result = ToolResult(text=UNKNOWN_OUTCOME, ok=False, reason=Reason.UNKNOWN, detail="outcome unknown after a restart")
    return Ran(armed=armed, result=result, seconds=0.0, recorded=False)
