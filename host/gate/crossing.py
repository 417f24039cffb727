"""Going beyond the group's lists of hosts and packages: a question, not an end (BOX-6).

A destination on the list is left to the policy. One beside it is asked about, whatever is allowed otherwise, and what
a person says admits that host for that call; so it is with packages, of which a name much like a listed one is pointed
out. Addresses written as numbers, names of this machine and its surroundings, and plain HTTP are never on offer. No
name is looked up here: the question itself would carry something out.
"""

from typing import Final

import msgspec

from browser.errors import Refused
from host.config.packages import PackageList
from host.gate.stages import Refusal, Registered
from host.stops import Reason
from host.tools.egress import USUAL_PORT, Egress

STAGE: Final = "policy"
RULE: Final = "unlisted-host"
PACKAGE_RULE: Final = "unlisted-package"


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """What a call would reach beyond the list."""

    rule: str  # for the policy, which asks about it
    told: str  # a sentence for the person who is asked: the host or package, and the setting that would list it
    hosts: tuple[str, ...] = ()  # to be admitted beside the list if the call is let through


class Listed:
    """Holds destinations and packages against the lists of one group."""

    def __init__(self, egress: Egress | None, packages: PackageList) -> None:
        self._egress = egress
        self._packages = packages

    def crossing(self, registered: Registered) -> Crossing | None:
        """Return what the call would cross, None where it stays within; raise Refusal for what is never on offer."""
        if registered.package:
            return self._package(registered.package)
        destination, egress = registered.destination, self._egress
        if destination is None or egress is None:
            return None
        try:
            if egress.lists(destination):
                return None
        except Refused as error:
            raise _never(error.rule.replace("_", "-"), str(error)) from error
        if destination.scheme != "https":
            said = f"{destination.host} is not listed in {egress.setting}, and beside that list only https is reached"
            raise _never("plain-http", said)
        port = "" if destination.port == USUAL_PORT else f" (port {destination.port})"
        told = f"{destination.host}{port} is not listed in {egress.setting}; a yes admits it for this call."
        return Crossing(rule=RULE, told=told, hosts=(f"={destination.authority}",))

    def _package(self, name: str) -> Crossing | None:
        if name in self._packages:
            return None
        alike = self._packages.alike(name)
        beware = f" Its name is much like {alike}, which is listed: look which one is meant." if alike else ""
        told = (
            f"The package {name} is not listed in the group's sandbox.packages; a yes admits it for this call.{beware}"
        )
        return Crossing(rule=PACKAGE_RULE, told=told)


def _never(rule: str, said: str) -> Refusal:
    text = f"{said}. Nobody can allow that. Do not try it another way; tell the person that it was not done."
    return Refusal(STAGE, rule, Reason.POLICY_VIOLATION, text)
