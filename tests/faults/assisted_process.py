"""One group in a process of its own whose aux model is asked before a person; it says a message and prints the events.

Run as `python -m tests.faults.assisted_process ROOT MODEL_URL AUX_URL`; ELIS_FAULTS arms it. A question that comes to a
person is denied. It is killed by its fault or by the test, and started again.
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from host.config.settings import ApprovalSettings, GroupSettings, ModelSettings
from host.groups.assembly import open_group
from host.groups.group import Group
from host.groups.port import EventView, Say
from tests.faults.group_process import BOUND, blueprint


async def events(group: Group) -> list[EventView]:
    """Say the message (its key makes it one), deny every question, and return all events of its turn."""
    placement = await group.say(Say(text="do it", key="the-key"))
    after, cursor = 0, 0
    async with asyncio.timeout(BOUND):
        while True:
            for question in await group.approvals():
                await group.settle(question.id, verdict="denied", by="test", text="")
            watched = await group.watch(after, cursor, 0.2)
            cursor = watched.cursor
            for event in watched.events:
                after = event.seq
                if event.kind == "turn_ended" and event.turn == placement.turn:
                    return list(await group.turn_events(placement.turn))


def main() -> None:
    """Open, resume, say, wait, print."""
    root, url, aux = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    given = msgspec.structs.replace(
        blueprint(root, url),
        settings=GroupSettings(approvals=ApprovalSettings(assisted=True)),
        aux_name="small",
        aux=ModelSettings(provider="openai", base_url=aux, model="tiny"),
    )
    group = open_group(given)
    group.resume()
    found = asyncio.run(events(group))
    group.close()
    sys.stdout.write(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main()
