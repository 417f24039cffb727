"""Where shell commands run: the interface of every back end, and the choice between them.

A back end runs one command at a time, as often as it is asked, from any lane; it kills the whole of it on time-out and
on cancellation. `bwrap` is the boundary, for `ssh` the remote account is; `none` must be written by the operator. A
back end that cannot be had says so and how to put it right; nothing is ever run outside it instead (BOX-3). The gate's
decisions lie above.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, assert_never

from host.config.settings import SandboxSettings
from host.tools.access import Files
from host.tools.bare import BareSandbox
from host.tools.bwrap import BwrapSandbox
from host.tools.container import ContainerSandbox
from host.tools.egress import Egress
from host.tools.finished import Finding, Finished
from host.tools.jail import Jail
from host.tools.local_files import LocalFiles
from host.tools.reach import Reach
from host.tools.roots import Root
from host.tools.ssh.sandbox import SshSandbox

__all__ = ["Finding", "Finished", "Sandbox", "files_of", "sandbox_from"]


class Sandbox(Protocol):
    """One back end."""

    @property
    def bare(self) -> bool:
        """Whether commands run unconfined, so that each one must be asked about."""
        ...

    @property
    def reach(self) -> Reach:
        """What commands reach beyond the machine, and so whether a run can be let out to single hosts."""
        ...

    async def run(  # noqa: PLR0913 - what a run is made of
        self,
        command: str,
        *,
        cwd: str,
        timeout_seconds: float,
        environment: Mapping[str, str],
        on_output: Callable[[str], None] | None = None,
        caller: str = "",
        also: Sequence[str] = (),
        reading: bool = False,
    ) -> Finished:
        """Run `command` by a shell in the folder `cwd` (relative to /workspace); at the end all of it is gone.

        `environment` is added to the few variables that the back end states; nothing of the host's is inherited.
        `on_output` hears the output as it comes; connections are made for the call `caller`. Where the reach is by a
        door, this run is let out to the hosts `also` (entries of a list) besides those that are listed.
        With `reading` it can write nothing that lasts and reach nothing: a verdict that it only reads is a heuristic,
        and programs take orders from files that a model wrote. Raise Unsupported, with the fix, when the back end
        cannot be had, or cannot keep a command from writing.
        """
        ...

    def kill_all(self) -> None:
        """End every running command at once, from any thread: what an abandoned lane may have left behind."""
        ...

    def holding(self, kill: Callable[[], None]) -> AbstractContextManager[None]:
        """Let `kill_all` call `kill` too, inside the `with`: for a program that runs beside, in a box of its own."""
        ...

    def end_leftovers(self) -> None:
        """End what outlived an earlier process of this group; whoever calls it holds the group's journal."""
        ...

    def check(self) -> Finding:
        """Run a trial command, holding the thread for some tens of milliseconds."""
        ...

    def describe(self) -> str:
        """Say in a sentence or two where commands run and what they reach, for the model and for people."""
        ...


def files_of(sandbox: Sandbox, jail: Jail) -> Files:
    """Return the files that commands of the back end see: what `jail` holds, unless they run on another machine."""
    return sandbox.files if isinstance(sandbox, SshSandbox) else LocalFiles(jail)


def sandbox_from(settings: SandboxSettings, roots: Sequence[Root], egress: Egress | None = None) -> Sandbox:
    """Return the back end that the settings name.

    `egress` is the way out of its commands; without one they have none.
    """
    match settings.backend:
        case "bwrap":
            return BwrapSandbox(roots, egress=egress)
        case "none":
            return BareSandbox(roots)
        case "container":
            return ContainerSandbox(roots, settings.image)
        case "ssh":
            return SshSandbox(roots[0], settings.host, settings.root)
        case _:
            assert_never(settings.backend)
