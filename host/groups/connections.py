"""Connections to the outside, written into a group's journal as they end (BOX-2).

Called on the egress proxy's thread. A connection belongs to the turn of the call that it was made for, as long as that
turn has no final event; nothing of a turn comes after it.
"""

from concurrent.futures import Future
from typing import Any, Final

from browser.exchange import Connection
from host.record.events import EgressConnection, GroupEvent
from host.record.record import Record
from host.record.statements import query
from memory.journal import Unit

_STATE: Final = query("turns", "state")


class Connections:
    """Hears of the connections of one group."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def __call__(self, connection: Connection) -> "Future[Any]":
        """Hand the connection to the journal; the future is done when it is durable."""
        turn = connection.caller.partition(":")[0]

        def unit(unit: Unit[GroupEvent]) -> None:
            found = unit.transaction.execute(_STATE, (turn,)).fetchone()
            open_turn = found is not None and found[0] != "ended"
            unit.append(_event(connection, turn if open_turn else ""))

        return self._record.journal.commit(unit)


def _event(connection: Connection, turn: str) -> EgressConnection:
    return EgressConnection(
        turn=turn,
        caller=connection.caller,
        host=connection.host,
        port=connection.port,
        address=connection.address,
        verdict=connection.verdict.value,
        rule=connection.rule.value if connection.rule else "",
        detail=connection.detail,
        bytes_out=connection.bytes_out,
        bytes_in=connection.bytes_in,
        seconds=connection.seconds,
    )
