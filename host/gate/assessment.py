"""What a registered call would do, in the policy's terms: the parts that a grant could cover, and what always asks.

Keys are `EFFECT:KIND:VALUE`, so that a yes to reading a host is none to sending to it. Nothing is decided here and
nothing is looked up: only what stands in the arguments counts.
"""

import functools
from collections.abc import Iterable

import msgspec

from host.gate.crossing import Crossing, host_part, package_part
from host.gate.intents import started_in
from host.gate.stages import Registered
from host.passport import Effect, Passport
from host.policy.policy import Call
from host.policy.shell.analysis import Analysis
from host.policy.shell.extent import exact, under
from host.policy.shell.patterns import Fit, fit
from host.record.events import Part


def assess(registered: Registered, crossing: Crossing | None, *, bare: bool) -> Call:
    """Return the call as the policy sees it; `bare` says that programs run outside any sandbox (BOX-3)."""
    passport, principal = registered.passport, registered.requested.caller.principal
    if registered.analysis is not None:
        call = command_call(passport, registered.analysis, principal, bare=bare, cwd=started_in(registered))
        return call if crossing is None else _letting_out(call, crossing)
    return Call(
        tool=passport.name,
        effect=passport.effect,
        default=passport.default,
        principal=principal,
        parts=_parts(registered),
        crossing=crossing.rule if crossing else "",
        beyond=crossing.parts if crossing else (),
    )


def command_call(passport: Passport, analysis: Analysis, principal: str, *, bare: bool, cwd: str = "") -> Call:
    """Return a command as the policy sees it; `cwd` is the folder that it is started in, "" the workspace's root."""

    @functools.cache
    def fits(pattern: str) -> Fit:
        return fit(pattern, analysis)

    return Call(
        tool=passport.name,
        effect=passport.effect,
        default=passport.default,
        principal=principal,
        parts=_commands(passport.effect.value, analysis, cwd),
        floor=analysis.floor.value if analysis.floor else "",
        once_only="bare-shell" if bare else _once_only(analysis),
        unclear=bool(analysis.unclear),
        bare=bare,
        fits=fits,
    )


def _letting_out(call: Call, crossing: Crossing) -> Call:
    """Return a command that names hosts beyond the list.

    Where the command itself is asked about, an answer is one for this very command with these hosts, or with their
    subdomains, and for nothing else.
    """
    beyond = crossing.parts
    exact = _names(part.exact for part in beyond)
    under = (
        [_names((name,)) for name in beyond[0].under]
        if len(beyond) == 1
        else [_names(part.under[0] for part in beyond)]
    )
    together = tuple(
        Part(exact=_with(exact, part.exact), under=tuple(_with(hosts, part.exact) for hosts in under))
        for part in call.parts
    )
    return msgspec.structs.replace(call, crossing=crossing.rule, beyond=beyond, together=together)


def _names(keys: Iterable[str]) -> str:
    """Return the hosts that keys such as `execute:host:example.org` name."""
    return ",".join(sorted(key.split(":", 2)[2] for key in keys))


def _with(hosts: str, command: str) -> str:
    """Return the key of a command with hosts; they hold no blank, so that no command alone has such a key."""
    effect, _, text = command.split(":", 2)
    return f"{effect}:command-to:{hosts} {text}"


def _once_only(analysis: Analysis) -> str:
    if analysis.once:
        return min(analysis.once).value
    return "unclear-command" if analysis.unclear else ""


def _parts(registered: Registered) -> tuple[Part, ...]:
    passport = registered.passport
    effect = passport.effect.value
    if registered.destination is not None:
        return (host_part(registered, registered.destination),)
    if registered.package:
        return (package_part(registered),)
    if passport.declared is not None:
        return (Part(exact=f"{effect}:call:{registered.target}"),)
    if registered.target and (passport.changed_by or min(passport.paths, default="")) in passport.paths:
        return (_path(effect, registered.target),)
    return ()


def _commands(effect: str, analysis: Analysis, cwd: str) -> tuple[Part, ...]:
    """Each command that does more than read must be covered; where one cannot be, none is offered."""
    grave = [command for command in analysis.commands if command.effect is not Effect.READ]
    parts: list[Part] = []
    for command in grave or analysis.commands:
        line = exact(command, cwd)
        if line is None:
            return ()
        wide = tuple(f"{effect}:command:{each}" for each in under(command, cwd))
        parts.append(Part(exact=f"{effect}:command:{line}", under=wide))
    return tuple(parts)


def _path(effect: str, path: str) -> Part:
    """A path lies under each folder above it, up to the whole workspace."""
    folders = path.split("/")[:-1]
    above = ["/".join(folders[:depth]) + "/" for depth in range(len(folders), 0, -1)]
    return Part(exact=f"{effect}:path:{path}", under=tuple(f"{effect}:path:{folder}" for folder in (*above, "")))
