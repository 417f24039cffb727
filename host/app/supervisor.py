"""The running host: its groups, its services, and the order in which they start and stop.

The panel listens before Ray is up; groups are launched as soon as Ray and, where one uses it, the embedded model are
there, and none waits for another (LANE-4). What dies is started again; what cannot start says why.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Final

from host.app.blueprints import Models, blueprint_for
from host.app.embedded import EmbeddedService
from host.app.version import VERSION
from host.config.home import Home
from host.config.load import load
from host.config.settings import Settings
from host.config.write import add_group, remove_group
from host.errors import ElisError, NotFound, ResourceBusy
from host.groups.actor import Cluster, RemoteGroup
from host.groups.port import GroupPort, Placement, Say
from host.groups.views import instant
from host.panel.directory import GroupStarting, HostView, NewGroup, ServiceView
from host.record.host_events import HostStarted, HostStopped
from host.record.host_record import HostJournal

_LOG: Final = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5  # how often Ray's own processes are looked after
RESTART_PAUSE_SECONDS: Final = 1.0
RESTART_PAUSE_MOST_SECONDS: Final = 30.0
DRAIN_SECONDS: Final = 20.0  # OPS-1


class Supervisor:
    """Owns what a host runs beside the web server. Lives in one event loop."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        models: Models,
        record: HostJournal,
        *,
        tool_names: Collection[str],
        on_ray_started: Callable[[], None],
    ) -> None:
        """`tool_names` are what a policy may name; `on_ray_started` is called on the loop after each start of Ray."""
        self._tool_names = tool_names
        self._on_ray_started = on_ray_started
        self.failed = False  # a part that the host cannot do without ended by itself
        self._draining = False
        self._home = home
        self._settings = settings
        self._models = models
        self._record = record
        self._cluster = Cluster(home.root, home.keys / "ray")
        self._embedded = EmbeddedService()
        self._ray_state = ServiceView(name="ray", state="starting")
        self._launches = asyncio.Lock()  # Ray refuses a second actor of one name, and is told of one change at a time
        self._ready: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shutdown = asyncio.Event()
        self._started_us = time.time_ns() // 1000
        self.address = ""

    # What the panel asks (host.panel.directory.Directory)

    def names(self) -> tuple[str, ...]:
        """Return the names of all configured groups."""
        return tuple(self._settings.groups)

    def group(self, name: str) -> GroupPort:
        """Return a way to the group; raise NotFound or GroupStarting."""
        if name not in self._settings.groups:
            known = ", ".join(self._settings.groups) or "none"
            raise NotFound(f"there is no group {name!r}; the groups are: {known}")
        if name not in self._ready:
            problem = self._ray_state.detail or "Ray is coming up"
            raise GroupStarting(f"group {name} is starting ({problem}); try again in a few seconds")
        return _DrainingGroup(self._cluster, name) if self._draining else RemoteGroup(self._cluster, name)

    async def add(self, new: NewGroup) -> None:
        """Write the group into the settings and start it; raise SettingsError or ResourceBusy."""
        if new.name in self._settings.groups:
            raise ResourceBusy(f"group {new.name} exists already")
        add_group(self._home.settings, new.name, self._tool_names, model=new.model)
        await self._follow_settings()

    async def remove(self, name: str, *, delete: bool) -> None:
        """Stop the group and take it out of the settings; raise NotFound or SettingsError."""
        if name not in self._settings.groups:
            raise NotFound(f"there is no group {name!r}")
        remove_group(self._home.settings, name, self._tool_names)
        await self._follow_settings()
        if delete:
            await asyncio.to_thread(shutil.rmtree, self._home.group(name).root, ignore_errors=True)

    async def _follow_settings(self) -> None:
        """Read the settings again; start the groups that are new in them and end those that are gone."""
        self._settings = load(self._home.settings, self._tool_names)
        for name in self._settings.groups:
            self._home.group(name).prepare()
        if self._ray_state.state == "running":
            await self._end_removed()
            await self._launch_missing()

    async def status(self) -> HostView:
        """Return the host at a glance."""
        return HostView(
            name=self._settings.host.name,
            version=VERSION,
            pid=os.getpid(),
            started_at=instant(self._started_us),
            address=self.address,
            default_group=self._settings.host.default_group,
            services=(self._ray_state, self._embedded.view()),
        )

    def request_shutdown(self) -> None:
        """Ask the host to stop."""
        self._shutdown.set()

    # Start and stop, each to be read from top to bottom (OPS-1)

    async def start(self) -> None:
        """Begin to bring up the services and the groups; returns at once, the panel answers meanwhile."""
        await self._record.append(HostStarted(pid=os.getpid(), version=VERSION))
        for name in self._settings.groups:
            self._home.group(name).prepare()
        self._own(self._bring_up(), "bring up")

    async def wait(self) -> None:
        """Return when somebody asked for the end."""
        await self._shutdown.wait()

    async def stop(self, why: str) -> None:
        """Refuse new work, let running turns end within a bound, leave the rest resumable, end the children."""
        self._draining = True  # people can still stop, answer and watch what runs
        groups = [RemoteGroup(self._cluster, name) for name in self._ready]
        await _drained(groups)
        self._ready.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._embedded.stop()
        async with self._launches:
            await asyncio.to_thread(self._cluster.stop)
        await self._record.append(HostStopped(why=why))

    async def _bring_up(self) -> None:
        async with asyncio.TaskGroup() as group:
            if self._models.need_embedded(self._settings):
                group.create_task(self._embedded.start(), name="start the embedded model")
            await self._start_ray()
            await self._launch_missing()
        await self._keep_ray()

    async def _start_ray(self) -> None:
        pause = RESTART_PAUSE_SECONDS
        while True:
            try:
                await asyncio.to_thread(self._cluster.start)
            except Exception as error:  # noqa: BLE001 - Ray's own failures have no common root; each is shown and tried again
                _LOG.exception("Ray did not start")
                detail = f"Ray did not start ({type(error).__name__}: {error}); it is tried again every {pause:.0f} s"
                self._ray_state = ServiceView(name="ray", state="failed", detail=detail)
                await asyncio.sleep(pause)
                pause = min(2 * pause, RESTART_PAUSE_MOST_SECONDS)
            else:
                self._ray_state = ServiceView(name="ray", state="running")
                self._on_ray_started()
                return

    async def _keep_ray(self) -> None:
        """Start Ray again, and the groups with it, when one of its own processes is gone."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._cluster.alive():
                continue
            _LOG.warning("a process of Ray is gone; Ray and the groups are started again")
            self._ray_state = ServiceView(name="ray", state="starting", detail="Ray is being started again")
            async with self._launches:
                self._ready.clear()
                with contextlib.suppress(Exception):  # what is left of a dead cluster may refuse to be shut down
                    await asyncio.to_thread(self._cluster.stop)
            await self._start_ray()
            await self._launch_missing()

    async def _launch_missing(self) -> None:
        """Launch the groups that do not run; one whose model takes long to come keeps no other waiting (LANE-4)."""
        await asyncio.gather(*(self._launch(name) for name in self._settings.groups if name not in self._ready))

    async def _launch(self, name: str) -> None:
        if self._models.of_group(name, self._settings).provider == "embedded":
            await self._embedded.start()
        async with self._launches:
            if name in self._ready or name not in self._settings.groups:
                return  # somebody else was faster
            if self._draining or self._ray_state.state != "running":
                return  # it is launched with the next start of the host, or of Ray
            address, key = self._embedded.address_and_key()
            blueprint = blueprint_for(name, self._home, self._settings, self._models, address, key)
            await asyncio.to_thread(self._cluster.launch, blueprint)
            self._ready.add(name)

    async def _end_removed(self) -> None:
        async with self._launches:
            for name in self._ready - set(self._settings.groups):
                self._ready.discard(name)
                await asyncio.to_thread(self._cluster.end, name)

    def _own(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._died)

    def _died(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("the task %r of the host failed; the host stops", task.get_name(), exc_info=error)
            self.failed = True
            self._shutdown.set()


class _DrainingGroup(RemoteGroup):
    """A group of a host that is stopping: it can be stopped, answered and watched, and takes no new work."""

    async def say(self, say: Say) -> Placement:
        """Refuse; raise ResourceBusy."""
        del say
        raise ResourceBusy(f"the host is stopping and takes no new work for {self.name}; say it again after its start")

    async def release(self, message: str) -> Placement:
        """Refuse; raise ResourceBusy."""
        raise ResourceBusy(f"the host is stopping; release {message} after its start")


async def _drained(groups: list[RemoteGroup]) -> None:
    """Wait until no lane runs, at most the bound; a group that does not answer counts as idle."""
    until = time.monotonic() + DRAIN_SECONDS
    await asyncio.gather(*(group.drain() for group in groups), return_exceptions=True)
    while groups and time.monotonic() < until:
        busy = [group for group in groups if await _is_busy(group)]
        if not busy:
            return
        groups = busy
        await asyncio.sleep(LOOK_SECONDS)


async def _is_busy(group: RemoteGroup) -> bool:
    try:
        async with asyncio.timeout(2):
            view = await group.view()
    except (ElisError, TimeoutError):
        return False
    return any(lane.state == "running" for lane in view.lanes)
