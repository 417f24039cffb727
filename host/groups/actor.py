"""The Ray shell around a group: naming, restart, health, no logic; the only module that imports Ray.

An actor has doors (concurrency groups) and behind them the plain `Group`. Ray restarts a dead actor
(`max_restarts=-1`) and never repeats a call by itself (`max_task_retries=0`): the group resumes from its journal.
Every socket of Ray listens on loopback, its token is a file of ours, and its session folder is swept at each start.
"""

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import psutil

from host.config import token
from host.errors import ElisError, ResourceBusy
from host.gate.checking import Checked
from host.groups.assembly import open_group
from host.groups.blueprint import Blueprint
from host.groups.group import Group
from host.groups.port import (
    ApprovalView,
    AssistedView,
    EventView,
    Found,
    GrantView,
    GroupView,
    Placement,
    Queued,
    Revoked,
    Say,
    ServerDetail,
    ServerView,
    Settlement,
    Stopped,
    SuggestionView,
    TurnView,
    Verified,
    Watched,
    Wider,
)
from host.groups.ray_folder import RayFolder
from host.telemetry import configure
from host.vault.masking import Masker

# Before the import of Ray: without the first, its servers listen on every address of the machine.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"  # what Ray 2.60 warns about otherwise
os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # else a call that comes after the end starts a second Ray in /tmp/ray

import ray
import ray.exceptions

_LOG: Final = logging.getLogger(__name__)
_RAY: Final[Any] = ray  # its stubs leave half of every signature open
T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


OBJECT_STORE_BYTES: Final = 80 * 2**20  # Ray's least; nothing of ours goes through it
SWITCH_SECONDS: Final = 0.001  # STOP-2: a call beside a busy thread takes 7 ms instead of 26
ORPHAN_LOOK_SECONDS: Final = 0.25
RETRY_SECONDS: Final = 0.1
RESTART_PAUSE_SECONDS: Final = 1.0
RESTART_PATIENCE_SECONDS: Final = 20.0  # a killed actor answers again after about 2 s, and may wait 10 s for its lock

STOPPING: Final = "the host is stopping; try again after its next start"

DOORS: Final = {"control": 64, "chat": 64, "look": 512}


def _door(name: str) -> Callable[[Method], Method]:
    """Let a method of the actor be called through one of its doors."""
    return cast("Callable[[Method], Method]", _RAY.method(concurrency_group=name))


class GroupActor:
    """A group in a process of its own."""

    def __init__(self, blueprint: Blueprint) -> None:
        """Open the group and resume what was under way."""
        sys.setswitchinterval(SWITCH_SECONDS)
        _end_with_parent()
        masker = Masker()
        configure(Path(blueprint.run) / "logs" / f"group-{blueprint.name}.log", masker.tree, human=False)
        self._opened: Group | ElisError = _opened(blueprint, masker)

    @property
    def _group(self) -> Group:
        if isinstance(self._opened, ElisError):
            raise self._opened
        return self._opened

    @_door("control")
    async def control(self, method: str, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - any of the port's
        """Steer: stop, settle, release, drop, view, and what else must never wait for talk."""
        return await getattr(self._group, method)(*args, **kwargs)

    @_door("chat")
    async def say(self, say: Say) -> Placement:
        """Say something to the group."""
        return await self._group.say(say)

    @_door("look")
    async def look(self, method: str, *args: object) -> Any:  # noqa: ANN401 - any of the port's
        """Read: events, watch, turns, search."""
        return await getattr(self._group, method)(*args)

    @_door("control")
    async def close(self) -> None:
        """Let go of the journal; the process ends after that."""
        await asyncio.to_thread(self._group.close)


def _opened(blueprint: Blueprint, masker: Masker) -> "Group | ElisError":
    """Open the group; what keeps it from opening is kept for whoever asks, instead of a restart without end."""
    try:
        group = open_group(blueprint, masker)
        group.resume()
    except ResourceBusy:
        # A predecessor still holds the journal: end, so that Ray starts this process once more.
        _LOG.exception("group %s cannot be opened yet", blueprint.name)
        time.sleep(RESTART_PAUSE_SECONDS)
        os._exit(1)
    except ElisError as error:
        _LOG.exception("group %s cannot be opened", blueprint.name)
        return error
    except Exception as error:  # noqa: BLE001 - an actor that fails to be made is never made again; this one can tell why
        _LOG.exception("group %s cannot be opened", blueprint.name)
        return ElisError(f"group {blueprint.name} cannot be opened: {type(error).__name__}: {error}")
    return group


def _end_with_parent() -> None:
    """End this process when the raylet that started it is gone: Ray alone leaves it running for 20 s and more."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(ORPHAN_LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=look, name="orphan-watch", daemon=True).start()


class Cluster:
    """The Ray of one host. What blocks is called from one thread that lasts: Ray's servers die with the thread."""

    def __init__(self, home: Path, token_file: Path) -> None:
        self.folder: Final = RayFolder(home)
        self.closed = False  # the host is stopping: no call is made any more
        self._token_file = token_file
        self._submitting = threading.Lock()
        self._actors: dict[str, Any] = {}
        self._calls: set[asyncio.Future[Any]] = set()
        self._processes: list[psutil.Process] = []

    def start(self) -> None:
        """Start Ray and wait until it answers; leftovers of an earlier start are ended first."""
        self.folder.sweep()
        self.write_token()
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(self._token_file)
        _RAY.init(
            address="local",  # whatever $RAY_ADDRESS says
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            num_cpus=max(2, os.cpu_count() or 2),
            object_store_memory=OBJECT_STORE_BYTES,
            _temp_dir=str(self.folder.path),
        )
        self._processes = [
            child
            for child in psutil.Process().children()
            if child.name() in {"raylet", "gcs_server"} or "raylet" in " ".join(child.cmdline())[:200]
        ]

    def alive(self) -> bool:
        """Whether Ray's own processes still run."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return bool(self._processes) and all(
                process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in self._processes
            )
        return False

    def stop(self) -> None:
        """End all actors and Ray itself."""
        with self._submitting:
            self._actors.clear()
        _RAY.shutdown()
        self._processes = []
        self.folder.remove()

    def close(self) -> None:
        """Refuse calls from now on and break off those that wait for an answer; called on their loop."""
        with self._submitting:
            self.closed = True
            self._actors.clear()
        for call in self._calls:
            call.cancel()

    def launch(self, blueprint: Blueprint) -> None:
        """Start the actor of a group; it is not waited for (LANE-4). Raises ResourceBusy when the host stops."""
        if self.closed:
            raise ResourceBusy(STOPPING)
        remote = _RAY.remote(concurrency_groups=DOORS, num_cpus=0, max_restarts=-1, max_task_retries=0)(GroupActor)
        actor = remote.options(name=f"group-{blueprint.name}").remote(blueprint)
        with self._submitting:
            if not self.closed:
                self._actors[blueprint.name] = actor

    def end(self, name: str) -> None:
        """End the actor of a group."""
        with self._submitting:
            actor = self._actors.pop(name, None)
        if actor is not None:
            with contextlib.suppress(ray.exceptions.RayError, TimeoutError):
                _RAY.get(actor.close.remote(), timeout=5)
            _RAY.kill(actor)

    async def call(self, name: str, call: Callable[[Any], Awaitable[T]]) -> T:
        """Make a call to a group's actor; raise ResourceBusy before it is launched and when the host stops."""
        answer = asyncio.ensure_future(self._submit(name, call))
        self._calls.add(answer)
        answer.add_done_callback(self._calls.discard)
        try:
            return await answer
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.closed or (task is not None and task.cancelling()):
                raise
            raise ResourceBusy(STOPPING) from None

    def _submit(self, name: str, call: Callable[[Any], Awaitable[T]]) -> Awaitable[T]:
        """Hand the call to Ray; under the lock, so that none comes after its end."""
        with self._submitting:
            if self.closed:
                raise ResourceBusy(STOPPING)
            actor = self._actors.get(name)
            if actor is None:
                raise ResourceBusy(f"group {name} is starting; try again in a few seconds")
            return call(actor)

    def write_token(self) -> None:
        """Make the file with Ray's token unless there is one."""
        self._token_file.parent.mkdir(parents=True, exist_ok=True)
        token.ensure(self._token_file)


class RemoteGroup:
    """A group in another process: the port's calls carried over Ray. Errors are the group's own, or ResourceBusy."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._name = name

    @property
    def name(self) -> str:
        """The group's name."""
        return self._name

    async def say(self, say: Say) -> Placement:
        """See GroupPort; repeated safely over a restart, because the key makes it one message."""
        return await self._patient(lambda actor: actor.say.remote(say))

    async def stop(self, lane: str, *, all_lanes: bool, by: str) -> Stopped:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.control.remote("stop", lane, all_lanes=all_lanes, by=by))

    async def view(self) -> GroupView:
        """See GroupPort; does not wait for a restart."""
        return await self._once(lambda actor: actor.control.remote("view"))

    async def events(self, after: int, limit: int) -> tuple[EventView, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("events", after, limit))

    async def watch(self, after: int, cursor: int, seconds: float) -> Watched:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("watch", after, cursor, seconds))

    async def turns(self, limit: int, before: str) -> tuple[TurnView, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("turns", limit, before))

    async def turn_events(self, turn: str) -> tuple[EventView, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("turn_events", turn))

    async def request_body(self, seq: int) -> bytes:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("request_body", seq))

    async def approvals(self) -> tuple[ApprovalView, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.control.remote("approvals"))

    async def settle(
        self, approval: str, *, verdict: str, by: str, text: str, wider: Wider | None = None
    ) -> Settlement:
        """See GroupPort; a repeated answer is the same answer."""
        return await self._patient(
            lambda actor: actor.control.remote("settle", approval, verdict=verdict, by=by, text=text, wider=wider)
        )

    async def grants(self) -> tuple[GrantView, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("grants"))

    async def revoke(self, grant: str, by: str) -> Revoked:
        """See GroupPort; a repeated revocation is the same one."""
        return await self._patient(lambda actor: actor.control.remote("revoke", grant, by))

    async def check_commands(self, commands: tuple[str, ...]) -> tuple[Checked, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("check_commands", commands))

    async def suggestions(self) -> tuple[SuggestionView, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("suggestions"))

    async def assisted(self) -> tuple[AssistedView, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("assisted"))

    async def queue(self) -> tuple[Queued, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.control.remote("queue"))

    async def release(self, message: str) -> Placement:
        """See GroupPort."""
        return await self._once(lambda actor: actor.control.remote("release", message))

    async def drop(self, message: str, by: str) -> None:
        """See GroupPort."""
        await self._once(lambda actor: actor.control.remote("drop", message, by))

    async def tool_servers(self) -> tuple[ServerView, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.control.remote("tool_servers"))

    async def tool_server(self, server: str) -> ServerDetail:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.control.remote("tool_server", server))

    async def release_tools(self, server: str, digest: str, by: str) -> ServerView:
        """See GroupPort."""
        return await self._once(lambda actor: actor.control.remote("release_tools", server, digest, by))

    async def drain(self) -> None:
        """Let what runs go on and start nothing new: the host is stopping."""
        await self._once(lambda actor: actor.control.remote("drain"))

    async def search(self, text: str, limit: int) -> tuple[Found, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("search", text, limit))

    async def verify(self) -> Verified:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("verify"))

    async def mask(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("mask", texts))

    async def instructions(self) -> dict[str, str]:
        """See GroupPort."""
        return await self._patient(lambda actor: actor.look.remote("instructions"))

    async def _patient(self, call: Callable[[Any], Awaitable[T]]) -> T:
        """Make a call that may be repeated: while the group restarts, wait for it within a bound."""
        until = time.monotonic() + RESTART_PATIENCE_SECONDS
        while True:
            try:
                return await self._once(call)
            except _Restarting as error:
                if time.monotonic() > until:
                    raise ResourceBusy(str(error)) from error
            await asyncio.sleep(RETRY_SECONDS)

    async def _once(self, call: Callable[[Any], Awaitable[T]]) -> T:
        try:
            return await self._cluster.call(self._name, call)
        except ray.exceptions.RayTaskError as error:
            cause: object = error.cause
            if isinstance(cause, ElisError):
                raise cause from None
            raise ElisError(f"group {self._name} failed: {type(cause).__name__}: {cause}") from error
        except ray.exceptions.RayActorError as error:
            raise _Restarting(f"group {self._name} is restarting: {_first_line(error)}") from error
        except ray.exceptions.RayError as error:
            raise ResourceBusy(f"group {self._name} cannot be reached: {_first_line(error)}") from error


class _Restarting(ResourceBusy):
    """The group's process is being started again."""


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
