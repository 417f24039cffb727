"""The last two stages: the result loses its secrets, then becomes durable; only then does the turn hear of it.

Refused calls end here too: a refusal is an answer to the model, with its own event.
"""

import hashlib
from collections.abc import Mapping

from host.gate.stages import Masked, Ran, Refusal, Requested, Settled
from host.passport import STATE_CHANGING
from host.record.events import CallFinished, CallRefused
from host.record.record import Admit, Record
from host.tools.tool import Tool
from host.vault.masking import Masker


def mask(ran: Ran, masker: Masker) -> Masked:
    """Return the result without lent values and typical forms of secrets (MASK-1)."""
    return Masked(ran=ran, text=masker.text(ran.result.text), detail=masker.text(ran.result.detail))


async def settle(masked: Masked, record: Record, admit: Admit) -> Settled:
    """Journal the result and return what the turn goes on with."""
    ran = masked.ran
    registered = ran.armed.confined.permitted.registered
    result, passport = ran.result, registered.passport
    finished = CallFinished(
        turn=registered.requested.caller.turn,
        call=registered.requested.call,
        tool=registered.requested.tool,
        effect=passport.effect,
        ok=result.ok,
        reason=result.reason,
        detail=masked.detail,
        result=masked.text,
        result_hash=hashlib.blake2b(masked.text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
        target=registered.target,
        seconds=ran.seconds,
        recorded=ran.recorded,
    )
    (seq,) = await record.append(finished, admit=admit)
    return Settled(
        call=registered.requested.call,
        tool=registered.requested.tool,
        ok=result.ok,
        ran=True,
        changed_state=result.ok and passport.effect in STATE_CHANGING,
        reason=result.reason,
        text=masked.text,
        seq=seq,
    )


async def settle_refusal(
    requested: Requested, refusal: Refusal, target: str, tools: Mapping[str, Tool], record: Record, admit: Admit
) -> Settled:
    """Journal a refusal and return it as an answer to the model."""
    tool = tools.get(requested.tool)
    refused = CallRefused(
        turn=requested.caller.turn,
        call=requested.call,
        tool=requested.tool,
        effect=tool.passport.effect if tool else None,
        stage=refusal.stage,
        rule=refusal.rule,
        reason=refusal.reason,
        result=refusal.text,
        target=target,
    )
    (seq,) = await record.append(refused, admit=admit)
    return Settled(
        call=requested.call,
        tool=requested.tool,
        ok=False,
        ran=False,
        misasked=refusal.stage == "registry",
        changed_state=False,
        reason=refusal.reason,
        text=refusal.text,
        seq=seq,
    )
