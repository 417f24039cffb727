"""Elis as a contender of the step bench: a plain Group without Ray, every stage of the gate, a fsynced journal.

Each turn has a group of its own, because each turn of a peer has a conversation of its own; `--session` keeps one
group, so that what a long history costs can be seen beside it. The group's journal lies in the given folder.
"""

import argparse
import asyncio
import itertools
from pathlib import Path
from typing import Final

import msgspec

from host.config.home import GroupHome
from host.config.settings import BudgetSettings, GroupSettings, ModelSettings
from host.groups.assembly import open_group
from host.groups.blueprint import Blueprint
from host.groups.group import Group
from host.groups.port import EventView, Say
from tests.bench.peers.worker import TASK, serve, write_notes

LOOK_SECONDS: Final = 0.05  # how often the end of the turn is looked for; a watcher would cost what a panel costs
ENDLESS: Final = BudgetSettings(tokens=float("inf"), cost_usd=float("inf"), seconds=900, steps=50)


class Contender:
    """Opens a group and runs turns in it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._base_url: str = options.base_url
        self._model: str = options.model
        self._folder: Path = options.folder
        self._session: bool = options.session
        self._group: Group | None = None
        self._keys = itertools.count()

    async def turn(self) -> str:
        """Run one turn and return its reply; raise RuntimeError when it was no success."""
        group = self._group or self._open()
        placed = await group.say(Say(text=TASK, key=f"key-{next(self._keys)}"))
        while not await _has_ended(group, placed.turn):
            await asyncio.sleep(LOOK_SECONDS)
        final = (await group.turn_events(placed.turn))[-1]
        if self._session:
            self._group = group
        else:
            await asyncio.to_thread(group.close)
        return _reply(final)

    def _open(self) -> Group:
        home = GroupHome(root=self._folder / f"group-{next(self._keys)}")
        home.prepare()
        write_notes(home.workspace)
        group = open_group(self._blueprint(home))
        group.resume()
        return group

    def _blueprint(self, home: GroupHome) -> Blueprint:
        return Blueprint(
            name="main",
            root=str(home.root),
            run=str(self._folder / "run"),
            settings=GroupSettings(budget=ENDLESS),
            model_name="main",
            model=ModelSettings(provider="openai", base_url=self._base_url, model=self._model),
            embedded_key="",
            secrets={},
            faults="",
        )


async def _has_ended(group: Group, turn: str) -> bool:
    return any(view.turn == turn and view.state == "ended" for view in await group.turns(1, ""))


def _reply(final: EventView) -> str:
    if final.kind != "turn_ended" or final.data["outcome"] != "success":
        message = f"the turn ended as {msgspec.json.encode(final).decode()}"
        raise RuntimeError(message)
    return str(final.data["reply"])


def main() -> None:
    """Serve turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("model")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--session", action="store_true")
    serve(Contender(parser.parse_args()).turn)


if __name__ == "__main__":
    main()
