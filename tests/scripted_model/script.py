"""Which step answers which request: a queue, rules, or a function. Thread-safe; knows no HTTP.

First the function, if there is one; else the first rule that matches and has a step left; else the queue.
"""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from tests.scripted_model.steps import Fail, Reply, Step
from tests.scripted_model.wire import last_text

Responder = Callable[[dict[str, Any], int], Step]
Entry = Step | Responder  # a function stands for the step that it returns
Predicate = Callable[[dict[str, Any]], bool]

_EXHAUSTED = 400  # a status that no client repeats, so that a short script fails at once


class _Queue:
    def __init__(self, steps: Iterable[Entry], *, loop: bool) -> None:
        self._steps = deque(steps)
        self._loop = loop

    def take(self) -> Entry | None:
        if not self._steps:
            return None
        step = self._steps.popleft()
        if self._loop:
            self._steps.append(step)
        return step


class Script:
    """The steps that are still to come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: deque[_Queue] = deque()
        self._rules: list[tuple[Predicate, _Queue]] = []
        self._responder: Responder | None = None
        self._count = itertools.count()

    def add(self, *steps: Entry, loop: bool = False) -> None:
        """Append steps; those of a loop are repeated without end."""
        with self._lock:
            self._queues.append(_Queue(steps, loop=loop))

    def when(self, matches: Predicate, *steps: Entry, loop: bool = True) -> None:
        """Answer requests that match with these steps."""
        with self._lock:
            self._rules.append((matches, _Queue(steps, loop=loop)))

    def respond(self, responder: Responder | None) -> None:
        """Let a function choose; None gives the word back to rules and queue."""
        with self._lock:
            self._responder = responder

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._queues.clear()
            self._rules.clear()
            self._responder = None

    def next(self, request: dict[str, Any]) -> Step:
        """Return the step that answers `request`."""
        with self._lock:
            index = next(self._count)
            entry = self._responder or self._ruled(request) or self._queued() or _exhausted(index)
        return entry(request, index) if callable(entry) else entry

    def _ruled(self, request: dict[str, Any]) -> Entry | None:
        for matches, queue in self._rules:
            if matches(request):
                step = queue.take()
                if step is not None:
                    return step
        return None

    def _queued(self) -> Entry | None:
        while self._queues:
            step = self._queues[0].take()
            if step is not None:
                return step
            self._queues.popleft()
        return None


def echo(request: dict[str, Any], _index: int) -> Step:
    """Reply with the text of the last message."""
    return Reply(last_text(request))


def _exhausted(index: int) -> Fail:
    return Fail(_EXHAUSTED, body=f'{{"error":{{"message":"the script has no step left for request {index}"}}}}')
