"""The model server of the step bench in a process of its own; it also keeps the time, the same way for everybody.

A contender is known by the model's name that it asks for. Each gets the same script: twenty calls, then the final
reply. The time from one request's arrival to the next is one full step of whoever sent them, measured from outside.
Prints its base URL; for each name on stdin it prints the arrivals since the last look, in nanoseconds, as JSON.
"""

import json
import sys
import time
from collections import defaultdict
from typing import Any

from tests.bench.peers.worker import FINAL_REPLY, STEPS, note
from tests.scripted_model import Call, Reply, ScriptedModel, Step


class Timekeeper:
    """Answers by the script and notes when each request came."""

    def __init__(self) -> None:
        self._arrivals: defaultdict[str, list[int]] = defaultdict(list)

    def answer(self, request: dict[str, Any], _index: int) -> Step:
        """Return the next step of the contender's turn."""
        now = time.perf_counter_ns()
        arrivals = self._arrivals[request["model"]]
        number = len(arrivals)
        arrivals.append(now)
        if number >= STEPS:
            return Reply(FINAL_REPLY)
        return Reply(calls=[Call("read_file", {"path": note(number)})])

    def take(self, model: str) -> list[int]:
        """Return and forget a contender's arrivals: its next turn begins anew."""
        return self._arrivals.pop(model, [])


def main() -> None:
    """Serve until stdin closes."""
    timekeeper = Timekeeper()
    server = ScriptedModel()
    server.respond(timekeeper.answer)
    with server:
        print(server.base_url, flush=True)
        for line in sys.stdin:
            print(json.dumps(timekeeper.take(line.strip())), flush=True)


if __name__ == "__main__":
    main()
