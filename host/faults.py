"""Named fault points at the dangerous instants (REC-5), armed from outside for tests and by nothing else.

`ELIS_FAULTS="name=kill|delay:SECONDS|busy:SECONDS,…"` arms them; `name=kill@3` acts at the third passing. A kill
happens once per armed host run: it leaves a mark, so that the restarted process gets past the point.
"""

import os
import signal
import time
from pathlib import Path
from typing import Final

import msgspec

from host.errors import SettingsError

VARIABLE: Final = "ELIS_FAULTS"

POINTS: Final[dict[str, str]] = {
    "journal.before_commit": "a batch is written, its transaction is not committed",
    "journal.after_commit": "a batch is durable, nobody was told",
    "message.accepted": "a message is durable, no turn was started for it",
    "turn.before_request": "the request is durable, not sent",
    "turn.after_response": "the response was received, it is not durable",
    "turn.chat": "the chat lane's loop is about to infer; `busy` and `delay` block the loop itself",
    "command.judging": "a shell text is with the process that judges it, its verdict is not there",
    "call.before_run": "the call's start is durable, its tool has not run",
    "call.after_effect": "the tool ran, its result is not durable",
    "approval.settled": "an answer is durable, the waiting call was not told",
    "approval.assisted": "the aux model's yes is durable, the call has not started",
    "turn.before_end": "the final event is about to be written",
    "turn.after_end": "the final event is durable, nobody was told",
}


class Fault(msgspec.Struct, frozen=True):
    """What happens at an armed point."""

    action: str  # kill | delay | busy
    seconds: float = 0.0
    passing: int = 1  # acts at this passing, counted from 1; delay and busy act from then on


class Faults:
    """The armed points of one process. Call it with a point's name where that point is."""

    def __init__(self, armed: dict[str, Fault], marks: Path | None = None) -> None:
        """Arm `armed`; `marks` is the folder that remembers which kills have happened."""
        self._armed = armed
        self._marks = marks
        self._passed: dict[str, int] = {}

    @classmethod
    def from_environment(cls, marks: Path | None = None) -> "Faults":
        """Read `ELIS_FAULTS`; raise SettingsError for an unknown point or action."""
        return cls(parse(os.environ.get(VARIABLE, "")), marks)

    def __call__(self, point: str) -> None:
        """Act if `point` is armed; unarmed points cost a dictionary look-up."""
        fault = self._armed.get(point)
        if fault is None:
            return
        self._passed[point] = self._passed.get(point, 0) + 1
        if self._passed[point] < fault.passing:
            return
        match fault.action:
            case "kill":
                if self._first_kill(point):
                    os.kill(os.getpid(), signal.SIGKILL)
            case "delay":
                time.sleep(fault.seconds)
            case _:
                _spin(fault.seconds)

    def _first_kill(self, point: str) -> bool:
        if self._marks is None:
            return True
        self._marks.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(self._marks / point, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        return True


def parse(text: str) -> dict[str, Fault]:
    """Read the value of `ELIS_FAULTS`; raise SettingsError with the known points for anything else."""
    armed: dict[str, Fault] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, action = entry.partition("=")
        if name not in POINTS:
            known = ", ".join(POINTS)
            message = f"{VARIABLE} names the unknown point {name!r}; the points are {known}"
            raise SettingsError(message)
        armed[name] = _fault(entry, action)
    return armed


def _fault(entry: str, action: str) -> Fault:
    action, _, passing = action.partition("@")
    verb, _, seconds = action.partition(":")
    try:
        fault = Fault(verb, float(seconds or 0), int(passing or 1))
    except ValueError:
        fault = Fault("")
    if fault.action not in {"kill", "delay", "busy"} or fault.passing < 1:
        message = f"{VARIABLE}: {entry!r} should read NAME=kill, NAME=delay:SECONDS or NAME=busy:SECONDS"
        raise SettingsError(message)
    return fault


def _spin(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
