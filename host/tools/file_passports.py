"""What the tools for files of the workspace declare alike: they reach them by `path` and need nothing else.

Each tool adds what is its own in its module. A tool that runs programs, asks or sends is none of these.
"""

from typing import Final

import msgspec

from host.passport import Decision, Effect, KnownFailure, Passport, Replay
from host.stops import Reason

_OUTSIDE: Final = KnownFailure(reason=Reason.PATH_VIOLATION, when="the path leads out of the workspace")


def failing_when(when: str) -> KnownFailure:
    """Return a failure of the tool's own kind."""
    return KnownFailure(reason=Reason.TOOL_FAILED, when=when)


def looking(
    *,
    name: str,
    summary: str,
    arguments: type[msgspec.Struct],
    timeout_seconds: float,
    masks: frozenset[str],
    failures: tuple[KnownFailure, ...],
) -> Passport:
    """Return the passport of a tool that shows what is there and changes nothing."""
    return Passport(
        name=name,
        summary=summary,
        arguments=arguments,
        effect=Effect.READ,
        reversible=True,
        parallel=True,
        default=Decision.ALLOW,
        timeout_seconds=timeout_seconds,
        masks=masks,
        replay=Replay.IDEMPOTENT,
        network=False,
        paths=frozenset({"path"}),
        lendable=False,
        needs=frozenset(),
        promises_content=True,
        failures=(_OUTSIDE, *failures),
        pages=True,
    )


def changing(
    *, name: str, summary: str, arguments: type[msgspec.Struct], replay: Replay, failures: tuple[KnownFailure, ...]
) -> Passport:
    """Return the passport of a tool that changes the one file at `path`; the version before it is kept."""
    return Passport(
        name=name,
        summary=summary,
        arguments=arguments,
        effect=Effect.WRITE,
        reversible=True,
        parallel=False,
        default=Decision.ALLOW,
        timeout_seconds=30.0,
        masks=frozenset(),
        replay=replay,
        network=False,
        paths=frozenset({"path"}),
        lendable=False,
        needs=frozenset(),
        promises_content=True,
        failures=(_OUTSIDE, *failures),
        changed_by="path",
    )
