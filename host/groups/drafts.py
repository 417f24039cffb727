"""What watchers of a group wait for: new events, and text of the reply that is still being written.

Drafts live here and nowhere else; they are gone once their step is in the journal. Written from lane threads, awaited
from any event loop.
"""

import asyncio
import threading

import msgspec

from host.groups.port import Draft, EventView


class _Piece(msgspec.Struct, frozen=True):
    cursor: int
    draft: Draft


class Drafts:
    """The live drafts of one group, and the bell for whoever watches it. All methods are safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # re-entrant: what a lost coroutine cleans up may come in between
        self._cursor = 0
        self._pieces: list[_Piece] = []
        self._length: dict[tuple[str, int], int] = {}
        self._unrecorded: list[tuple[int, EventView]] = []
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def begin(self, turn: str, step: int) -> None:
        """An attempt at `step` begins: what an earlier step or attempt left is dropped."""
        with self._lock:
            self._pieces = [piece for piece in self._pieces if piece.draft.turn != turn]
            self._length = {key: length for key, length in self._length.items() if key[0] != turn}
            self._length[turn, step] = 0
            self._add(Draft(turn=turn, step=step, offset=0, text=""))

    def add(self, turn: str, step: int, text: str) -> None:
        """More text of `step` has arrived."""
        with self._lock:
            offset = self._length.get((turn, step), 0)
            self._length[turn, step] = offset + len(text)
            self._add(Draft(turn=turn, step=step, offset=offset, text=text))
        self.ring()

    def end(self, turn: str) -> None:
        """The turn has its final event; its drafts are of no more use."""
        with self._lock:
            self._pieces = [piece for piece in self._pieces if piece.draft.turn != turn]
            self._length = {key: length for key, length in self._length.items() if key[0] != turn}

    def tell(self, event: EventView) -> None:
        """Show watchers a final event that the journal could not take (TURN-2)."""
        with self._lock:
            self._cursor += 1
            self._unrecorded.append((self._cursor, event))
        self.ring()

    def since(self, cursor: int) -> tuple[tuple[Draft, ...], tuple[EventView, ...], int]:
        """Return drafts and unrecorded events after `cursor`, and the new cursor; pieces of a step come as one."""
        with self._lock:
            pieces = [piece.draft for piece in self._pieces if piece.cursor > cursor]
            events = tuple(event for position, event in self._unrecorded if position > cursor)
            return _joined(pieces), events, self._cursor

    def ring(self, seq: int = 0) -> None:
        """Wake whoever waits; the journal calls it with its last sequence after each commit."""
        del seq
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for loop, future in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_set, future)

    def bell(self) -> "Bell":
        """Return a wait that also hears a ring between its making and its waiting."""
        return Bell(self)

    def _add(self, draft: Draft) -> None:
        self._cursor += 1
        self._pieces.append(_Piece(self._cursor, draft))

    def enlist(self, loop: asyncio.AbstractEventLoop, future: "asyncio.Future[None]") -> None:
        """Wake `future` on `loop` at the next ring."""
        with self._lock:
            self._waiting.append((loop, future))

    def dismiss(self, future: "asyncio.Future[None]") -> None:
        """Forget a future that nobody waits for any more."""
        with self._lock:
            self._waiting = [entry for entry in self._waiting if entry[1] is not future]


class Bell:
    """One wait for the next ring, armed when it is made, so that no ring between a look and the wait is lost."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] = loop.create_future()
        drafts.enlist(loop, self._future)

    async def wait(self, seconds: float) -> None:
        """Return at the first ring since the bell was made, or after `seconds`."""
        try:
            await asyncio.wait({self._future}, timeout=seconds)
        finally:
            self.dismiss()

    def dismiss(self) -> None:
        """Do not wait after all."""
        self._drafts.dismiss(self._future)


def _joined(pieces: list[Draft]) -> tuple[Draft, ...]:
    joined: list[Draft] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if (
            last
            and last.turn == piece.turn
            and last.step == piece.step
            and piece.offset == last.offset + len(last.text)
        ):
            joined[-1] = msgspec.structs.replace(last, text=last.text + piece.text)
        else:
            joined.append(piece)
    return tuple(joined)


def _set(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
