"""One inference with its attempts: reserve, journal the request, send, journal what came, settle.

A provider makes one request a call (TURN-1); the repeating is here, where each attempt is journaled (TURN-6). The
request is durable before it is sent and the answer before anyone is told (TURN-2). A broken or cancelled stream is
charged an honest estimate (BUD-3), and what is left after it decides about the next attempt (BUD-1).
"""

import asyncio
import concurrent.futures
from collections.abc import Sequence
from typing import Final

import msgspec

from host.context.conversation import Part
from host.errors import ElisError, ModelUnavailable, ProtocolViolation, SecretMissing
from host.ids import call_id
from host.models.conversation import Arrived, AttemptError, Inference
from host.models.retry import wait_before
from host.record.events import AttemptFailed, CallAsked, RequestSent, ResponseReceived
from host.record.record import Admit
from host.stops import Reason
from host.turn.budget import Exhausted, Meters, Reservation
from host.turn.kit import TurnKit
from host.turn.requests import journaled
from host.turn.state import TurnState

STEP: Final = "step"
WRAP_UP: Final = "wrap_up"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the model."""

    step: int  # 0 for the wrap-up
    purpose: str
    parts: Sequence[Part]  # messages, the dynamic tail last
    reservation: Reservation  # of the first attempt; each further one has its own
    seconds: float  # time-out of the whole, `inf` for none


class Inferring:
    """The inferences of one turn."""

    def __init__(self, kit: TurnKit, state: TurnState, meters: Meters, admit: Admit) -> None:
        self._kit = kit
        self._state = state
        self._turn = state.turn
        self._meters = meters
        self._admit = admit
        self._head = Part(None, kit.head)
        self.received = ""  # text of the reply that is under way, or that broke off last
        self._arrived = Arrived()
        self._share: Reservation | None = None  # what is set aside of the day's cap
        self._posted: concurrent.futures.Future[tuple[int, ...]] | None = None

    async def infer(self, asked: Asked) -> ResponseReceived:
        """Return the journaled answer; raise Exhausted (time, day's cap), ModelUnavailable or ProtocolViolation."""
        if asked.purpose == STEP and self._state.wrap_up is not None:
            raise Exhausted("budget", "a limit was reached, and the account of it written, before the turn was resumed")
        if self._posted is not None:
            await self._kit.record.settled(self._posted)  # or the day's sum would not know of it, or count it twice
        self._set_aside(asked)
        try:
            async with asyncio.timeout(None if asked.seconds == float("inf") else max(asked.seconds, 0.001)):
                return await self._attempts(asked)
        except TimeoutError as error:
            raise Exhausted("seconds", f"the limit of {self._meters.limits.seconds:g} seconds is reached") from error
        finally:
            if self._share is not None:
                self._kit.day.release(self._share)
                self._share = None

    async def _attempts(self, asked: Asked) -> ResponseReceived:
        step, attempt = asked.step, 1
        while True:
            body = await self._journal_request(asked, attempt, self._tail(asked))
            self._kit.fault("turn.before_request")
            began = self._kit.monotonic()
            self.received = ""
            self._arrived = Arrived()
            self._kit.drafts.begin(self._turn, step)
            try:
                inference = await self._kit.model.provider.infer(
                    body, lambda text: self._take_text(step, text), self._arrived
                )
            except AttemptError as error:
                wait = wait_before(attempt + 1, error, self._kit.random.random)
                await self._attempt_failed(asked, attempt, error, wait)
                if wait is None:
                    raise _translated(error) from error
                asked = self._reserved_anew(asked, self._weight(asked))
                await asyncio.sleep(wait)
                attempt += 1
                continue
            except asyncio.CancelledError:
                self._broken_off(asked, attempt)
                raise
            self._kit.fault("turn.after_response")
            return await self._answered(asked, attempt, inference, self._weight(asked), self._kit.monotonic() - began)

    def _weight(self, asked: Asked) -> int:
        """Return what the request counts for when its tokens are estimated."""
        return self._head.weight + sum(part.weight + 1 for part in asked.parts)

    def _tail(self, asked: Asked) -> Part:
        tail = self._kit.model.provider.tail(
            max_tokens=asked.reservation.max_output_tokens,
            # servers refuse to hear of tools in a request that declares none
            tools_allowed=asked.purpose == STEP or not self._kit.model.tools,
        )
        return Part(None, tail)

    def _reserved_anew(self, asked: Asked, request_bytes: int) -> Asked:
        """Reserve the next attempt, after the one before was settled; raise Exhausted when it does not fit any more."""
        if asked.purpose == STEP:
            reservation = self._meters.reserve_step(request_bytes, self._kit.model.output_tokens)
        else:
            reservation = self._meters.reserve_wrap_up(request_bytes)
        anew = msgspec.structs.replace(asked, reservation=reservation)
        self._set_aside(anew)
        return anew

    def _set_aside(self, asked: Asked) -> None:
        if asked.purpose == STEP:
            self._kit.day.reserve(asked.reservation, kept=self._meters.kept_for_wrap_up)
        else:
            self._kit.day.reserve(asked.reservation)
        self._share = asked.reservation

    def _post(self, event: ResponseReceived | AttemptFailed) -> "concurrent.futures.Future[tuple[int, ...]]":
        """Journal what came of an attempt. The day's share is given back once the day's sum knows of it."""
        share, self._share = self._share, None
        self._posted = posted = self._kit.record.post(event, admit=self._admit)
        if share is not None:
            posted.add_done_callback(lambda _: self._kit.day.release(share))
        return posted

    def _take_text(self, step: int, text: str) -> None:
        self.received += text
        self._kit.drafts.add(self._turn, step, text)

    async def _journal_request(self, asked: Asked, attempt: int, tail: Part) -> bytes:
        sent = RequestSent(
            turn=self._turn,
            step=asked.step,
            attempt=attempt,
            purpose=asked.purpose,
            model=self._kit.model.name,
            url=self._kit.model.provider.url,
            head="",
            messages=(),
            tail="",
            reserved_tokens=asked.reservation.tokens,
            reserved_cost_usd=asked.reservation.cost_usd,
        )
        return await journaled(self._kit.record, (self._head, *asked.parts, tail), sent, self._admit)

    async def _answered(
        self, asked: Asked, attempt: int, inference: Inference, request_bytes: int, seconds: float
    ) -> ResponseReceived:
        counted = inference.tokens_in is not None and inference.tokens_out is not None
        tokens_in = inference.tokens_in if inference.tokens_in is not None else asked.reservation.tokens_in
        tokens_out = inference.tokens_out if inference.tokens_out is not None else self._output_estimate()
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
        self._post(response)
        self._meters.settle(tokens_in + tokens_out, cost)
        if inference.tokens_in is not None:
            self._meters.calibrate(request_bytes, inference.tokens_in)
        return response

    def _output_estimate(self) -> int:
        return self._meters.estimate_tokens(self._arrived.output_bytes) if self._arrived.output_bytes else 0

    async def _attempt_failed(self, asked: Asked, attempt: int, error: AttemptError, wait: float | None) -> None:
        # Settled before it is durable: a time-out meanwhile must not leave it unsettled.
        posted = self._post(self._failed(asked, attempt, error, -1 if wait is None else wait))
        await self._kit.record.settled(posted)

    def _broken_off(self, asked: Asked, attempt: int) -> None:
        # Not awaited: the task is being cancelled. The final event's unit comes after it in the journal's order.
        self._arrived.accepted = True  # a server that has said nothing yet may be at work all the same
        error = AttemptError(
            "the inference was broken off", reason=Reason.INTERRUPTED, retryable=False, received=self.received
        )
        self._post(self._failed(asked, attempt, error, -1))

    def _failed(self, asked: Asked, attempt: int, error: AttemptError, retry_seconds: float) -> AttemptFailed:
        """Settle an attempt that gave no whole reply, and return its event: free if the server did not take it."""
        arrived = self._arrived
        tokens_in = tokens_out = 0
        if arrived.accepted:
            tokens_in = asked.reservation.tokens_in if arrived.tokens_in is None else arrived.tokens_in
            tokens_out = max(arrived.output_counted or 0, self._output_estimate())
        cost_usd = self._meters.price.cost_usd(tokens_in, tokens_out, arrived.tokens_cached)
        self._meters.settle(tokens_in + tokens_out, cost_usd)
        return AttemptFailed(
            turn=self._turn,
            step=asked.step,
            attempt=attempt,
            purpose=asked.purpose,
            reason=error.reason,
            detail=error.detail,
            received=error.received,
            retry_seconds=retry_seconds,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=cost_usd,
        )


def _translated(error: AttemptError) -> ElisError:
    match error.reason:
        case Reason.PROTOCOL_VIOLATION:
            return ProtocolViolation(error.detail)
        case Reason.SECRET_MISSING:
            return SecretMissing(error.detail)
        case _:
            return ModelUnavailable(error.detail)
