"""One inference with its attempts: reserve, journal the request, send, journal what came, settle.

A provider makes one request a call (TURN-1); the repeating is here, where each attempt is journaled (TURN-6). The
request is durable before it is sent and the answer before anyone is told (TURN-2). A broken or cancelled stream is
charged an honest estimate (BUD-3).
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from host.context.conversation import Part
from host.errors import ElisError, ModelUnavailable, ProtocolViolation, SecretMissing
from host.ids import call_id
from host.models.conversation import AttemptError, Inference, Request
from host.models.retry import wait_before
from host.record.events import AttemptFailed, CallAsked, GroupEvent, RequestSent, ResponseReceived
from host.record.record import Admit
from host.stops import Reason
from host.turn.budget import Exhausted, Meters, Reservation
from host.turn.kit import TurnKit
from host.turn.state import TurnState
from memory.journal import Unit

STEP: Final = "step"
WRAP_UP: Final = "wrap_up"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the model."""

    step: int  # 0 for the wrap-up
    purpose: str
    parts: Sequence[Part]  # messages, the dynamic tail last
    reservation: Reservation
    seconds: float  # time-out of the whole, `inf` for none


class Inferring:
    """The inferences of one turn."""

    def __init__(self, kit: TurnKit, state: TurnState, meters: Meters, admit: Admit) -> None:
        self._kit = kit
        self._turn = state.turn
        self._meters = meters
        self._admit = admit
        self._head = Part(None, kit.head)
        self.received = ""  # text of the reply that is under way, or that broke off last

    async def infer(self, asked: Asked) -> ResponseReceived:
        """Return the journaled answer; raise Exhausted (time, day's cap), ModelUnavailable or ProtocolViolation."""
        self._kit.day.reserve(asked.reservation)
        try:
            async with asyncio.timeout(None if asked.seconds == float("inf") else max(asked.seconds, 0.001)):
                return await self._attempts(asked)
        except TimeoutError as error:
            raise Exhausted("seconds", f"the limit of {self._meters.limits.seconds:g} seconds is reached") from error
        finally:
            self._kit.day.release(asked.reservation)

    async def _attempts(self, asked: Asked) -> ResponseReceived:
        tail = Part(
            None,
            self._kit.model.provider.tail(
                max_tokens=asked.reservation.max_output_tokens,
                # servers refuse to hear of tools in a request that declares none
                tools_allowed=asked.purpose == STEP or not self._kit.model.tools,
            ),
        )
        attempt = 1
        while True:
            body = await self._journal_request(asked, attempt, tail)
            self._kit.fault("turn.before_request")
            began = self._kit.monotonic()
            self.received = ""
            self._kit.drafts.begin(self._turn, asked.step)
            try:
                inference = await self._kit.model.provider.infer(body, lambda text: self._arrived(asked.step, text))
            except AttemptError as error:
                wait = wait_before(attempt + 1, error, self._kit.random.random)
                await self._attempt_failed(asked, attempt, error, wait)
                if wait is None:
                    raise _translated(error) from error
                await asyncio.sleep(wait)
                attempt += 1
                continue
            except asyncio.CancelledError:
                self._broken_off(asked, attempt)
                raise
            self._kit.fault("turn.after_response")
            return await self._answered(asked, attempt, inference, len(body), self._kit.monotonic() - began)

    def _arrived(self, step: int, text: str) -> None:
        self.received += text
        self._kit.drafts.add(self._turn, step, text)

    async def _journal_request(self, asked: Asked, attempt: int, tail: Part) -> bytes:
        parts = (self._head, *asked.parts, tail)

        def unit(unit: Unit[GroupEvent]) -> list[str]:
            hashes = [part.content_hash or unit.body(part.data) for part in parts]
            unit.append(
                RequestSent(
                    turn=self._turn,
                    step=asked.step,
                    attempt=attempt,
                    purpose=asked.purpose,
                    model=self._kit.model.name,
                    url=self._kit.model.provider.url,
                    head=hashes[0],
                    messages=tuple(hashes[1:-1]),
                    tail=hashes[-1],
                    reserved_tokens=asked.reservation.tokens,
                    reserved_cost_usd=asked.reservation.cost_usd,
                )
            )
            return hashes

        for part, content_hash in zip(parts, await self._kit.record.commit(unit, self._admit), strict=True):
            part.content_hash = content_hash
        request = Request(head=self._head.data, messages=tuple(part.data for part in asked.parts), tail=tail.data)
        return request.body()

    async def _answered(
        self, asked: Asked, attempt: int, inference: Inference, request_bytes: int, seconds: float
    ) -> ResponseReceived:
        counted = inference.tokens_in is not None and inference.tokens_out is not None
        tokens_in = inference.tokens_in if inference.tokens_in is not None else asked.reservation.tokens_in
        tokens_out = inference.tokens_out if inference.tokens_out is not None else self._estimate_output(inference)
        cost = self._meters.price.cost_usd(tokens_in, tokens_out, inference.tokens_cached)
        response = ResponseReceived(
            turn=self._turn,
            step=asked.step,
            attempt=attempt,
            purpose=asked.purpose,
            text=inference.text,
            calls=tuple(
                CallAsked(
                    call=call_id(asked.step, index),
                    provider_id=call.provider_id,
                    tool=call.tool,
                    arguments=call.arguments,
                )
                for index, call in enumerate(inference.calls)
            ),
            finish=inference.finish,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            tokens_cached=inference.tokens_cached,
            cost_usd=cost,
            estimated=not counted or not self._meters.price.known,
            seconds=seconds,
        )
        # Not awaited: whatever the turn does next begins with a commit of its own, which comes after this one.
        self._kit.record.post(response, admit=self._admit)
        self._meters.settle(tokens_in + tokens_out, cost)
        if inference.tokens_in is not None:
            self._meters.calibrate(request_bytes, inference.tokens_in)
        return response

    def _estimate_output(self, inference: Inference) -> int:
        size = len(inference.text.encode()) + sum(len(call.arguments) + len(call.tool) for call in inference.calls)
        return self._meters.estimate_tokens(size)

    async def _attempt_failed(self, asked: Asked, attempt: int, error: AttemptError, wait: float | None) -> None:
        event = self._failure(asked, attempt, error.reason, error.detail, error.received)
        event = msgspec.structs.replace(event, retry_seconds=-1 if wait is None else wait)
        await self._kit.record.append(event, admit=self._admit)
        self._meters.settle(event.tokens_in + event.tokens_out, event.cost_usd)

    def _broken_off(self, asked: Asked, attempt: int) -> None:
        # Not awaited: the task is being cancelled. The final event's unit comes after it in the journal's order.
        event = self._failure(asked, attempt, Reason.INTERRUPTED, "the inference was broken off", self.received)
        tokens_in = asked.reservation.tokens_in
        cost = self._meters.price.cost_usd(tokens_in, event.tokens_out)
        event = msgspec.structs.replace(event, tokens_in=tokens_in, cost_usd=cost)
        self._kit.record.post(event, admit=self._admit)
        self._meters.settle(event.tokens_in + event.tokens_out, cost)

    def _failure(self, asked: Asked, attempt: int, reason: Reason, detail: str, received: str) -> AttemptFailed:
        # A refusal before the first byte used nothing; once text came, the whole request was read.
        tokens_in = asked.reservation.tokens_in if received else 0
        tokens_out = self._meters.estimate_tokens(len(received.encode())) if received else 0
        return AttemptFailed(
            turn=self._turn,
            step=asked.step,
            attempt=attempt,
            purpose=asked.purpose,
            reason=reason,
            detail=detail,
            received=received,
            retry_seconds=-1,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=self._meters.price.cost_usd(tokens_in, tokens_out),
        )


def _translated(error: AttemptError) -> ElisError:
    match error.reason:
        case Reason.PROTOCOL_VIOLATION:
            return ProtocolViolation(error.detail)
        case Reason.SECRET_MISSING:
            return SecretMissing(error.detail)
        case _:
            return ModelUnavailable(error.detail)
