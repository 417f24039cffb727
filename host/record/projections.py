"""Tables that follow from the events, kept up in the same transaction as each event.

The tables are in `sql/projections.sql`, the statements beside it, a file a table. `apply` is the only writer;
everything here can be dropped and rebuilt from the journal (JRN-2).
"""

from typing import Final

import msgspec

from host.record.assisted import ApprovalAssisted
from host.record.events import (
    ApprovalAsked,
    ApprovalReopened,
    ApprovalSettled,
    AttemptFailed,
    CallFinished,
    CallRefused,
    CallStarted,
    GrantGiven,
    GrantRevoked,
    GroupEvent,
    MessageEntered,
    MessageReceived,
    RequestSent,
    ResponseReceived,
    TurnEnded,
    TurnParked,
    TurnResumed,
    TurnStarted,
    TurnUnparked,
)
from host.record.statements import query, script
from host.stops import Reason
from lanes.events import MessageDropped, MessagePlaced, MessageReleased
from memory.journal import Stored, Transaction
from memory.statements import split

SCHEMA: Final = script("projections")
VERSION_SCHEMA: Final = script("projection_version")
TABLES: Final = {  # with all rows of each in order
    "messages": query("messages", "whole"),
    "turns": query("turns", "whole"),
    "calls": query("calls", "whole"),
    "questions": query("questions", "whole"),
    "grants": query("grants", "whole"),
    "refused_intents": query("refused_intents", "whole"),
    "spend": query("spend", "whole"),
}
VERSION: Final = 2  # raise it when a table or its meaning changes: the tables are then rebuilt from the events
QUARTER_US: Final = 15 * 60 * 1_000_000

_FORGET_VERSION: Final = query("version", "forget")
_NOTE_VERSION: Final = query("version", "note")
_RECEIVE_MESSAGE: Final = query("messages", "receive")
_PLACE_MESSAGE: Final = query("messages", "place")
_ENTER_MESSAGE: Final = query("messages", "enter")
_RELEASE_MESSAGE: Final = query("messages", "release")
_DROP_MESSAGE: Final = query("messages", "drop")
_RUN_MESSAGE: Final = query("messages", "run")
_FINISH_MESSAGE: Final = query("messages", "finish")
_START_TURN: Final = query("turns", "start")
_SET_ASIDE: Final = query("turns", "set_aside")
_CHARGE_TURN: Final = query("turns", "charge")
_ADD_SECONDS: Final = query("turns", "add_seconds")
_PROGRESS_TURN: Final = query("turns", "progress")
_RESUME_TURN: Final = query("turns", "resume")
_PARK_TURN: Final = query("turns", "park")
_UNPARK_TURN: Final = query("turns", "unpark")
_FINISH_TURN: Final = query("turns", "finish")
_ASK_CALL: Final = query("calls", "ask")
_START_CALL: Final = query("calls", "start")
_FINISH_CALL: Final = query("calls", "finish")
_REFUSE_CALL: Final = query("calls", "refuse")
_ASK_QUESTION: Final = query("questions", "ask")
_ASSIST_QUESTION: Final = query("questions", "assist")
_REOPEN_QUESTION: Final = query("questions", "reopen")
_SETTLE_QUESTION: Final = query("questions", "settle")
_GIVE_GRANT: Final = query("grants", "give")
_REVOKE_GRANT: Final = query("grants", "revoke")
_ADD_REFUSED_INTENT: Final = query("refused_intents", "add")
_ADD_SPEND: Final = query("spend", "add")

_PLACED_STATE: Final = {
    "started": "running",
    "steered": "steered",
    "queued": "queued",
    "interrupting": "queued",
    "held": "held",
    "stopped": "stopped",
}
_PROGRESS: Final = (ResponseReceived, CallStarted, CallFinished, CallRefused, ApprovalAsked, ApprovalSettled)


def make_anew(tx: Transaction) -> None:
    """Drop all tables and make them empty, in the form of this version."""
    for statement in split(SCHEMA):
        tx.execute(statement)
    tx.execute(_FORGET_VERSION)
    tx.execute(_NOTE_VERSION, (VERSION,))


def make_beside(tx: Transaction) -> None:
    """Make all tables, empty, in a database that has none."""
    for statement in split(VERSION_SCHEMA):
        tx.execute(statement)
    make_anew(tx)


def distrust(tx: Transaction) -> None:
    """Have the tables made anew from the events at the next opening, for they do not say what the events give."""
    tx.execute(_FORGET_VERSION)


def apply(tx: Transaction, stored: Stored[GroupEvent]) -> None:
    """Bring the tables up to `stored`, which was just appended."""
    event = stored.event
    match event:
        case MessageReceived() | MessageEntered() | MessagePlaced() | MessageReleased() | MessageDropped():
            _message(tx, stored)
        case RequestSent():
            tx.execute(
                _SET_ASIDE,
                (
                    event.step,
                    event.attempt,
                    event.purpose,
                    event.reserved_tokens,
                    event.reserved_cost_usd,
                    event.turn,
                ),
            )
        case ResponseReceived() | AttemptFailed():
            _inference(tx, stored, event)
        case CallStarted() | CallFinished() | CallRefused():
            _call(tx, stored, event)
        case ApprovalAsked() | ApprovalReopened() | ApprovalSettled() | ApprovalAssisted():
            _question(tx, stored)
        case GrantGiven() | GrantRevoked():
            _grant(tx, stored)
        case TurnStarted() | TurnResumed() | TurnParked() | TurnUnparked() | TurnEnded():
            _turn(tx, stored)
        case _:
            return
    if isinstance(event, _PROGRESS):
        tx.execute(_PROGRESS_TURN, (stored.seq, event.turn))


def _message(tx: Transaction, stored: Stored[GroupEvent]) -> None:
    match stored.event:
        case MessageReceived() as said:
            tx.execute(
                _RECEIVE_MESSAGE,
                (
                    said.message,
                    said.key,
                    stored.seq,
                    stored.at_us,
                    said.text,
                    said.priority,
                    said.principal,
                    said.unattended,
                ),
            )
        case MessagePlaced() as placed:
            state = _PLACED_STATE[placed.disposition]
            tx.execute(_PLACE_MESSAGE, (state, placed.turn, placed.message))
        case MessageEntered(message=message, turn=turn):
            tx.execute(_ENTER_MESSAGE, (turn, message))
        case MessageReleased(message=message):
            tx.execute(_RELEASE_MESSAGE, (message,))
        case MessageDropped(message=message):
            tx.execute(_DROP_MESSAGE, (message,))
        case _:
            pass


def _inference(tx: Transaction, stored: Stored[GroupEvent], event: ResponseReceived | AttemptFailed) -> None:
    match event:
        case ResponseReceived():
            steps, cached = int(event.purpose == "step"), event.tokens_cached
            estimated, seconds = event.estimated, event.seconds
        case AttemptFailed():
            steps, cached, estimated, seconds = 0, 0, event.tokens_in + event.tokens_out > 0, 0.0
    tx.execute(
        _CHARGE_TURN,
        (steps, event.tokens_in, event.tokens_out, cached, event.cost_usd, estimated, seconds, event.turn),
    )
    tx.execute(
        _ADD_SPEND,
        (stored.at_us // QUARTER_US, event.tokens_in + event.tokens_out, event.cost_usd),
    )
    if isinstance(event, ResponseReceived):
        for position, asked in enumerate(event.calls):
            key, order = f"{event.turn}:{asked.call}", event.step * 1000 + position
            tx.execute(_ASK_CALL, (key, event.turn, asked.call, asked.tool, order, stored.seq))


def _call(tx: Transaction, stored: Stored[GroupEvent], event: CallStarted | CallFinished | CallRefused) -> None:
    key = f"{event.turn}:{event.call}"
    match event:
        case CallStarted():
            tx.execute(_START_CALL, (event.effect, event.target, event.arguments_hash, stored.seq, key))
        case CallFinished():
            tx.execute(_FINISH_CALL, (event.effect, event.target, event.ok, event.reason or "", stored.seq, key))
            tx.execute(_ADD_SECONDS, (event.seconds, event.turn))
        case CallRefused():
            tx.execute(_REFUSE_CALL, (event.effect or "", event.target, event.reason, stored.seq, key))
            if event.stage == "policy" and event.reason in {Reason.POLICY_VIOLATION, Reason.APPROVAL_TIMEOUT}:
                for effect, target in event.intents or ((event.effect or "", event.target),):
                    tx.execute(_ADD_REFUSED_INTENT, (event.turn, effect, target, event.reason, event.result))


def _question(tx: Transaction, stored: Stored[GroupEvent]) -> None:
    match stored.event:
        case ApprovalAsked() as asked:
            tx.execute(
                _ASK_QUESTION,
                (
                    asked.approval,
                    asked.turn,
                    asked.call,
                    asked.tool,
                    asked.question,
                    asked.timeout_seconds,
                    asked.expires_at,
                    stored.at_us,
                    stored.seq,
                ),
            )
        case ApprovalAssisted(verdict="allowed") as allowed:  # what was passed is the person's question, if it comes
            given = (allowed.approval, allowed.turn, allowed.call, allowed.tool, allowed.by, stored.at_us, stored.seq)
            tx.execute(_ASSIST_QUESTION, given)
        case ApprovalReopened(approval=approval, expires_at=expires_at):
            tx.execute(_REOPEN_QUESTION, (expires_at, approval))
        case ApprovalSettled() as settled:
            tx.execute(_SETTLE_QUESTION, (settled.verdict, settled.by, settled.text, settled.approval))
        case _:
            pass


def _grant(tx: Transaction, stored: Stored[GroupEvent]) -> None:
    match stored.event:
        case GrantGiven() as given:
            held = msgspec.json.encode(given.keys).decode()
            values = (given.grant, given.approval, given.scope, held, given.until, given.by, stored.at_us, stored.seq)
            tx.execute(_GIVE_GRANT, values)
        case GrantRevoked(grant=grant, by=by):
            tx.execute(_REVOKE_GRANT, (by, grant))
        case _:
            pass


def _turn(tx: Transaction, stored: Stored[GroupEvent]) -> None:
    match stored.event:
        case TurnStarted() as started:
            tx.execute(
                _START_TURN,
                (
                    started.turn,
                    started.message,
                    started.lane,
                    started.session,
                    started.principal,
                    started.unattended,
                    stored.seq,
                    stored.at_us,
                    stored.seq,
                ),
            )
            tx.execute(_RUN_MESSAGE, (started.turn, started.message))
        case TurnResumed(turn=turn, times=times):
            tx.execute(_RESUME_TURN, (times, turn))
        case TurnParked(turn=turn):
            tx.execute(_PARK_TURN, (turn,))
        case TurnUnparked(turn=turn):
            tx.execute(_UNPARK_TURN, (turn,))
        case TurnEnded() as ended:
            tx.execute(_FINISH_TURN, (stored.seq, ended.outcome, ended.reason or "", ended.turn))
            tx.execute(_FINISH_MESSAGE, (ended.turn,))
        case _:
            pass
