"""The tool `shell`: one command in the group's sandbox (BOX-1, BOX-3), and the hosts that it names (BOX-6).

What a command may do is decided before (the gate) and bounded while it runs (the sandbox); here it is only run, and its
end is put into words. It inherits no secret and no variable of the host.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from host.passport import Decision, Destination, Effect, KnownFailure, Passport, Replay
from host.stops import Reason
from host.tools.finished import Finished
from host.tools.outputs import Kept, name_of
from host.tools.reach import Reach
from host.tools.text import TYPICAL
from host.tools.tool import Scope, ToolResult
from host.tools.web_address import host_named

LONGEST_SECONDS: Final = 600.0
_USUAL_SECONDS: Final = 120.0
_GRACE_SECONDS: Final = 10.0  # between the command's own time-out and the gate's


class ShellArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command, how long it may take, and where it goes beyond the machine."""

    command: Annotated[str, msgspec.Meta(min_length=1, description="Run by bash; several lines are fine.")]
    cwd: Annotated[str, msgspec.Meta(description="The folder to run in, beneath /workspace.")] = "."
    timeout_seconds: Annotated[
        float, msgspec.Meta(gt=0, le=LONGEST_SECONDS, description="After this the command is ended.")
    ] = _USUAL_SECONDS
    hosts: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=260)], ...],
        msgspec.Meta(
            max_length=20,
            description="Hosts that this command needs and that are not listed, as names; asked about, for this run.",
        ),
    ] = ()


def hosts_of(arguments: ShellArguments) -> tuple[Destination, ...]:
    """Return where the command wants to go, each once; raise ProtocolViolation."""
    return tuple(dict.fromkeys(host_named(text) for text in arguments.hosts))


_ENDING: Final = (
    "Programs that still run when the command ends are ended with it. Use the file tools for reading and writing files."
)
_SHELL: Final = Passport(
    name="shell",
    summary=(
        "Run a shell command in the sandbox: /workspace is writable, the system read-only, no network but the hosts "
        "that a person listed, by the proxy in HTTPS_PROXY. Name a host that is not listed in `hosts`: the person is "
        f"asked, and this command reaches it by TLS. {_ENDING}"
    ),
    arguments=ShellArguments,
    effect=Effect.EXECUTE,
    reversible=False,
    parallel=True,  # where it only reads
    default=Decision.ASK,
    timeout_seconds=LONGEST_SECONDS + _GRACE_SECONDS,
    masks=TYPICAL,
    replay=Replay.EFFECT,
    network=False,
    paths=frozenset({"cwd"}),
    lendable=True,
    needs=frozenset(),
    promises_content=True,
    failures=(
        KnownFailure(reason=Reason.TOOL_FAILED, when="the command exits with another code than 0"),
        KnownFailure(reason=Reason.TIMED_OUT, when="the command takes longer than timeout_seconds"),
        KnownFailure(reason=Reason.UNSUPPORTED, when="the sandbox cannot be had"),
        KnownFailure(reason=Reason.PATH_VIOLATION, when="cwd leads out of the workspace"),
    ),
    command="command",
    changed_by="command",
    hosts_of=hosts_of,
)


class Shell:
    """Runs a command."""

    def __init__(self, elsewhere: str = "") -> None:
        """`elsewhere` says where commands run instead of the sandbox here, for the model."""
        summary = f"{elsewhere} {_ENDING}" if elsewhere else _SHELL.summary
        self.passport: Final = msgspec.structs.replace(_SHELL, summary=summary)

    async def run(self, arguments: ShellArguments, scope: Scope) -> ToolResult:
        """Run the command."""
        name = name_of(scope.turn, scope.call)
        place = await scope.jail.folder(arguments.cwd)
        with scope.keeping(name) as keeping:
            finished = await scope.sandbox.run(
                arguments.command,
                cwd=place.path,
                timeout_seconds=arguments.timeout_seconds,
                environment={},
                on_output=keeping.feed,
                caller=scope.key,
                also=() if scope.way_out is None else scope.way_out.also,
                reading=scope.reading,
            )
            kept = await keeping.finish()
        notes = (*finished.notes, *_how_to_reach(finished.unlisted, arguments.hosts))
        if scope.reading and _EROFS in finished.output:
            notes = (*notes, _READING)
        if arguments.hosts and scope.sandbox.reach is Reach.ANYTHING:
            notes = (*notes, _NOT_NEEDED)
        return _result(msgspec.structs.replace(finished, notes=notes), arguments, kept)


_EROFS: Final = "Read-only file system"
_READING: Final = (
    "it was taken to only read and ran unasked, so it could write nothing in /workspace and had no network"
)
_NOT_NEEDED: Final = "hosts is not needed here: commands reach whatever the machine that they run on reaches"


def _how_to_reach(unlisted: Sequence[Destination], named: Sequence[str]) -> tuple[str, ...]:
    """Return how the hosts that the command was not let out to can be asked for, in sentences."""
    wanted = [each.target for each in unlisted if each.scheme == "https"]
    plain = [each.host for each in unlisted if each.scheme != "https"]
    notes: list[str] = []
    if wanted:
        hosts = json.dumps([*dict.fromkeys((*named, *wanted))])
        notes.append(
            f"{', '.join(wanted)}: refused because nobody listed it; to ask the person, call shell again with this "
            f"command and hosts: {hosts}"
        )
    if plain:
        notes.append(
            f"{', '.join(plain)}: refused because plain HTTP is reached at listed hosts alone; nobody can be asked for "
            "it. Use https, and name the host in hosts"
        )
    return tuple(notes)


def _result(finished: Finished, arguments: ShellArguments, kept: Kept | None) -> ToolResult:
    detail = f"exit code {finished.exit_code}"
    head = detail
    reason = None if finished.exit_code == 0 else Reason.TOOL_FAILED
    if finished.timed_out:
        reason = Reason.TIMED_OUT
        detail = f"ended after {arguments.timeout_seconds:g} s"
        head = f"{detail}, not finished; give it more timeout_seconds (at most {LONGEST_SECONDS:g}) or less to do"
    for note in finished.notes:
        head += f"; {note}"
        detail += f"; {note}"
    output = "" if kept else finished.output.rstrip("\n")
    text = f"{head}\n{output}" if output.strip() else head if kept else f"{head}, no output"
    return ToolResult(text=text, kept=kept, ok=reason is None, reason=reason, detail="" if reason is None else detail)
