"""Going beyond the group's lists of hosts and packages: a question, not an end (BOX-6).

A destination on the list is left to the policy. One beside it is asked about, whatever is allowed otherwise, and what
a person says admits that host for that call: the one that `http` goes to, those that a command names. So it is with
packages, of which a name much like a listed one is pointed out. Addresses written as numbers, names of this machine and
its surroundings, and plain HTTP are never on offer. No name is looked up here: the question itself would carry
something out.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from browser.errors import Refused
from host.config.packages import PackageList
from host.gate.stages import Refusal, Registered
from host.passport import Destination
from host.record.events import Part
from host.stops import Reason
from host.tools.egress import USUAL_PORT, Egress
from host.tools.reach import Reach

STAGE: Final = "policy"
RULE: Final = "unlisted-host"
PACKAGE_RULE: Final = "unlisted-package"
NO_WAY_OUT: Final = "no-way-out"
_LEAST_LABELS: Final = 2  # of a name whose subdomains one answer may cover: never a whole top-level domain
_REQUEST: Final = "a yes admits it for this call"
_RUN: Final = "a yes admits it for this run, which can send it whatever the command can read"


class Beyond(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a call would reach beyond a list."""

    part: Part  # what a grant would have to cover
    told: str  # a sentence for the person who is asked: what it is, and the setting that would list it
    host: str = ""  # to be admitted beside the list if the call is let through, as an entry of it


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """What a call would reach beyond the lists."""

    rule: str  # for the policy, which asks about it
    beyond: tuple[Beyond, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """What grants would have to cover."""
        return tuple(each.part for each in self.beyond)

    @property
    def hosts(self) -> tuple[str, ...]:
        """What is admitted beside the list if the call is let through."""
        return tuple(each.host for each in self.beyond if each.host)

    def told(self, asked: Collection[Part]) -> str:
        """Return what a person should know of the parts that are asked about, of all where they are asked as one."""
        apart = [each for each in self.beyond if each.part in asked]
        return " ".join(each.told for each in apart or self.beyond)


class Listed:
    """Holds destinations and packages against the lists of one group."""

    def __init__(self, egress: Egress | None, packages: PackageList, reach: Reach) -> None:
        """`reach` is what commands reach."""
        self._egress = egress
        self._packages = packages
        self._reach = reach

    def crossing(self, registered: Registered) -> Crossing | None:
        """Return what the call would cross, None where it stays within; raise Refusal for what is never on offer."""
        if registered.package:
            return self._package(registered)
        if registered.hosts:
            return self._hosts(registered)
        destination, egress = registered.destination, self._egress
        if destination is None or egress is None:
            return None
        found = _beyond(registered, destination, egress, _REQUEST)
        return None if found is None else Crossing(rule=RULE, beyond=(found,))

    def _hosts(self, registered: Registered) -> Crossing | None:
        if self._reach is Reach.ANYTHING:
            return None  # no list binds these commands; each is asked about where nothing else does
        if self._reach is Reach.NOTHING or self._egress is None:
            raise Refusal(STAGE, NO_WAY_OUT, Reason.UNSUPPORTED, _NO_WAY_OUT)
        each = (_beyond(registered, host, self._egress, _RUN) for host in registered.hosts)
        beyond = tuple(found for found in each if found is not None)
        return Crossing(rule=RULE, beyond=beyond) if beyond else None

    def _package(self, registered: Registered) -> Crossing | None:
        name = registered.package
        if name in self._packages:
            return None
        alike = self._packages.alike(name)
        beware = f" Its name is much like {alike}, which is listed: look which one is meant." if alike else ""
        told = (
            f"The package {name} is not listed in the group's sandbox.packages; a yes admits it for this call.{beware}"
        )
        return Crossing(rule=PACKAGE_RULE, beyond=(Beyond(part=package_part(registered), told=told),))


def host_part(registered: Registered, destination: Destination) -> Part:
    """A host lies under its own name with subdomains, and under each domain above it."""
    effect = registered.passport.effect.value
    port = "" if destination.port == USUAL_PORT else f":{destination.port}"
    labels = destination.host.split(".")
    domains = [".".join(labels[first:]) for first in range(len(labels) - _LEAST_LABELS + 1)]
    return Part(
        exact=f"{effect}:host:{destination.host}{port}",
        under=tuple(f"{effect}:host:.{domain}{port}" for domain in domains),
    )


def package_part(registered: Registered) -> Part:
    """A package lies under nothing but its own name."""
    return Part(exact=f"{registered.passport.effect.value}:package:{registered.package}")


def _beyond(registered: Registered, destination: Destination, egress: Egress, yes: str) -> Beyond | None:
    """Return what is to be asked about a destination, None for a listed one; raise Refusal."""
    try:
        if egress.lists(destination):
            return None
    except Refused as error:
        raise _never(error.rule.replace("_", "-"), str(error)) from error
    if destination.scheme != "https":
        said = f"{destination.host} is not listed in {egress.setting}, and beside that list only https is reached"
        raise _never("plain-http", said)
    port = "" if destination.port == USUAL_PORT else f" (port {destination.port})"
    return Beyond(
        part=host_part(registered, destination),
        told=f"{destination.host}{port} is not listed in {egress.setting}; {yes}.",
        host=destination.entry,
    )


def _never(rule: str, said: str) -> Refusal:
    text = f"{said}. Nobody can allow that. Do not try it another way; tell the person that it was not done."
    return Refusal(STAGE, rule, Reason.POLICY_VIOLATION, text)


_NO_WAY_OUT: Final = (
    "Commands have no network here, and no host can be admitted to one: this sandbox has no door to the egress proxy. "
    "Leave hosts out; for single requests use http."
)
