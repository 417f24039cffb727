"""The back end `container`: each command in a container of its own, by podman or docker (BOX-3).

As non-root inside, without capabilities, network or new privileges, the system read-only, under the same limits as in
bubblewrap. All of that is said here and kept by the engine: its kernel features and its bugs are the boundary. File
tools act on the same folders by their own descriptors. How an engine is spoken to is `host.tools.engines`' matter.
"""

import math
import os
import secrets
import shlex
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import Final

import msgspec

from host.errors import Unsupported
from host.excerpts import ending
from host.tools import engines, leftovers, trash
from host.tools.box import path_of
from host.tools.child import Child, InUse
from host.tools.commands import folders_seen, inside, refuse_unfit
from host.tools.engines import Container, Engine, Mount
from host.tools.finished import Finding, Finished
from host.tools.limits import Limits
from host.tools.output import Output
from host.tools.paths import PRIVATE, WORKSPACE
from host.tools.reach import Reach
from host.tools.roots import Root, plain_folder

_TRIAL_SECONDS: Final = 30.0  # podman may shift an image's owners at its first run
_ENGINE_SECONDS: Final = 20.0  # that an engine may take to list or remove containers
_ENGINES_OWN: Final = frozenset({125, 126, 127})  # exit codes by which an engine says that nothing was run, and why
_KILLED: Final = 137  # by SIGKILL
_ENGINES_WORDS: Final = ("Error", "docker:", "time=")


class _Started(msgspec.Struct, frozen=True, kw_only=True):
    """A container that was asked for."""

    child: Child  # the engine's client
    kill: Callable[[], None]


class ContainerSandbox:
    """Runs commands in containers. Thread-safe."""

    def __init__(
        self,
        roots: Sequence[Root],
        image: str,
        *,
        search_path: str | None = None,
        limits: Limits | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Show `roots`, of which the first is the workspace, in containers of `image`, which must be there already.

        The engine is looked up on `search_path` (default: PATH) and finds its settings by `environment` (the host's).
        """
        self._roots = tuple(roots)
        self._image = image
        self._search_path = search_path
        self._limits = limits or Limits()
        self._environment = engines.variables(os.environ if environment is None else environment)
        self._running = InUse()

    @property
    def bare(self) -> bool:
        """Whether commands run unconfined: never."""
        return False

    @property
    def reach(self) -> Reach:
        """What commands reach: nothing, for no proxy of ours has a door in a container."""
        return Reach.NOTHING

    async def run(  # noqa: PLR0913 - the interface of all back ends
        self,
        command: str,
        *,
        cwd: str,
        timeout_seconds: float,
        environment: Mapping[str, str],
        on_output: Callable[[str], None] | None = None,
        caller: str = "",  # noqa: ARG002 - nothing is reached from a container
        also: Sequence[str] = (),  # noqa: ARG002 - as above
        reading: bool = False,
    ) -> Finished:
        """Run `command` in a container of its own, see `host.tools.sandbox.Sandbox`."""
        output = Output(on_output)
        with self._started(command, cwd, environment, timeout_seconds, reading=reading) as started:
            timed_out = await started.child.attend(output, timeout_seconds, started.kill)
            exit_code = started.child.exit_code
        text = output.text()
        if not timed_out and _not_run(exit_code, text):
            raise Unsupported(_unavailable(text))
        return Finished(exit_code=exit_code, output=text, timed_out=timed_out, truncated=output.left_out > 0)

    def kill_all(self) -> None:
        """End every running command at once, from any thread."""
        self._running.kill_all()

    def holding(self, kill: Callable[[], None]) -> AbstractContextManager[None]:
        """Let `kill_all` call `kill` too, inside the `with`."""
        return self._running.holding(kill)

    def end_leftovers(self) -> None:
        """End what outlived an earlier process of this group: clients by their mark, containers by their label."""
        leftovers.end_leftovers(self._roots[0])
        with suppress(Unsupported, OSError, subprocess.SubprocessError):
            engine = engines.engine_from(self._search_path)
            if names := self._told(engine.left(self._label())).split():
                self._told(engine.remove(*names))

    def check(self) -> Finding:
        """Run a trial command."""
        output = Output()
        try:
            with self._started("true", ".", {}, _TRIAL_SECONDS) as started:
                started.child.wait(output, _TRIAL_SECONDS, started.kill)
                works = started.child.exit_code == 0
            kind = engines.engine_from(self._search_path).kind
        except Unsupported as error:
            return Finding(ok=False, text="containers are unavailable", fix=error.message)
        if not works:
            return Finding(ok=False, text="containers are unavailable", fix=_unavailable(output.text()))
        return Finding(ok=True, text=f"{kind} runs {self._image}; limits by the engine: {self._limits.sentence()}")

    def describe(self) -> str:
        """Say where commands run and what they reach."""
        return (
            f"Commands run in a container of {self._image} without network. They see {WORKSPACE} (read and "
            f"write){folders_seen(self._roots)}, the image's programs and an empty /tmp; each may use "
            f"{self._limits.sentence()}."
        )

    @contextmanager
    def _started(
        self, command: str, cwd: str, environment: Mapping[str, str], seconds: float, *, reading: bool = False
    ) -> Generator[_Started]:
        refuse_unfit(command, environment)
        engine = engines.engine_from(self._search_path)
        container = Container(
            name=f"elis-{secrets.token_hex(8)}",
            label=self._label(),
            image=self._image,
            cwd=inside(cwd, self._roots),
            mounts=self._mounts(reading=reading),
            limits=self._limits,
            cpu_seconds=math.ceil(seconds) + 1,
        )

        def kill() -> None:
            if not child.gone(0):  # else the engine has seen to it
                child.kill_group()
                self._remove(engine, container.name)

        script = f"{_exports(environment)}{command}".encode(errors="surrogateescape")
        with self._running.starting() as starting, closing(self._client(engine, container, script)) as child:
            starting.ended_by(kill)
            yield _Started(child=child, kill=kill)
            if child.exit_code == _KILLED:  # the command, or the client by somebody else
                self._remove(engine, container.name)

    def _client(self, engine: Engine, container: Container, script: bytes) -> Child:
        """Start the engine's client, with what the shell in the container is to read; raise Unsupported."""
        given = os.memfd_create("elis-command", os.MFD_CLOEXEC)
        try:
            with os.fdopen(os.dup(given), "wb") as file:
                file.write(script)
            os.lseek(given, 0, os.SEEK_SET)
            variables = self._environment | leftovers.mark(self._roots[0])
            return Child(engine.run(container), environment=variables, stdin=given)
        except OSError as error:
            raise Unsupported(_unavailable(str(error))) from error
        finally:
            os.close(given)

    def _remove(self, engine: Engine, name: str) -> None:
        """End a container whose client was ended; nobody waits for it: an engine takes some tenths of a second."""

        def remove() -> None:
            with suppress(OSError, subprocess.SubprocessError):
                self._told(engine.remove(name))

        threading.Thread(target=remove, name=f"end {name}").start()

    def _told(self, argv: Sequence[str]) -> str:
        """Return what an engine's client says."""
        done = subprocess.run(
            argv, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=_ENGINE_SECONDS,
        )  # fmt: skip
        return done.stdout.decode(errors="replace")

    def _label(self) -> str:
        return leftovers.mark(self._roots[0])[leftovers.MARK]

    def _mounts(self, *, reading: bool) -> list[Mount]:
        """Return what is shown, none of it to be written where the command only reads.

        Engines take paths, so each is looked at to be still the folder that was opened.
        """
        workspace = self._roots[0]
        mounts = [Mount(source=path_of(workspace.descriptor, workspace.inside), inside=WORKSPACE, writable=not reading)]
        private = trash.private_folder(workspace.descriptor)
        try:
            inside = f"{WORKSPACE}/{PRIVATE}"
            mounts.append(Mount(source=path_of(private, inside), inside=inside, writable=False))
        finally:
            os.close(private)
        for root in self._roots[1:]:
            os.close(plain_folder(workspace.descriptor, root.name))  # the place of the mount, and no link
            source = path_of(root.descriptor, root.inside)
            mounts.append(Mount(source=source, inside=root.inside, writable=root.writable and not reading))
        return mounts


def _exports(environment: Mapping[str, str]) -> str:
    """Return variables as the beginning of a script: on a command line a process list would show them."""
    return "".join(f"export {name}={shlex.quote(value)}; " for name, value in environment.items())


def _not_run(exit_code: int, text: str) -> bool:
    """Say whether the engine itself failed. A command that ends like that in the same words is taken for it."""
    last = text.strip().rpartition("\n")[2]
    return exit_code in _ENGINES_OWN and (text.lstrip().startswith(_ENGINES_WORDS) or last.startswith(_ENGINES_WORDS))


def _unavailable(told: str) -> str:
    words = ending(told.strip(), 300) or "it ended without a word"
    return (
        f"shell is unavailable: the container cannot be run ({words}). Commands never run without it. Fix: make sure "
        "that the user of Elis may run the image with podman or docker, and that it is there (podman pull); it needs "
        "/bin/sh, cat and rm"
    )
