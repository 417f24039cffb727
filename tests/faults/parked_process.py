"""One group in a process of its own with an approved parked turn behind a running one; it kills itself there.

Run as `python -m tests.faults.parked_process ROOT MODEL_URL (kill | finish)`. `kill` parks a turn, starts another,
allows the question and dies by SIGKILL once the parked turn is queued; `finish` waits for both ends and prints the
events.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from host.groups.assembly import open_group
from host.groups.group import Group
from host.groups.port import EventView, Say
from tests.faults.group_process import BOUND, blueprint


async def until(group: Group, found: Callable[[list[EventView]], bool]) -> list[EventView]:
    """Return all events once `found` accepts them."""
    events: list[EventView] = []
    cursor = 0
    async with asyncio.timeout(BOUND):
        while not found(events):
            watched = await group.watch(events[-1].seq if events else 0, cursor, 0.2)
            cursor = watched.cursor
            events += watched.events
    return events


async def die_behind(group: Group) -> None:
    """Park, run, allow, die."""
    await group.say(Say(text="alone", key="alone", unattended=True))
    await until(group, lambda events: any(event.kind == "turn_parked" for event in events))
    async with asyncio.timeout(BOUND):
        while (await group.view()).lanes[0].state != "idle":
            await asyncio.sleep(0.01)
    running = await group.say(Say(text="running", key="running"))
    await until(group, lambda events: any(e.kind == "request_sent" and e.turn == running.turn for e in events))
    (question,) = await group.approvals()
    await group.settle(question.id, verdict="allowed", by="test", text="")
    await until(group, lambda events: sum(event.data.get("disposition") == "queued" for event in events) == 1)
    os.kill(os.getpid(), signal.SIGKILL)


async def finish(group: Group) -> list[EventView]:
    """Wait for both turns' final events."""
    return await until(group, lambda events: sum(event.kind == "turn_ended" for event in events) == 2)


def main() -> None:
    """Open, resume, do what was asked."""
    group = open_group(blueprint(Path(sys.argv[1]), sys.argv[2]))
    group.resume()
    if sys.argv[3] == "kill":
        asyncio.run(die_behind(group))
    events = asyncio.run(finish(group))
    group.close()
    sys.stdout.write(msgspec.json.encode(events).decode())


if __name__ == "__main__":
    main()
