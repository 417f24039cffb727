"""Which content of a file each turn last saw, and which turn last wrote it (PASS-2).

Lanes do not lock each other: a write carries the content that its turn last saw, and where the file changed since, it
is refused by the name of who changed it. One object serves all lanes of a group. It lives in memory: after a restart
no turn has seen anything, and a resumed one reads again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from host.errors import ToolFailed

ABSENT: Final = ""  # the hash of a file that is not there
_TURNS: Final = 64  # turns remembered; far more than run at once
_WRITERS: Final = 10_000  # paths whose last writer is remembered


class ChangedSince(ToolFailed):
    """The file changed since this turn last saw it; read it again."""


class SeenFiles:
    """Content hashes by turn and path; thread-safe."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._writers: OrderedDict[str, tuple[str, str]] = OrderedDict()  # path → turn, hash it left

    def saw(self, turn: str, path: str, content: str) -> None:
        """Note that `turn` saw `path` with the content hash `content` (ABSENT: that there is no file)."""
        with self._lock:
            self._of(turn)[path] = content

    def wrote(self, turn: str, path: str, content: str) -> None:
        """Note that `turn` left `path` with the content hash `content`, and so has seen it."""
        with self._lock:
            self._of(turn)[path] = content
            self._writers[path] = (turn, content)
            self._writers.move_to_end(path)
            while len(self._writers) > _WRITERS:
                self._writers.popitem(last=False)

    def admit(self, turn: str, path: str, current: Callable[[], str]) -> None:
        """Raise ChangedSince when `path` is not as `turn` last saw it; `current` gives its hash now, if needed.

        A file that the turn never saw is admitted: there is nothing that could have changed under it.
        """
        with self._lock:
            last = self._seen.get(turn, {}).get(path)
            writer = self._writers.get(path)
        if last is None:
            return
        now = current()
        if now == last:
            return
        happened = "was removed" if now == ABSENT else "appeared" if last == ABSENT else "changed"
        message = f"{path} {happened} since this turn last saw it, by {_who(turn, now, writer)}; read it again first"
        raise ChangedSince(message)

    def forget(self, turn: str) -> None:
        """Drop what `turn` saw, when it has ended."""
        with self._lock:
            self._seen.pop(turn, None)

    def _of(self, turn: str) -> dict[str, str]:
        seen = self._seen.setdefault(turn, {})
        self._seen.move_to_end(turn)
        while len(self._seen) > _TURNS:
            self._seen.popitem(last=False)
        return seen


def _who(turn: str, now: str, writer: tuple[str, str] | None) -> str:
    if writer is not None and writer[1] == now and writer[0] != turn:
        return f"turn {writer[0]}"
    return "somebody outside this turn's file tools (a shell command, a program, a person)"
