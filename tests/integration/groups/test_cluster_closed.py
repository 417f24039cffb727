"""Ray's edge when there is no Ray, or none any more: calls are refused in words, and none brings one up."""

import asyncio
from pathlib import Path

import psutil
import pytest

from host.config.settings import GroupSettings, ModelSettings
from host.errors import ResourceBusy
from host.groups.actor import Cluster, RemoteGroup
from host.groups.blueprint import Blueprint
from host.groups.port import Say


def blueprint(root: Path) -> Blueprint:
    """Return a group that is never opened."""
    return Blueprint(
        name="main",
        root=str(root / "groups" / "main"),
        run=str(root / "run"),
        settings=GroupSettings(),
        model_name="main",
        model=ModelSettings(provider="openai", model="m"),
        embedded_key="",
        secrets={},
        faults="",
    )


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Return a Ray that was never started."""
    return Cluster(tmp_path, tmp_path / "token")


def rays() -> set[int]:
    """Return Ray's servers among the descendants of this process; a host of other tests may have some."""
    servers = {"raylet", "gcs_server"}
    return {process.pid for process in psutil.Process().children(recursive=True) if process.name() in servers}


def test_a_launch_without_ray_does_not_start_one_by_itself(cluster: Cluster, tmp_path: Path) -> None:
    """Ray would do so by default, in a folder that nobody watches."""
    before = rays()
    with pytest.raises(Exception, match=r".") as caught:
        cluster.launch(blueprint(tmp_path))
    assert not isinstance(caught.value, ResourceBusy)
    assert rays() <= before


async def test_a_closed_cluster_refuses_launches_and_calls(cluster: Cluster, tmp_path: Path) -> None:
    """And says that the host is stopping."""
    before = rays()
    cluster.close()
    with pytest.raises(ResourceBusy, match="the host is stopping"):
        cluster.launch(blueprint(tmp_path))
    with pytest.raises(ResourceBusy, match="the host is stopping"):
        await RemoteGroup(cluster, "main").say(Say(text="hi", key="k"))
    with pytest.raises(ResourceBusy, match="the host is stopping"):
        await RemoteGroup(cluster, "main").view()
    assert rays() <= before


async def test_a_call_under_way_is_broken_off_when_the_host_stops(cluster: Cluster) -> None:
    """Whoever waits for a group that hangs is answered, not cut off."""
    asked = asyncio.Event()

    class Door:
        def remote(self, *_words: object) -> "asyncio.Future[object]":
            asked.set()
            return asyncio.get_running_loop().create_future()

    class Actor:
        control = Door()

    cluster._actors["main"] = Actor()  # pyright: ignore[reportPrivateUsage] - a real one needs Ray
    waiting = asyncio.create_task(RemoteGroup(cluster, "main").view())
    await asyncio.wait_for(asked.wait(), 10)
    cluster.close()
    with pytest.raises(ResourceBusy, match="the host is stopping"):
        await asyncio.wait_for(waiting, 10)


async def test_a_caller_that_gives_up_is_not_told_that_the_host_stops(cluster: Cluster) -> None:
    """Its own cancelling stays one."""

    class Door:
        def remote(self, *_words: object) -> "asyncio.Future[object]":
            return asyncio.get_running_loop().create_future()

    class Actor:
        control = Door()

    cluster._actors["main"] = Actor()  # pyright: ignore[reportPrivateUsage] - a real one needs Ray
    waiting = asyncio.create_task(RemoteGroup(cluster, "main").view())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
