"""Kills with -9 at random instants in the middle of a long task, and what must hold afterwards (REC-1).

`python -m tests.acceptance.kills [--kills 50] [--seed N]` runs it alone; the suite runs a few. The task appends a line
a step by a shell command, so that an effect that happened twice is seen in the file.
"""

import argparse
import collections
import contextlib
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final

import httpx2
import psutil

from host.record.codec import GroupCodec
from host.record.events import GroupEvent
from host.tools.leftovers import MARK
from memory.journal import Journal
from tests.acceptance.host import BOUND, Host
from tests.scripted_model import Call, Reply, ScriptedModel

STEPS: Final = 20
TARGETS: Final = ("actor", "supervisor", "raylet", "embedded model")

SETTINGS: Final = """
[host]
listen = "127.0.0.1:0"

[models.main]
provider = "openai"
base_url = "{url}"
model = "scripted"

[models.tiny]
provider = "embedded"
output_tokens = 64
capabilities = []

[groups.main]
[groups.main.budget]
tokens = inf

[groups.tiny]
model = "tiny"
"""


def next_step(request: dict[str, Any], _index: int) -> Reply:
    """Return the next step of the task that the last words name; the same request always gets the same answer."""
    messages = request["messages"]
    last = max(
        index
        for index, message in enumerate(messages)
        if message["role"] == "user" and message["content"].startswith("task-")
    )
    task = messages[last]["content"]
    done = sum(message["role"] == "tool" for message in messages[last:])
    if done >= STEPS:
        return Reply(text=f"{task} is done")
    return Reply(calls=[Call("shell", {"command": f"echo {task}:{done} >> log.txt"})])


def left_of(home: Path) -> list[str]:
    """Return the processes that work for a host which is down: by their words, or by the mark of a workspace."""
    marks = [(folder.stat().st_dev, folder.stat().st_ino) for folder in home.glob("groups/*/workspace")]
    marked = {f"{device}:{number}" for device, number in marks}
    found: list[str] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            words = process.cmdline()
            if any(str(home) in word for word in words) or process.environ().get(MARK) in marked:
                found.append(f"{process.pid} {' '.join(words)[:200]}")
    return found


class Approver(threading.Thread):
    """Allows every question, as a patient person would."""

    def __init__(self, host: Host) -> None:
        super().__init__(name="approver", daemon=True)
        self._host = host
        self._over = threading.Event()

    def run(self) -> None:
        """Answer until told to stop; a host that is away is looked for again."""
        while not self._over.wait(0.05):
            with contextlib.suppress(OSError, httpx2.HTTPError, KeyError):
                for question in self._host.get("/approvals"):
                    self._host.post(f"/approvals/{question['id']}", {"verdict": "allow"})

    def end(self) -> None:
        """Stop answering."""
        self._over.set()
        self.join(BOUND)


class Chaos:
    """One host, one task after the other, one kill each."""

    def __init__(self, home: Path, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - instants to kill at
        self._model = ScriptedModel()
        self._model.start()
        self._model.respond(next_step)
        self.host = Host(home, SETTINGS.format(url=self._model.base_url))
        self.killed: collections.Counter[str] = collections.Counter()

    def run(self, kills: int) -> None:
        """Kill `kills` times, each time in the middle of a task, and wait for each task's end."""
        self.host.up()
        approver = Approver(self.host)
        approver.start()
        try:
            for number in range(kills):
                self._one(f"task-{number}", TARGETS[number % len(TARGETS)])
        finally:
            approver.end()
            self.host.down()
            self.host.end()
            self._model.stop()

    def _one(self, task: str, target: str) -> None:
        group = "tiny" if target == "embedded model" else "main"
        turn = self._say(group, task)
        time.sleep(self._random.uniform(0.0, 1.5))  # the random instant
        self._kill(target)
        self.killed[target] += 1
        self.host.wait(lambda: self._ended(group, turn))

    def _say(self, group: str, task: str) -> str:
        answer = self.host.post(f"/groups/{group}/messages", {"text": task, "key": task})
        answer.raise_for_status()
        return str(answer.json()["turn"])

    def _kill(self, target: str) -> None:
        match target:
            case "actor":
                psutil.Process(self.host.group("main")["view"]["pid"]).kill()
            case "supervisor":
                self.host.kill()
                self.host.up()
            case "raylet":
                psutil.Process(self.host.pid_of("raylet/raylet")).kill()
            case _:
                psutil.Process(self.host.pid_of("host.services.embedded_model")).kill()

    def _ended(self, group: str, turn: str) -> bool:
        events = self.host.get(f"/groups/{group}/turns/{turn}")
        return bool(events) and any(event["kind"] == "turn_ended" for event in events)

    def check(self) -> list[str]:
        """Return what does not hold: final events, effects, journals, an end of every process."""
        wrong = [f"still running: {process}" for process in left_of(self.host.home)]
        for group in ("main", "tiny"):
            root = self.host.home / "groups" / group
            reader = Journal[GroupEvent].reader(root / "journal.db", GroupCodec())
            try:
                verdict = reader.verify()
                if not verdict.ok:
                    wrong.append(f"{group}: the journal does not verify: {verdict.detail}")
                started = [row[0] for row in reader.query("select turn from turns")]
                ended = collections.Counter(
                    row[0] for row in reader.query("select turn from events where kind = 'turn_ended'")
                )
                wrong += [f"{group}: {turn} has {ended[turn]} final events" for turn in started if ended[turn] != 1]
            finally:
                reader.close()
        log = self.host.home / "groups" / "main" / "workspace" / "log.txt"
        lines = collections.Counter(log.read_text(encoding="utf-8").split() if log.exists() else [])
        wrong += [f"the effect {line} happened {count} times" for line, count in lines.items() if count > 1]
        return wrong


def main() -> int:
    """Run it alone and print what was killed and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="elis-kills-") as folder:
        chaos = Chaos(Path(folder) / "elis", arguments.seed)
        chaos.run(arguments.kills)
        wrong = chaos.check()
    print(f"seed {arguments.seed}; killed: {dict(chaos.killed)}")  # noqa: T201 - a command of its own
    print("\n".join(wrong) or "every turn ended once, no effect happened twice, the journals verify")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
