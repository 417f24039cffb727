"""The ways on which private data could leave a group without a question (POL-8): shown, never forced.

It takes three things together: the group reads what is private, text from outside reaches it (and may give orders),
and something can be sent without a person's word. Settings and standing grants are looked at. A grant for one exact
command or path is left out: what it does is what was looked at when it was given.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from host.config.servers import SEPARATOR
from host.config.settings import GroupSettings, PolicySettings
from host.passport import Decision, Effect
from host.policy.grants import kind_key

_REQUESTS: Final = "requests are sent without a question"
_COMMANDS: Final = "commands with a network run without a question"
_LET_OUT: Final = f"{Effect.SEND.value}:host:"  # begins the key of a grant that lets requests out to a host


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """An open way, or several."""

    how: str  # a sentence: what goes out on it
    closes: str  # what closes it: one setting, or one for each way

    @property
    def text(self) -> str:
        """Both, for a person."""
        return f"{self.how} To close this way: {self.closes}."


class _Way(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that goes out unasked."""

    what: str
    closes: str


def leak_of(
    group: str,
    settings: GroupSettings,
    policy: PolicySettings,
    *,
    servers: Collection[str] = (),
    granted: Mapping[str, str] | None = None,
) -> Leak | None:
    """Return the open ways of a group with these settings; None where there is none.

    `policy` is what holds now, `servers` are the names of its tool servers, `granted` gives for each key of a standing
    grant the grant's id.
    """
    if policy.choices.get(Effect.READ.value) is Decision.DENY:
        return None  # nothing private is read
    if policy.everything == "allow":  # lets it out to hosts that are on no list, too
        return _leak("everything runs without a question", f'[groups.{group}.policy] everything = "ask"')
    ways = list(_ways(group, settings, policy, servers, granted or {}))
    if not ways:
        return None
    listed = [way for way in ways if way.what in {_REQUESTS, _COMMANDS}]
    if ways == listed and len(ways) > 1 and settings.sandbox.backend != "ssh":
        return _leak("requests and commands run without a question", f"[groups.{group}.sandbox] network = []")
    return _leak(" and ".join(way.what for way in ways), " and ".join(way.closes for way in ways))


def _ways(
    group: str,
    settings: GroupSettings,
    policy: PolicySettings,
    servers: Collection[str],
    granted: Mapping[str, str],
) -> Iterator[_Way]:
    table, choices = f"[groups.{group}.policy]", policy.choices
    bare, remote = (settings.sandbox.backend == backend for backend in ("none", "ssh"))
    network = bool(settings.sandbox.network)
    if (network or bare or remote) and _allowed(policy, "http", Effect.SEND):
        yield _Way(what=_REQUESTS, closes=f'{table} {_word(choices, "http", Effect.SEND)} = "ask"')
    if (network or remote) and not bare and _allowed(policy, "shell", Effect.EXECUTE):  # bare commands always ask
        yield _Way(what=_COMMANDS, closes=f'{table} {_word(choices, "shell", Effect.EXECUTE)} = "ask"')
    for name in sorted(choices):
        if name.partition(SEPARATOR)[0] in servers and _allowed(policy, name, Effect.DESTROY):
            yield _Way(what=f"{name} is called without a question", closes=f'{table} {name} = "ask"')
    if servers and choices.get(Effect.DESTROY.value) is Decision.ALLOW:
        yield _Way(what="tools of tool servers are called without a question", closes=f'{table} destroy = "ask"')
    for grant in dict.fromkeys(grant for key, grant in granted.items() if _lets_out(key, policy, servers, network)):
        yield _Way(what=f"the standing answer {grant} lets it out", closes=f"elis grants {group} --revoke {grant}")


def _lets_out(key: str, policy: PolicySettings, servers: Collection[str], network: bool) -> bool:  # noqa: FBT001
    """Say whether a grant with this key sends what a person was not asked about."""
    if key.startswith(_LET_OUT):
        return not _denied(policy, "http", Effect.SEND)
    if key == kind_key("http", Effect.SEND):
        return network and not _denied(policy, "http", Effect.SEND)
    if key == kind_key("shell", Effect.EXECUTE):
        return network and not _denied(policy, "shell", Effect.EXECUTE)
    _, _, kind = key.partition("kind:")
    tool = kind.partition(":")[0]
    return tool.partition(SEPARATOR)[0] in servers and not _denied(policy, tool, Effect.DESTROY)


def _leak(how: str, closes: str) -> Leak:
    return Leak(how=f"It reads files, takes in text from outside, and {how}: what it reads can leave.", closes=closes)


def _allowed(policy: PolicySettings, tool: str, effect: Effect) -> bool:
    choices = policy.choices
    return not _denied(policy, tool, effect) and choices.get(tool, choices.get(effect.value)) is Decision.ALLOW


def _denied(policy: PolicySettings, tool: str, effect: Effect) -> bool:
    return Decision.DENY in {policy.choices.get(tool), policy.choices.get(effect.value)}


def _word(choices: dict[str, Decision], tool: str, effect: Effect) -> str:
    return tool if tool in choices else effect.value
