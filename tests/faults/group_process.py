"""One group in a process of its own that says one message, allows what is asked, and prints the final event.

Run as `python -m tests.faults.group_process ROOT MODEL_URL`; ELIS_FAULTS arms it. It is killed at the armed point and
started again by the test.
"""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from host.config.settings import GroupSettings, ModelSettings
from host.groups.assembly import open_group
from host.groups.blueprint import Blueprint
from host.groups.group import Group
from host.groups.port import EventView, Say

BOUND = 30.0


def blueprint(root: Path, url: str) -> Blueprint:
    """Return the group of these tests."""
    return Blueprint(
        name="main",
        root=str(root / "groups" / "main"),
        run=str(root / "run"),
        settings=GroupSettings(),
        model_name="main",
        model=ModelSettings(provider="openai", base_url=url, model="scripted"),
        embedded_key="",
        secrets={},
        faults=os.environ.get("ELIS_FAULTS", ""),
    )


async def final(group: Group) -> EventView:
    """Say the message (its key makes it one), allow every question, and return the final event."""
    placement = await group.say(Say(text="do it", key="the-key"))
    after, cursor = 0, 0
    async with asyncio.timeout(BOUND):
        while True:
            for question in await group.approvals():
                await group.settle(question.id, verdict="allowed", by="test", text="")
            watched = await group.watch(after, cursor, 0.2)
            cursor = watched.cursor
            for event in watched.events:
                after = event.seq
                if event.kind == "turn_ended" and event.turn == placement.turn:
                    return event


def main() -> None:
    """Open, resume, say, wait, print."""
    group = open_group(blueprint(Path(sys.argv[1]), sys.argv[2]))
    group.resume()
    ended = asyncio.run(final(group))
    group.close()
    sys.stdout.write(msgspec.json.encode(ended).decode())


if __name__ == "__main__":
    main()
