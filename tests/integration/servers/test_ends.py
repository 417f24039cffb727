"""How a tool server comes to its end: Stop, the turn's time, a start that never comes, the end of its group."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from host.config.settings import BudgetSettings
from host.tools.bwrap import BwrapSandbox
from host.tools.jail import Jail
from host.tools.leftovers import left_running
from host.tools.servers.errors import ServerFailed
from host.tools.servers.listing import Listing
from host.tools.servers.server import Server
from host.tools.servers.thread import ServerThread
from host.tools.servers.ways import Program
from tests.integration.groups.stage import BOUND
from tests.integration.servers.conftest import Served
from tests.scripted_model import Call, Reply

LATE = Call("odd__late", {name: f"/workspace/shared/{name}" for name in ("begun", "go", "done")})


async def appears(path: Path) -> None:
    """Wait until a file is there."""
    async with asyncio.timeout(BOUND):
        while not path.exists():
            await asyncio.sleep(0.005)


async def all_gone(workspace: Path) -> None:
    """Wait until nothing runs that was started for this workspace."""
    jail = Jail.open(workspace, {})
    try:
        async with asyncio.timeout(BOUND):
            while left_running(jail.roots[0]):
                await asyncio.sleep(0.02)
    finally:
        jail.close()


@pytest.mark.clause("BOX-5", "STOP-1")
async def test_after_a_stop_a_call_has_no_further_effect_though_the_server_hears_no_cancellation(
    served: Served,
) -> None:
    """It is killed; the lane is not abandoned for it, and the next turn starts a new one."""
    served.server(folders=("shared",))
    served.stage.model.script(Reply(calls=[LATE]))
    placement = await served.stage.say()
    await appears(served.shared / "begun")
    await served.stage.group.stop("", all_lanes=False, by="operator")
    (served.shared / "go").touch()
    ended = await served.stage.ended(placement)
    assert ended.data["reason"] == "interrupted"
    await all_gone(served.stage.workspace)
    assert not (served.shared / "done").exists()
    assert not await served.events("lane_replaced")
    (result,) = await served.results(ended.turn)
    assert result["reason"] == "interrupted"
    await served.stage.idle()
    served.stage.model.script(Reply(calls=[Call("odd__echo", {"text": "a"})]), Reply(text="done"))
    (echo,) = await served.results((await served.stage.ask()).turn)
    assert echo["ok"]


@pytest.mark.clause("BOX-5")
async def test_a_call_that_hangs_is_ended_with_the_time_of_its_turn(served: Served) -> None:
    """And its server with it."""
    served.stage.settings = type(served.stage.settings)(
        folders=served.folders, policy=served.stage.settings.policy, budget=BudgetSettings(seconds=4)
    )
    served.server(folders=("shared",))
    ended = await served.turn(LATE)
    assert ended.data["reason"] == "budget_exhausted"
    (served.shared / "go").touch()
    await all_gone(served.stage.workspace)
    assert not (served.shared / "done").exists()


@pytest.mark.clause("BOX-5")
async def test_a_server_that_never_answers_is_ended_after_its_time(served: Served, tmp_path: Path) -> None:
    """Whoever waits is told; nothing is left running."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    jail = Jail.open(workspace, {})
    thread = ServerThread()

    async def environment() -> dict[str, str]:
        return {}

    async def seen(_name: str, _listing: Listing) -> None:
        pytest.fail("it never told anything")

    program = Program("mute", ("sleep", "1000"), BwrapSandbox((), marked=jail.roots[0]), environment)
    server = Server("mute", program, thread, seen=seen, held=lambda _: "", start_seconds=0.3)
    try:
        with pytest.raises(ServerFailed, match=r"not ready within 0\.3 s"):
            await server.look()
        await all_gone(workspace)
    finally:
        thread.close()
        jail.close()
    del served


class Asked:
    """A vault that is asked for a server's secret and takes its time."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.answer = threading.Event()

    async def environment(self) -> dict[str, str]:
        """Wait for the answer in a thread, as for the program of a vault."""
        self.begun.set()
        await asyncio.to_thread(self.answer.wait, BOUND)
        return {"TOKEN": "value"}


async def all_done() -> None:
    """Wait until nothing runs on this loop any more."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        _, pending = await asyncio.wait(others, timeout=BOUND)
        assert not pending


async def nobody_sees(_name: str, _listing: Listing) -> None:
    """Hear of a list that must not be told."""
    pytest.fail("it never told anything")


@pytest.mark.clause("BOX-5", "STOP-1", "SEC-2")
@pytest.mark.parametrize("how", ["the call is cancelled", "the lane is given up"])
async def test_a_server_that_is_cut_while_its_secret_is_fetched_does_not_start(tmp_path: Path, how: str) -> None:
    """There is nothing to kill yet; when the vault answers, nobody wants the server any more."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    jail, thread, vault = Jail.open(workspace, {}), ServerThread(), Asked()
    command = ("sh", "-c", "touch /workspace/begun; sleep 1000")
    program = Program("mute", command, BwrapSandbox(jail.roots), vault.environment)
    server = Server("mute", program, thread, seen=nobody_sees, held=lambda _: "")
    try:
        looking, waiting = asyncio.create_task(server.look()), asyncio.create_task(server.call("x", {}))
        assert await asyncio.to_thread(vault.begun.wait, BOUND)
        if how == "the call is cancelled":
            looking.cancel()
        else:
            server.cut()
        ends = await asyncio.wait_for(asyncio.gather(looking, waiting, return_exceptions=True), BOUND)
        vault.answer.set()
        await asyncio.wrap_future(thread.submit(all_done()))
        assert not (workspace / "begun").exists()
        assert not left_running(jail.roots[0])
        assert [type(end) for end in ends[1:]] == [ServerFailed]
    finally:
        vault.answer.set()
        thread.close()
        jail.close()


@pytest.mark.clause("BOX-5", "STOP-1")
async def test_a_server_that_is_cut_in_the_step_in_which_its_box_starts_does_not_begin(tmp_path: Path) -> None:
    """The sandbox did not know of the box when it was told to kill; the program waits for a word that never comes."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    jail = Jail.open(workspace, {})
    wanted = iter([True, False, False])

    async def environment() -> dict[str, str]:
        return {}

    program = Program("mute", ("sh", "-c", "touch /workspace/begun"), BwrapSandbox(jail.roots), environment)
    try:
        with pytest.raises(ServerFailed, match="before it began"):
            async with program.open(lambda: None, lambda: next(wanted)):
                pytest.fail("it was opened")
        assert not (workspace / "begun").exists()
        await all_gone(workspace)
    finally:
        jail.close()


@pytest.mark.clause("BOX-5")
async def test_a_server_dies_with_its_group(served: Served) -> None:
    """It outlives the turn that started it, and nothing else."""
    served.server()
    await served.ask(Call("odd__echo", {"text": "a"}))
    jail = Jail.open(served.stage.workspace, {})
    assert left_running(jail.roots[0])
    jail.close()
    served.stage.close()
    await all_gone(served.stage.workspace)


@pytest.mark.clause("BOX-5", "REC-1")
async def test_a_group_that_ends_in_the_middle_of_a_call_leaves_its_outcome_unknown(served: Served) -> None:
    """The server is killed with it; the call is not run again at the next start."""
    served.server(folders=("shared",))
    served.stage.model.script(Reply(calls=[LATE]))
    placement = await served.stage.say()
    await appears(served.shared / "begun")
    served.stage.close()
    (served.shared / "go").touch()
    await all_gone(served.stage.workspace)
    assert not (served.shared / "done").exists()
    served.stage.model.script(Reply(text="done"))
    ended = await served.stage.ended(placement)
    (result,) = await served.results(ended.turn)
    assert "outcome is unknown" in result["result"]
    assert not (served.shared / "done").exists()


async def test_a_server_is_started_once_and_serves_many_calls(served: Served) -> None:
    """And in the next session of the host it is started when it is first called, not before."""
    served.server()
    first, second = await served.ask(
        Call("odd__run", {"command": "cat /proc/1/stat | cut -d' ' -f22"}),
        Call("odd__run", {"command": "cat /proc/1/stat | cut -d' ' -f22;"}),
    )
    number = json.dumps(first["result"]).split("\\n")[1]
    assert number in json.dumps(second["result"])
    served.stage.close()
    await served.turn()
    jail = Jail.open(served.stage.workspace, {})
    assert not left_running(jail.roots[0])
    jail.close()
