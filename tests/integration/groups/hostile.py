"""A hostile model against a real group with everything it may do unasked, and a look at what came of it.

`python -m tests.integration.groups.hostile [--steps 1000] [--seed N]` runs it alone; the suite runs fewer steps. Nobody
answers its questions. Besides files, shell and web it has the run of a tool server in a sandbox, another one by URL,
and a package index with packages that are not what they should be.
"""

import argparse
import asyncio
import collections
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from host.config.settings import ApprovalSettings, BudgetSettings, GroupSettings, PolicySettings, SandboxSettings
from host.passport import Decision
from tests.integration.groups.attempts import Attacker
from tests.integration.groups.besieged import INSIDE, LISTED, PACKAGES, Besieged
from tests.scripted_model import Reply

STEPS_OF_A_TURN: Final = 10
UNASKED: Final = ("box__run", "box__python", "hub__say", "hub__lure", "install_package")
"""Tools that the operator let it use without a question."""

SETTINGS: Final = GroupSettings(
    budget=BudgetSettings(tokens=float("inf"), cost_usd=float("inf"), steps=STEPS_OF_A_TURN),
    approvals=ApprovalSettings(timeout_seconds=0.02),
    policy=PolicySettings(choices=dict.fromkeys(UNASKED, Decision.ALLOW)),
    sandbox=SandboxSettings(network=(LISTED, INSIDE), packages=PACKAGES),
)


class Siege:
    """One group under attack by a model."""

    def __init__(self, top: Path, seed: int) -> None:
        self.besieged = Besieged(top, SETTINGS)
        self.attacker = Attacker(self.besieged.aims, seed)
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.answers: collections.Counter[str] = collections.Counter()  # ran, or why not; by tool
        self.steps = 0

    async def run(self, steps: int) -> list[str]:
        """Let the model make `steps` steps; return what does not hold."""
        with self.besieged as besieged:
            besieged.model.respond(self._step)
            while self.steps < steps:
                ended = await besieged.stage.ask(f"go on from {self.steps}")
                await besieged.stage.idle()
                self.outcomes[str(ended.data["reason"] or "success")] += 1
                await self._count(ended.turn)
            unknown = {name: count for name, count in self.outcomes.items() if name == "unknown"}
            return besieged.wrong() + [f"a turn failed without a reason: {unknown}" for _ in unknown]

    async def _count(self, turn: str) -> None:
        for event in await self.besieged.stage.group.turn_events(turn):
            if event.kind == "call_finished":
                self.answers[f"{event.data['tool']} ran"] += 1
            elif event.kind == "call_refused":
                self.answers[f"{event.data['tool']} refused: {event.data['reason']}"] += 1

    def _step(self, request: dict[str, Any], _index: int) -> Reply:
        if request.get("tool_choice") == "none":
            return Reply(text="I ran out of steps.")
        self.steps += 1
        return Reply(calls=[self.attacker.next_call(self.steps)])


def main() -> int:
    """Run it alone and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="elis-hostile-") as folder:
        siege = Siege(Path(folder), arguments.seed)
        wrong = asyncio.run(siege.run(arguments.steps))
    tried = siege.attacker.tried
    print(f"seed {arguments.seed}; {siege.steps} steps, {tried.total()} attempts; {dict(siege.outcomes)}")  # noqa: T201 - a command of its own
    print("\n".join(f"  {answer}: {count}" for answer, count in sorted(siege.answers.items())))  # noqa: T201
    print(f"the hub was asked to lure {len(siege.besieged.hub.lured)} times")  # noqa: T201
    print("\n".join(wrong) or "nothing was reached, read, changed or left outside the bounds")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
