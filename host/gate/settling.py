"""Two stages: the result loses its secrets; when its words are found, it goes into the journal before anyone hears it.

An empty success where content was promised is a failure (REPLY-4). Refused calls end here too: a refusal is an answer
to the model, with its own event. Whatever a tool gives back, its event can be encoded: lone surrogates, as in names
that are no UTF-8, are shown as escapes (`host.tools.names`).
"""

import hashlib
from collections.abc import Callable

import msgspec

from host.gate.stages import Masked, Ran, Refusal, Registered, Requested, Settled, Told
from host.ids import idempotency_key
from host.passport import STATE_CHANGING, Effect
from host.record.events import CallFinished, CallRefused, GroupEvent, ImageSeen, Intent
from host.record.record import Admit, Record
from host.stops import Reason
from host.tools.images import Seen
from host.tools.names import escaped
from host.tools.tool import ToolResult
from host.vault.masking import Masker
from memory.journal import Unit


def mask(ran: Ran, masker: Masker) -> Masked:
    """Return the result without lent values and typical forms of secrets (MASK-1), as text that can be encoded."""
    result = ran.result
    words = (result.head, result.text, result.detail, result.essence)
    head, text, detail, essence = (escaped(masker.text(each)) for each in words)
    # a secret may hold bytes that are escaped: masked first
    return Masked(ran=ran, head=head, text=text, detail=detail, essence=essence)


async def settle(told: Told, record: Record, admit: Admit) -> Settled:
    """Journal the result and return what the turn goes on with."""
    registered = told.ran.armed.confined.permitted.registered
    told = _with_content(told, registered)
    result, passport = told.ran.result, registered.passport
    result_hash = hashlib.blake2b(told.essence.encode(), digest_size=16).hexdigest()
    finished = CallFinished(
        turn=registered.requested.caller.turn,
        call=registered.requested.call,
        tool=escaped(registered.requested.tool),
        effect=passport.effect,
        ok=result.ok,
        reason=result.reason,
        detail=told.detail,
        result=told.text,
        result_hash=result_hash,
        target=escaped(registered.target),
        seconds=told.ran.seconds,
    )
    image = None
    if result.image is None:
        # Not awaited: the model hears of it by a request whose own commit comes after this one.
        record.post(finished, admit=admit)
    else:
        image = await record.commit(_with_image(finished, result.image), admit)
    return Settled(
        call=registered.requested.call,
        tool=registered.requested.tool,
        ok=result.ok,
        ran=True,
        changed_state=result.ok and passport.effect in STATE_CHANGING,
        reason=result.reason,
        text=told.text,
        image=image,
        result_hash=result_hash,
    )


def _with_image(finished: CallFinished, seen: Seen) -> Callable[[Unit[GroupEvent]], ImageSeen]:
    """Return the unit that stores what is shown once by its content, and names it in the event (TURN-3, TURN-7)."""

    def unit(unit: Unit[GroupEvent]) -> ImageSeen:
        image = ImageSeen(
            how=seen.how,
            name=escaped(seen.name),
            body=unit.body(seen.data) if seen.data else "",
            media_type=seen.media_type,
            size_bytes=len(seen.data),
            width=seen.width,
            height=seen.height,
        )
        unit.append(msgspec.structs.replace(finished, image=image))
        return image

    return unit


async def settle_refusal(
    requested: Requested,
    refusal: Refusal,
    known: tuple[Effect | None, str, tuple[Intent, ...]],
    record: Record,
    admit: Admit,
) -> Settled:
    """Journal a refusal, masked already, and return it as an answer to the model.

    `known` is effect, target, and the intents of single commands that are refused with it.
    A call that was refused before a restart keeps its one event.
    """
    effect, target, intents = known
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
            intents=intents,
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


def _with_content(told: Told, registered: Registered) -> Told:
    if not told.ran.result.ok or not registered.passport.promises_content or told.text.strip():
        return told
    text = f"{registered.requested.tool} reported success and gave nothing. Do not rely on it."
    result = ToolResult(text=text, ok=False, reason=Reason.SILENT_FAILURE, detail="empty success")
    ran = msgspec.structs.replace(told.ran, result=result)
    return Told(ran=ran, text=text, detail=result.detail, essence=text)
