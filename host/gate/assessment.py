"""What a registered call would do, in the policy's terms: the parts that a grant could cover, and what always asks.

Keys are `EFFECT:KIND:VALUE`, so that a yes to reading a host is none to sending to it. Nothing is decided here and
nothing is looked up: only what stands in the arguments counts.
"""

from typing import Final

from host.gate.crossing import Crossing
from host.gate.stages import Registered
from host.passport import Destination, Effect, Passport
from host.policy.policy import Call
from host.policy.shell.analysis import Analysis
from host.policy.shell.patterns import denied_by, grant_exact, grant_under
from host.record.events import Part

_HTTPS: Final = 443
_LEAST_LABELS: Final = 2  # of a name whose subdomains one answer may cover: never a whole top-level domain


def assess(registered: Registered, crossing: Crossing | None, *, bare: bool) -> Call:
    """Return the call as the policy sees it; `bare` says that programs run outside any sandbox (BOX-3)."""
    passport, principal = registered.passport, registered.requested.caller.principal
    if registered.analysis is not None:
        return command_call(passport, registered.analysis, principal, bare=bare)
    return Call(
        tool=passport.name,
        effect=passport.effect,
        default=passport.default,
        principal=principal,
        parts=_parts(registered),
        crossing=crossing.rule if crossing else "",
    )


def command_call(passport: Passport, analysis: Analysis, principal: str, *, bare: bool) -> Call:
    """Return a command as the policy sees it."""
    return Call(
        tool=passport.name,
        effect=passport.effect,
        default=passport.default,
        principal=principal,
        parts=_commands(passport.effect.value, analysis),
        floor=analysis.floor.value if analysis.floor else "",
        once_only="bare-shell" if bare else _once_only(analysis),
        unclear=bool(analysis.unclear),
        bare=bare,
        fits=lambda pattern: denied_by((pattern,), analysis) is not None,
    )


def _once_only(analysis: Analysis) -> str:
    if analysis.once:
        return min(analysis.once).value
    return "unclear-command" if analysis.unclear else ""


def _parts(registered: Registered) -> tuple[Part, ...]:
    passport = registered.passport
    effect = passport.effect.value
    if registered.destination is not None:
        return (_host(effect, registered.destination),)
    if registered.package:
        return (Part(exact=f"{effect}:package:{registered.package}"),)
    if passport.declared is not None:
        return (Part(exact=f"{effect}:call:{registered.target}"),)
    if registered.target and (passport.changed_by or min(passport.paths, default="")) in passport.paths:
        return (_path(effect, registered.target),)
    return ()


def _commands(effect: str, analysis: Analysis) -> tuple[Part, ...]:
    """Each command that does more than read must be covered; where one cannot be, none is offered."""
    grave = [command for command in analysis.commands if command.effect is not Effect.READ]
    parts: list[Part] = []
    for command in grave or analysis.commands:
        exact, under = grant_exact(command), grant_under(command)
        if exact is None:
            return ()
        wide = () if under is None else (f"{effect}:command:{under.text} *",)
        parts.append(Part(exact=f"{effect}:command:{exact.text}", under=wide))
    return tuple(parts)


def _path(effect: str, path: str) -> Part:
    """A path lies under each folder above it, up to the whole workspace."""
    folders = path.split("/")[:-1]
    above = ["/".join(folders[:depth]) + "/" for depth in range(len(folders), 0, -1)]
    return Part(exact=f"{effect}:path:{path}", under=tuple(f"{effect}:path:{folder}" for folder in (*above, "")))


def _host(effect: str, destination: Destination) -> Part:
    """A host lies under its own name with subdomains, and under each domain above it."""
    port = "" if destination.port == _HTTPS else f":{destination.port}"
    labels = destination.host.split(".")
    domains = [".".join(labels[first:]) for first in range(len(labels) - _LEAST_LABELS + 1)]
    return Part(
        exact=f"{effect}:host:{destination.host}{port}",
        under=tuple(f"{effect}:host:.{domain}{port}" for domain in domains),
    )
