"""The third stage: every path argument lies beneath a root of the group (PATH-1).

This is the early, friendly look. What holds is the tool's own opening by descriptor: what is checked there is the
object that is used.
"""

from typing import Final

from host.errors import ElisError, PathViolation
from host.gate.stages import Confined, Permitted, Refusal
from host.passport import Effect
from host.stops import Reason
from host.tools.access import Files

STAGE: Final = "paths"

_WRITING: Final = frozenset({Effect.WRITE, Effect.DESTROY})  # a command may well start in a folder that is read-only


async def confine(permitted: Permitted, jail: Files) -> Confined:
    """Return the call when all its paths stay inside; raise Refusal naming the path."""
    registered = permitted.registered
    passport = registered.passport
    for name in sorted(passport.paths):
        path = getattr(registered.arguments, name)
        if not path:
            continue
        try:
            # Where a command runs is only looked at; what a tool changes must be open for writing.
            await jail.check(path, writing=name == passport.changed_by and passport.effect in _WRITING)
        except PathViolation as error:
            text = f"{name}: {error.message}"
            raise Refusal(STAGE, "workspace", Reason.PATH_VIOLATION, text) from error
        except ElisError as error:  # files on another machine that cannot be reached
            raise Refusal(STAGE, "workspace", error.reason, error.message) from error
    return Confined(permitted=permitted)
