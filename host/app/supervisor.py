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

import psutil

from host.app.blueprints import Models, blueprint_for, secret_references
from host.app.embedded import EmbeddedService
from host.app.ending import within
from host.app.ray_service import RayService
from host.app.reading import read_settings
from host.app.version import VERSION
from host.config.home import Home
from host.config.settings import Settings
from host.config.write import add_group, remove_group
from host.errors import ElisError, NotFound, ResourceBusy
from host.groups.actor import Cluster, RemoteGroup
from host.groups.port import GroupPort, Placement, Say
from host.groups.views import instant
from host.panel.directory import GroupStarting, HostView, NewGroup
from host.record.host_events import HostStarted, HostStopped
from host.record.host_record import HostJournal
from host.vault.safe import Safe, SecretStatus

_LOG: Final = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.25  # how often a group that is to become idle is looked at
DRAIN_SECONDS: Final = 20.0  # OPS-1
SILENT_SECONDS: Final = 4.0  # a group that does not answer for so long hangs; its doors answer in milliseconds
STEP_SECONDS: Final = 2.0  # for what needs no more than a moment
EMBEDDED_SECONDS: Final = 8.0  # closing, asking and forcing take up to 6


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
        self.failed = False  # a part that the host cannot do without ended by itself
        self.stuck = False  # something did not end within its bound and has to be killed
        self._draining = False
        self._home = home
        self._settings = settings
        self._models = models
        self._record = record
        self._cluster = Cluster(home.root, home.keys / "ray")
        self._ray = RayService(self._cluster, on_ray_started)
        self._embedded = EmbeddedService()
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
            if self._is_stopping:
                raise ResourceBusy(f"the host is stopping, and group {name} with it; try again after its next start")
            problem = self._ray.view().detail or "Ray is coming up"
            raise GroupStarting(f"group {name} is starting ({problem}); try again in a few seconds")
        return _DrainingGroup(self._cluster, name) if self._is_stopping else RemoteGroup(self._cluster, name)

    async def add(self, new: NewGroup) -> None:
        """Write the group into the settings and start it; raise SettingsError or ResourceBusy."""
        self._refuse_while_stopping()
        if new.name in self._settings.groups:
            raise ResourceBusy(f"group {new.name} exists already")
        add_group(self._home.settings, new.name, self._tool_names, model=new.model)
        await self._follow_settings()

    async def remove(self, name: str, *, delete: bool) -> None:
        """Stop the group and take it out of the settings; raise NotFound, ResourceBusy or SettingsError."""
        self._refuse_while_stopping()
        if name not in self._settings.groups:
            raise NotFound(f"there is no group {name!r}")
        remove_group(self._home.settings, name, self._tool_names)
        await self._follow_settings()
        if delete:
            await asyncio.to_thread(shutil.rmtree, self._home.group(name).root, ignore_errors=True)

    async def _follow_settings(self) -> None:
        """Read the settings again; start the groups that are new in them and end those that are gone."""
        self._settings = read_settings(self._home.settings, self._tool_names)
        for name in self._settings.groups:
            self._home.group(name).prepare()
        if self._ray.running:
            await self._end_removed()
            await self._launch_missing()

    async def secrets(self) -> tuple[SecretStatus, ...]:
        """Return whether each secret of the settings can be had."""
        return await asyncio.to_thread(self._safe().status)

    async def set_secret(self, name: str, value: str) -> SecretStatus:
        """Store a secret's value; raise NotFound, Unsupported or SecretMissing."""
        return await asyncio.to_thread(self._safe().put, name, value)

    def _safe(self) -> Safe:
        return Safe(secret_references(self._settings, self._models), os.environ, base=self._home.root)

    async def status(self) -> HostView:
        """Return the host at a glance."""
        return HostView(
            name=self._settings.host.name,
            version=VERSION,
            pid=os.getpid(),
            started_at=instant(self._started_us),
            address=self.address,
            default_group=self._settings.host.default_group,
            services=(self._ray.view(), self._embedded.view()),
        )

    def request_shutdown(self) -> None:
        """Ask the host to stop."""
        self._shutdown.set()

    @property
    def _is_stopping(self) -> bool:
        return self._shutdown.is_set() or self._draining

    def _refuse_while_stopping(self) -> None:
        if self._is_stopping:
            raise ResourceBusy("the host is stopping and takes no changes; try again after its next start")

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
        """Refuse new work, let running turns end within a bound, leave the rest resumable, end the children.

        No step waits longer than its bound for what hangs; `stuck` then says that something is left to be killed.
        """
        self._draining = True  # people can still stop, answer and watch what runs
        for task in self._tasks:
            task.cancel()  # nothing is started any more, nor started again
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STEP_SECONDS)
        groups = [RemoteGroup(self._cluster, name) for name in self._ready]
        drained = asyncio.gather(*(_drained(group, lambda: not self._ray.alive()) for group in groups))
        await within(DRAIN_SECONDS, "waiting for running turns", drained)
        self._ready.clear()
        ended = await asyncio.gather(
            within(2 * EMBEDDED_SECONDS, "ending Ray", self._ray.stop()),
            within(EMBEDDED_SECONDS, "ending the embedded model", self._embedded.stop()),
        )
        self.stuck = self._ray.stuck or not all(ended)
        await within(STEP_SECONDS, "recording the end", self._record.append(HostStopped(why=why)))

    def processes(self) -> list[psutil.Process]:
        """Return Ray's processes, whoever is their parent by now."""
        return self._cluster.folder.processes()

    async def _bring_up(self) -> None:
        async with asyncio.TaskGroup() as group:
            if self._models.need_embedded(self._settings):
                group.create_task(self._embedded.start(), name="start the embedded model")
            await self._ray.start()
            await self._launch_missing()
        await self._ray.keep(self._ready.clear, self._launch_missing)

    async def _launch_missing(self) -> None:
        """Launch the groups that do not run; one whose model takes long to come keeps no other waiting (LANE-4)."""
        await asyncio.gather(*(self._launch(name) for name in self._settings.groups if name not in self._ready))

    async def _launch(self, name: str) -> None:
        if self._models.of_group(name, self._settings).provider == "embedded":
            await self._embedded.start()
        async with self._launches:
            if name in self._ready or name not in self._settings.groups:
                return  # somebody else was faster
            if self._is_stopping or not self._ray.running:
                return  # it is launched with the next start of the host, or of Ray
            address, key = self._embedded.address_and_key()
            blueprint = blueprint_for(name, self._home, self._settings, self._models, address, key)
            await self._ray.call(self._cluster.launch, blueprint)
            self._ready.add(name)

    async def _end_removed(self) -> None:
        async with self._launches:
            for name in self._ready - set(self._settings.groups):
                self._ready.discard(name)
                await self._ray.call(self._cluster.end, name)

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


async def _drained(group: RemoteGroup, over: Callable[[], bool]) -> None:
    """Return when no lane of the group runs; one that is silent, or restarting, is not waited for."""
    if over():
        return
    with contextlib.suppress(ElisError, TimeoutError):
        async with asyncio.timeout(SILENT_SECONDS):
            await group.drain()
        while not over():
            async with asyncio.timeout(SILENT_SECONDS):
                view = await group.view()
            if not any(lane.state == "running" for lane in view.lanes):
                return
            await asyncio.sleep(LOOK_SECONDS)
