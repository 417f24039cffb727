"""What is tried again until the journal takes it: a thread that lives only while something could not be recorded.

The group says what there is to do; this owns when: soon, with a pause in between, and never after the group closed.
It refuses to know what failed and why.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final

from host.errors import AuditFailure
from memory.errors import JournalError

_LOG: Final = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 0.5  # soon enough for a person who has just made room; a failed try costs well under 1 ms


class Recovery:
    """The tries of one group, one at a time."""

    def __init__(self, work: Callable[[], None]) -> None:
        """`work` does what is left to do, on the thread made here; AuditFailure or JournalError mean: try again."""
        self._work = work
        self._lock = threading.Lock()
        self._asked = False
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def wake(self) -> None:
        """Say that something could not be recorded; from any thread, without waiting."""
        with self._lock:
            self._asked = True
            if self._thread is None and not self._closed.is_set():
                # A daemon: a process that ends without closing its group must not hang on a full disk.
                self._thread = threading.Thread(target=self._run, name="recovery", daemon=True)
                self._thread.start()

    def close(self, timeout_seconds: float) -> None:
        """Try nothing more; wait up to `timeout_seconds` for a try that is under way."""
        self._closed.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(timeout_seconds)

    def _run(self) -> None:
        _LOG.warning("the journal could not be written; it is tried again every %s s", PAUSE_SECONDS)
        while not self._closed.wait(PAUSE_SECONDS):
            with self._lock:
                self._asked = False
            try:
                self._work()
            except (AuditFailure, JournalError):
                continue
            except Exception:  # noqa: BLE001 - without this thread the group would stand still for good
                _LOG.exception("what the journal could not take cannot be recovered; it is tried again")
                continue
            with self._lock:
                if not self._asked:
                    self._thread = None
                    _LOG.info("the journal can be written again")
                    return
