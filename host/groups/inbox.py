"""The running turn's view of the chat lane: what was steered into it, and the word that it ends."""

from host.groups.current import Current
from host.groups.floor import Floor
from host.record.rows import MessageRow
from lanes.lane import Token


class ChatInbox:
    """What was steered into one running turn; of no use to a thread whose lane was replaced."""

    def __init__(self, floor: Floor, current: Current, token: Token) -> None:
        self._floor = floor
        self._current = current
        self._token = token

    def take(self) -> list[MessageRow]:
        """Return and remove what has arrived; raise StaleGeneration."""
        self._token.check()
        return self._floor.take_steered(self._current)

    def close_if_empty(self) -> bool:
        """Tell whether nothing waits; raise StaleGeneration."""
        self._token.check()
        return self._floor.close_inbox(self._current)

    def seal(self) -> None:
        """The turn ends whatever waits; raise StaleGeneration."""
        self._token.check()
        self._floor.seal(self._current.turn)
