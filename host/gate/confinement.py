"""The third stage: every path argument lies beneath a root of the group (PATH-1).

This is the early, friendly look. What holds is the tool's own opening by descriptor: what is checked there is the
object that is used.
"""

from typing import Final

from host.errors import PathViolation
from host.gate.stages import Confined, Permitted, Refusal
from host.passport import Effect
from host.stops import Reason
from host.tools.jail import Jail

STAGE: Final = "paths"

_WRITING: Final = frozenset({Effect.WRITE, Effect.DESTROY})  # a command may well start in a folder that is read-only


def confine(permitted: Permitted, jail: Jail) -> Confined:
    """Return the call when all its paths stay inside; raise Refusal naming the path."""
    registered = permitted.registered
    passport = registered.passport
    for name in sorted(passport.paths):
        path = getattr(registered.arguments, name)
        if not path:
            continue
        try:
            # Where a command runs is only looked at; what a tool changes must be open for writing.
            jail.check(path, writing=name == passport.changed_by and passport.effect in _WRITING)
        except PathViolation as error:
            text = f"{name}: {error.message}"
            raise Refusal(STAGE, "workspace", Reason.PATH_VIOLATION, text) from error
    return Confined(permitted=permitted)
