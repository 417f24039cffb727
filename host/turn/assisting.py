"""Asking the aux model about a call on the account of a turn (APR-6): one request, journaled and charged like any.

One attempt and one short limit of its own, since a person is there to fall back on: whatever does not come to a clear
yes in time is no yes, and the question appears. Calls that wait side by side ask one after the other, so that what is
set aside is set aside for one request at a time; the limit runs from the moment of asking, the wait for the others
included.
"""

import asyncio
import logging
from typing import Final

import msgspec

from host.context.assisting import ALLOW, ASSISTING, asked_about, word_of
from host.context.conversation import Part
from host.errors import AuditFailure
from host.gate.assistance import Advice
from host.gate.assisted_case import Case
from host.models.conversation import Arrived, AttemptError, Inference
from host.record.events import AttemptFailed, RequestSent, ResponseReceived
from host.record.record import Admit
from host.stops import Reason
from host.turn.budget import BYTES_PER_TOKEN, Exhausted, Meters, Reservation
from host.turn.kit import Aux, ModelKit, TurnKit
from host.turn.requests import journaled
from host.turn.state import TurnState
from lanes.errors import StaleGeneration

_LOG: Final = logging.getLogger(__name__)

ASSIST: Final = "assist"
LIMIT_SECONDS: Final = 10.0
"""How long a question may be held back. Nothing is shown before the aux model has spoken, for a question that comes and
goes by itself teaches people not to read them; longer than this nobody should wait for a word that may not come."""
LEAST_SECONDS: Final = 0.5  # of a turn that runs out; half of what is left is kept for the call itself
MOST_OUTPUT_TOKENS: Final = 1024  # one word, but some models think before it; what is cut off is no answer


class _Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is under way."""

    model: ModelKit
    step: int
    reservation: Reservation
    arrived: Arrived


class Assisting:
    """The questions of one turn to the aux model. An `Adviser` of the gate."""

    def __init__(self, kit: TurnKit, aux: Aux, state: TurnState, meters: Meters, admit: Admit) -> None:
        self._kit = kit
        self._aux = aux
        self._turn = state.turn
        self._meters = meters
        self._admit = admit
        self._one_at_a_time = asyncio.Lock()

    async def advise(self, case: Case) -> Advice:
        """Return the model's word; errors, silence and an empty purse are none. Raises what the journal's refusals do.

        A Stop cancels it wherever it is.
        """
        seconds = min(LIMIT_SECONDS, self._meters.seconds_left() / 2)
        if seconds < LEAST_SECONDS:
            return self._advice("budget")
        limit = asyncio.timeout(seconds)
        try:
            async with limit, self._one_at_a_time:
                return self._advice(await self._word(case, limit))
        except TimeoutError:
            return self._advice("late")
        except Exhausted as exhausted:
            _LOG.info("turn %s: no budget for the aux model: %s", self._turn, exhausted.detail)
            return self._advice("budget")
        except (AuditFailure, StaleGeneration):
            raise
        except Exception as error:  # noqa: BLE001 - the person is asked, whatever keeps the aux model from answering
            _LOG.warning("turn %s: the aux model %s gave no answer: %s", self._turn, self._aux.name, error)
            return self._advice("unavailable")

    def _advice(self, why: str) -> Advice:
        return Advice(allowed=why == ALLOW, model=self._aux.name, why=why)

    async def _word(self, case: Case, limit: asyncio.Timeout) -> str:
        model = await self._aux.kit()
        message = asked_about(case.shown)
        parts = (Part(None, model.provider.head(ASSISTING, ())), Part(message, model.provider.message(message)))
        weight = sum(part.weight + 1 for part in parts)
        most = min(MOST_OUTPUT_TOKENS, model.output_tokens)
        reservation = self._meters.reserve_beside(weight, most, model.price)
        await self._kit.record.commit(lambda _: None, self._admit)  # what is posted is there: the day's sum knows of it
        self._kit.day.reserve(reservation, kept=self._meters.kept_for_wrap_up)
        step = int(case.call.partition(".")[0])
        sent = _Sent(model=model, step=step, reservation=reservation, arrived=Arrived())
        inference = await self._inferred(sent, parts, limit)
        return word_of(inference.text, inference.finish, calls=bool(inference.calls))

    async def _inferred(self, sent: _Sent, parts: tuple[Part, ...], limit: asyncio.Timeout) -> Inference:
        model, under_way = sent.model, False
        tail = Part(
            None, model.provider.tail(max_tokens=sent.reservation.max_output_tokens, tools_allowed=True)
        )  # there are none
        began = self._kit.monotonic()
        try:
            body = await journaled(self._kit.record, (*parts, tail), self._request(sent), self._admit)
            under_way = True
            inference = await model.provider.infer(body, _unheard, sent.arrived)
        except AttemptError as error:
            self._post(sent, self._failed(sent, error.reason, error.detail, error.received))
            raise
        except asyncio.CancelledError:
            # Not awaited: the task is being cancelled. A server that has said nothing yet may be at work all the same.
            sent.arrived.accepted = sent.arrived.accepted or under_way
            reason = Reason.TIMED_OUT if limit.expired() else Reason.INTERRUPTED
            self._post(sent, self._failed(sent, reason, "the inference was broken off", ""))
            raise
        except BaseException:  # the journal did not take it: nothing was sent
            self._kit.day.release(sent.reservation)
            raise
        self._post(sent, self._answered(sent, inference, self._kit.monotonic() - began))
        return inference

    def _request(self, sent: _Sent) -> RequestSent:
        return RequestSent(
            turn=self._turn,
            step=sent.step,
            attempt=1,
            purpose=ASSIST,
            model=sent.model.name,
            url=sent.model.provider.url,
            head="",
            messages=(),
            tail="",
            reserved_tokens=sent.reservation.tokens,
            reserved_cost_usd=sent.reservation.cost_usd,
        )

    def _post(self, sent: _Sent, event: ResponseReceived | AttemptFailed) -> None:
        """Charge what came of a request and journal it. The day's share is given back once the day's sum knows of it.

        Not awaited: what the gate makes of it begins with a commit of its own, which comes after this one.
        """
        self._meters.settle(event.tokens_in + event.tokens_out, event.cost_usd)
        posted = self._kit.record.post(event, admit=self._admit)
        posted.add_done_callback(lambda _: self._kit.day.release(sent.reservation))

    def _answered(self, sent: _Sent, inference: Inference, seconds: float) -> ResponseReceived:
        price = sent.model.price
        counted = inference.tokens_in is not None and inference.tokens_out is not None
        tokens_in = sent.reservation.tokens_in if inference.tokens_in is None else inference.tokens_in
        tokens_out = _estimate(sent.arrived) if inference.tokens_out is None else inference.tokens_out
        return ResponseReceived(
            turn=self._turn,
            step=sent.step,
            attempt=1,
            purpose=ASSIST,
            text=inference.text,
            calls=(),  # none was on offer; one that came all the same is no call of this turn and makes it no answer
            finish=inference.finish,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            tokens_cached=inference.tokens_cached,
            cost_usd=price.cost_usd(tokens_in, tokens_out, inference.tokens_cached),
            estimated=not (counted and price.known),
            seconds=seconds,
        )

    def _failed(self, sent: _Sent, reason: Reason, detail: str, received: str) -> AttemptFailed:
        """Return the event of a request without a whole answer: free if the server did not take it (BUD-3)."""
        arrived, tokens_in, tokens_out = sent.arrived, 0, 0
        if arrived.accepted:
            tokens_in = sent.reservation.tokens_in if arrived.tokens_in is None else arrived.tokens_in
            tokens_out = max(arrived.output_counted or 0, _estimate(arrived))
        return AttemptFailed(
            turn=self._turn,
            step=sent.step,
            attempt=1,
            purpose=ASSIST,
            reason=reason,
            detail=detail,
            received=received,
            retry_seconds=-1,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=sent.model.price.cost_usd(tokens_in, tokens_out, arrived.tokens_cached),
        )


def _estimate(arrived: Arrived) -> int:
    return int(arrived.output_bytes / BYTES_PER_TOKEN) + 1 if arrived.output_bytes else 0


def _unheard(text: str) -> None:
    """Nobody reads along: the word counts when it is whole."""
    del text
