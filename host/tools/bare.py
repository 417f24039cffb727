"""The back end `none`: commands run on the machine itself, as the user that Elis runs as.

No boundary at all. The operator must write it into elis.toml, and every command is asked about. A command gets a built
environment, and its process group is killed at its end; what leaves the group by setsid survives it.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing

from host.errors import PathViolation
from host.tools.bash import shell
from host.tools.child import Child, InUse
from host.tools.commands import refuse_reading, refuse_unfit
from host.tools.finished import Finding, Finished
from host.tools.leftovers import end_leftovers, mark
from host.tools.output import Output
from host.tools.paths import BARE_HOME, PACKAGES, WORKSPACE, place_of
from host.tools.reach import Reach
from host.tools.roots import Root
from host.tools.trash import make_home


class BareSandbox:
    """Runs commands without a sandbox."""

    def __init__(self, roots: Sequence[Root]) -> None:
        """Run in `roots`, which are folders of the machine."""
        self._roots = {root.name: root for root in roots}
        self._running = InUse()

    @property
    def bare(self) -> bool:
        """Whether commands run unconfined: always."""
        return True

    @property
    def reach(self) -> Reach:
        """What commands reach: whatever this machine does."""
        return Reach.ANYTHING

    async def run(  # noqa: PLR0913 - the interface of all back ends
        self,
        command: str,
        *,
        cwd: str,
        timeout_seconds: float,
        environment: Mapping[str, str],
        on_output: Callable[[str], None] | None = None,
        caller: str = "",  # noqa: ARG002 - nothing bare has a door of its own
        also: Sequence[str] = (),  # noqa: ARG002 - as above
        reading: bool = False,
    ) -> Finished:
        """Run `command` on the machine, see `host.tools.sandbox.Sandbox`."""
        refuse_unfit(command, environment)
        refuse_reading(reading=reading)
        output = Output(on_output)
        with self._running.starting() as starting, closing(self._begun(command, cwd, environment)) as child:
            starting.ended_by(child.kill_group)
            timed_out = await child.attend(output, timeout_seconds, child.kill_group)
        return Finished(
            exit_code=child.exit_code,
            output=output.text(),
            timed_out=timed_out,
            truncated=output.left_out > 0,
        )

    def _begun(self, command: str, cwd: str, environment: Mapping[str, str]) -> Child:
        text = os.memfd_create("elis-command", os.MFD_CLOEXEC)  # a process list must not show the command
        try:
            with os.fdopen(os.dup(text), "wb") as file:
                file.write(command.encode(errors="surrogateescape"))
            variables = self._variables() | dict(environment) | mark(self._roots[""])
            argv = [shell(), f"/proc/self/fd/{text}"]
            return Child(argv, environment=variables, descriptors=[text], cwd=self._folder(cwd))
        finally:
            os.close(text)

    def kill_all(self) -> None:
        """End every running command at once, from any thread."""
        self._running.kill_all()

    def holding(self, kill: Callable[[], None]) -> AbstractContextManager[None]:
        """Let `kill_all` call `kill` too, inside the `with`."""
        return self._running.holding(kill)

    def end_leftovers(self) -> None:
        """End what outlived an earlier process of this group."""
        end_leftovers(self._roots[""])

    def check(self) -> Finding:
        """Say what the operator chose."""
        return Finding(ok=True, text="no sandbox: commands run on this machine itself, each one is asked about")

    def describe(self) -> str:
        """Say where commands run and what they reach."""
        where = self._roots[""].real_path()
        return (
            f"Commands run without a sandbox, on the machine itself, each asked about. There the workspace is {where}, "
            f"which the file tools call {WORKSPACE}; commands start in it, use relative paths."
        )

    def _variables(self) -> dict[str, str]:
        home = self._roots[""].real_path()
        make_home(self._roots[""].descriptor)
        return {
            "PATH": f"/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:{home}/{PACKAGES}/bin",
            "PYTHONPATH": f"{home}/{PACKAGES}",
            "HOME": f"{home}/{BARE_HOME}",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }

    def _folder(self, cwd: str) -> str:
        place = place_of(cwd, [name for name in self._roots if name])
        root = self._roots[place.root].real_path()
        folder = os.path.realpath(f"{root}/{place.inner}")
        if folder != root and not folder.startswith(root + "/"):
            message = f"{cwd!r} leads out of {WORKSPACE} by a link; use a folder that lies inside"
            raise PathViolation(message)
        return folder
