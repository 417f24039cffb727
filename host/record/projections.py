"""Tables that follow from the events, kept up in the same transaction as each event (`sql/projections.sql`).

`apply` is the only writer; everything here can be dropped and rebuilt from the journal (JRN-2).
"""

from importlib import resources
from typing import Final

from host.record.events import (
    ApprovalAsked,
    ApprovalReopened,
    ApprovalSettled,
    AttemptFailed,
    CallFinished,
    CallRefused,
    CallStarted,
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
from host.stops import Reason
from lanes.events import MessageDropped, MessagePlaced, MessageReleased
from memory.journal import Stored, Transaction
from memory.statements import split

_SQL: Final = resources.files("host.record") / "sql"
SCHEMA: Final = (_SQL / "projections.sql").read_text(encoding="utf-8")
VERSION_SCHEMA: Final = (_SQL / "projection_version.sql").read_text(encoding="utf-8")
TABLES: Final = ("messages", "turns", "calls", "questions", "refused_intents", "spend")
VERSION: Final = 1  # raise it when a table or its meaning changes: the tables are then rebuilt from the events
QUARTER_US: Final = 15 * 60 * 1_000_000

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
    for table in TABLES:
        tx.execute(f"drop table if exists {table}")
    for statement in split(SCHEMA):
        tx.execute(statement)
    tx.execute("delete from projection_version")
    tx.execute("insert into projection_version values (?)", (VERSION,))


def apply(tx: Transaction, stored: Stored[GroupEvent]) -> None:
    """Bring the tables up to `stored`, which was just appended."""
    event = stored.event
    match event:
        case MessageReceived() | MessageEntered() | MessagePlaced() | MessageReleased() | MessageDropped():
            _message(tx, stored)
        case RequestSent():
            tx.execute(
                "update turns set open_step = ?, open_attempt = ?, open_purpose = ?, open_tokens = ?, open_cost_usd = ?"
                " where turn = ?",
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
        case ApprovalAsked() | ApprovalReopened() | ApprovalSettled():
            _question(tx, stored)
        case TurnStarted() | TurnResumed() | TurnParked() | TurnUnparked() | TurnEnded():
            _turn(tx, stored)
        case _:
            return
    if isinstance(event, _PROGRESS):
        tx.execute("update turns set progress_seq = ?, resumes = 0 where turn = ?", (stored.seq, event.turn))


def _message(tx: Transaction, stored: Stored[GroupEvent]) -> None:
    match stored.event:
        case MessageReceived() as said:
            tx.execute(
                "insert into messages values (?, ?, ?, ?, ?, ?, ?, ?, 'received', '')",
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
            tx.execute("update messages set state = ?, turn = ? where id = ?", (state, placed.turn, placed.message))
        case MessageEntered(message=message, turn=turn):
            tx.execute("update messages set state = 'entered', turn = ? where id = ?", (turn, message))
        case MessageReleased(message=message):
            tx.execute("update messages set state = 'queued', turn = '' where id = ?", (message,))
        case MessageDropped(message=message):
            tx.execute("update messages set state = 'dropped' where id = ?", (message,))
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
        "update turns set steps = steps + ?, tokens_in = tokens_in + ?, tokens_out = tokens_out + ?, tokens_cached ="
        " tokens_cached + ?, cost_usd = cost_usd + ?, estimated = max(estimated, ?), seconds = seconds + ?,"
        " open_tokens = 0, open_cost_usd = 0.0 where turn = ?",
        (steps, event.tokens_in, event.tokens_out, cached, event.cost_usd, estimated, seconds, event.turn),
    )
    tx.execute(
        "insert into spend values (?, ?, ?) on conflict (quarter) do update set tokens = tokens + excluded.tokens,"
        " cost_usd = cost_usd + excluded.cost_usd",
        (stored.at_us // QUARTER_US, event.tokens_in + event.tokens_out, event.cost_usd),
    )
    if isinstance(event, ResponseReceived):
        for position, asked in enumerate(event.calls):
            key, order = f"{event.turn}:{asked.call}", event.step * 1000 + position
            tx.execute(
                "insert into calls values (?, ?, ?, ?, '', '', '', 'asked', 0, '', ?, ?)",
                (key, event.turn, asked.call, asked.tool, order, stored.seq),
            )


def _call(tx: Transaction, stored: Stored[GroupEvent], event: CallStarted | CallFinished | CallRefused) -> None:
    key = f"{event.turn}:{event.call}"
    match event:
        case CallStarted():
            tx.execute(
                "update calls set state = 'started', effect = ?, target = ?, arguments_hash = ?, seq = ? where key = ?",
                (event.effect, event.target, event.arguments_hash, stored.seq, key),
            )
        case CallFinished():
            tx.execute(
                "update calls set state = 'finished', effect = ?, target = ?, ok = ?, reason = ?, seq = ?"
                " where key = ?",
                (event.effect, event.target, event.ok, event.reason or "", stored.seq, key),
            )
            tx.execute("update turns set seconds = seconds + ? where turn = ?", (event.seconds, event.turn))
        case CallRefused():
            tx.execute(
                "update calls set state = 'refused', effect = ?, target = ?, reason = ?, seq = ?"
                " where key = ? and state <> 'finished'",  # a key that is used again for something else undoes nothing
                (event.effect or "", event.target, event.reason, stored.seq, key),
            )
            if event.stage == "policy" and event.reason in {Reason.POLICY_VIOLATION, Reason.APPROVAL_TIMEOUT}:
                tx.execute(
                    "insert into refused_intents values (?, ?, ?, ?, ?) on conflict do nothing",
                    (event.turn, event.effect or "", event.target, event.reason, event.result),
                )


def _question(tx: Transaction, stored: Stored[GroupEvent]) -> None:
    match stored.event:
        case ApprovalAsked() as asked:
            tx.execute(
                "insert into questions values (?, ?, ?, ?, ?, 'waiting', '', '', ?, ?, ?, ?)",
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
        case ApprovalReopened(approval=approval, expires_at=expires_at):
            tx.execute("update questions set expires_at = ? where id = ?", (expires_at, approval))
        case ApprovalSettled() as settled:
            tx.execute(
                "update questions set state = ?, answered_by = ?, text = ? where id = ?",
                (settled.verdict, settled.by, settled.text, settled.approval),
            )
        case _:
            pass


def _turn(tx: Transaction, stored: Stored[GroupEvent]) -> None:
    match stored.event:
        case TurnStarted() as started:
            tx.execute(
                "insert into turns values (?, ?, ?, ?, ?, ?, 'running', ?, ?, 0, ?, 0, '', '', 0, 0, 0, 0, 0.0, 0, 0.0,"
                " 0, 0, '', 0, 0.0)",
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
            tx.execute(
                "update messages set state = 'running', turn = ? where id = ?",
                (started.turn, started.message),
            )
        case TurnResumed(turn=turn, times=times):
            tx.execute("update turns set resumes = ? where turn = ?", (times, turn))
        case TurnParked(turn=turn):
            tx.execute("update turns set state = 'parked' where turn = ?", (turn,))
        case TurnUnparked(turn=turn):
            tx.execute("update turns set state = 'running' where turn = ?", (turn,))
        case TurnEnded() as ended:
            tx.execute(
                "update turns set state = 'ended', ended_seq = ?, outcome = ?, reason = ? where turn = ?",
                (stored.seq, ended.outcome, ended.reason or "", ended.turn),
            )
            tx.execute(
                "update messages set state = 'done' where id = (select message from turns where turn = ?)",
                (ended.turn,),
            )
        case _:
            pass
