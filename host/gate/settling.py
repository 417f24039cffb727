"""The last two stages: the result loses its secrets, then goes into the journal before anyone hears of it.

An empty success where content was promised is a failure (REPLY-4). Refused calls end here too: a refusal is an answer
to the model, with its own event. Whatever a tool gives back, its event can be encoded: lone surrogates, as in names
that are no UTF-8, are shown as escapes (`host.tools.names`).
"""

import hashlib

import msgspec

from host.gate.stages import Masked, Ran, Refusal, Registered, Requested, Settled
from host.ids import idempotency_key
from host.passport import STATE_CHANGING, Effect
from host.record.events import CallFinished, CallRefused
from host.record.record import Admit, Record
from host.stops import Reason
from host.tools.names import escaped
from host.tools.tool import ToolResult
from host.vault.masking import Masker


def mask(ran: Ran, masker: Masker) -> Masked:
    """Return the result without lent values and typical forms of secrets (MASK-1), as text that can be encoded."""
    # a secret may hold such bytes itself
    text, detail, essence = map(masker.text, (ran.result.text, ran.result.detail, ran.result.essence))
    return Masked(ran=ran, text=escaped(text), detail=escaped(detail), essence=escaped(essence or text))


async def settle(masked: Masked, record: Record, admit: Admit) -> Settled:
    """Journal the result and return what the turn goes on with."""
    ran = masked.ran
    registered = ran.armed.confined.permitted.registered
    masked = _with_content(masked, registered)
    result, passport = masked.ran.result, registered.passport
    result_hash = ran.result_hash or hashlib.blake2b(masked.essence.encode(), digest_size=16).hexdigest()
    finished = CallFinished(
        turn=registered.requested.caller.turn,
        call=registered.requested.call,
        tool=escaped(registered.requested.tool),
        effect=passport.effect,
        ok=result.ok,
        reason=result.reason,
        detail=masked.detail,
        result=masked.text,
        result_hash=result_hash,
        target=escaped(registered.target),
        seconds=ran.seconds,
        recorded=ran.recorded,
    )
    # Not awaited: the model hears of it by a request whose own commit comes after this one.
    record.post(finished, admit=admit)
    return Settled(
        call=registered.requested.call,
        tool=registered.requested.tool,
        ok=result.ok,
        ran=True,
        changed_state=result.ok and passport.effect in STATE_CHANGING,
        reason=result.reason,
        text=masked.text,
        result_hash=result_hash,
    )


async def settle_refusal(
    requested: Requested, refusal: Refusal, known: tuple[Effect | None, str], record: Record, admit: Admit
) -> Settled:
    """Journal a refusal, masked already, and return it as an answer to the model; `known` is effect and target.

    A call that was refused before a restart keeps its one event.
    """
    effect, target = known
    text = escaped(refusal.text)
    before = record.call_of(idempotency_key(requested.caller.turn, requested.call))
    if before is None or before.state != "refused":
        refused = CallRefused(
            turn=requested.caller.turn,
            call=requested.call,
            tool=escaped(requested.tool),
            effect=effect,
            stage=refusal.stage,
            rule=escaped(refusal.rule),
            reason=refusal.reason,
            result=text,
            target=escaped(target),
        )
        await record.append(refused, admit=admit)
    return Settled(
        call=requested.call,
        tool=requested.tool,
        ok=False,
        ran=False,
        misasked=refusal.stage == "registry",
        changed_state=False,
        reason=refusal.reason,
        text=text,
    )


def _with_content(masked: Masked, registered: Registered) -> Masked:
    if not masked.ran.result.ok or not registered.passport.promises_content or masked.text.strip():
        return masked
    text = f"{registered.requested.tool} reported success and gave nothing. Do not rely on it."
    result = ToolResult(text=text, ok=False, reason=Reason.SILENT_FAILURE, detail="empty success")
    ran = msgspec.structs.replace(masked.ran, result=result)
    return Masked(ran=ran, text=text, detail=result.detail, essence=text)
