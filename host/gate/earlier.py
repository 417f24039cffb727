"""What is known of a call before it passes the gate: nothing, its end, or only that it was started (REC-1, REC-6).

The record is asked before any stage, so that nothing which ran is reported as refused, whatever settings, tools or a
person say by now. An end is told as it was recorded. A started call without one follows its passport's replay rule, and
what a stage refuses it then is the second run: the model is told that the outcome of the first is unknown.
"""

import hashlib
from typing import Final, assert_never

import msgspec

from host.gate.settling import settle_refusal
from host.gate.stages import Refusal, Registered, Requested, Settled
from host.ids import idempotency_key
from host.models.arguments import UnreadableArguments, canonical_arguments, read_arguments
from host.passport import STATE_CHANGING, Effect, Replay
from host.record.events import CallFinished, CallRefused, CallStarted
from host.record.record import Admit, Record
from host.record.rows import CallRow
from host.stops import Reason
from host.vault.masking import Masker

STAGE: Final = "replay"
_LOOK: Final = (
    "Find out what it did before you go on: {look} with a tool that only reads, and repeat only what is missing."
)


class Earlier:
    """Knows what became of the calls of one group."""

    def __init__(self, record: Record, masker: Masker) -> None:
        self._record = record
        self._masker = masker

    def of(self, requested: Requested) -> CallRow | None:
        """Return what is known of the call under its key; None: it is new."""
        row = self._record.call_of(idempotency_key(requested.caller.turn, requested.call))
        return None if row is None or row.state == "asked" else row

    async def told_again(self, requested: Requested, row: CallRow, admit: Admit) -> Settled:
        """Answer a call that has its end from the record; raise Refusal for a key that was used for something else."""
        ended = self._record.result_of(row)
        if isinstance(ended, CallRefused):
            refusal = Refusal(ended.stage, ended.rule, ended.reason, ended.result)
            return await settle_refusal(requested, refusal, (ended.effect, ended.target, ()), self._record, admit)
        if not isinstance(ended, CallFinished) or row.arguments_hash != _hash_of(requested):
            raise _other_input(row)
        self._record.post(msgspec.structs.replace(ended, recorded=True, seconds=0.0), admit=admit)
        return _settled(ended, self._masker.text(ended.result))

    def check_again(self, registered: Registered, row: CallRow, *, resumed: bool) -> None:
        """Raise Refusal unless this started call may be run a second time; `resumed`: since its host went down."""
        if row.arguments_hash != hash_of(registered):
            raise _other_input(row)
        match registered.passport.replay:
            case Replay.PURE | Replay.IDEMPOTENT:
                if resumed:
                    return
            case Replay.EFFECT:
                pass
            case _:
                assert_never(registered.passport.replay)
        raise Refusal(STAGE, "", Reason.UNKNOWN, "")

    def unknown(self, row: CallRow, registered: Registered | None, refusal: Refusal, admit: Admit) -> Settled:
        """Journal that the outcome of a started call is unknown, since `refusal` keeps it from being run again."""
        started = self._record.event(row.seq)
        rule = "" if refusal.stage == STAGE else f" (the rule {refusal.rule} of {refusal.stage} is against it now)"
        text = (
            f"The host stopped while this call ran, so its outcome is unknown and it was not run again{rule}."
            f" {_LOOK.format(look=_where(row, registered))}"
        )
        text = self._masker.text(text)
        finished = CallFinished(
            turn=row.turn,
            call=row.call,
            tool=started.tool if isinstance(started, CallStarted) else row.tool,
            effect=Effect(row.effect),
            ok=False,
            reason=Reason.UNKNOWN,
            detail="outcome unknown after a restart",
            result=text,
            result_hash=hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
            target=row.target,
            seconds=0.0,
        )
        self._record.post(finished, admit=admit)
        return _settled(finished, text)


def hash_of(registered: Registered) -> str:
    """Return what is equal for calls of one tool with equal arguments, secrets still as handles (REC-6)."""
    return _hash(registered.requested.tool, registered.canonical)


def _hash_of(requested: Requested) -> str:
    """Return the same for a call that no stage has looked at; empty where its arguments cannot be read."""
    try:
        return _hash(requested.tool, canonical_arguments(read_arguments(requested.arguments)))
    except UnreadableArguments:
        return ""


def _hash(tool: str, canonical: bytes) -> str:
    return hashlib.blake2b(tool.encode() + b"\0" + canonical, digest_size=16).hexdigest()


def _other_input(row: CallRow) -> Refusal:
    text = f"The key {row.key} belongs to a call with other arguments; it was not run."
    return Refusal("registry", "idempotency-key", Reason.PROTOCOL_VIOLATION, text)


def _where(row: CallRow, registered: Registered | None) -> str:
    path = registered is not None and registered.passport.changed_by in registered.passport.paths
    return f"look at {row.target}" if path and row.target else "look at what it would have changed"


def _settled(ended: CallFinished, text: str) -> Settled:
    return Settled(
        call=ended.call,
        tool=ended.tool,
        ok=ended.ok,
        ran=True,
        changed_state=ended.ok and ended.effect in STATE_CHANGING,
        reason=ended.reason,
        text=text,
        image=ended.image,
        result_hash=ended.result_hash,
    )
