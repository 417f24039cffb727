"""The way on which private data could leave a group without a question (POL-8): shown, never forced.

It takes three things together: the group reads what is private, text from outside reaches it (and may give orders),
and something can be sent without a person's word. Only settings are looked at.
"""

import msgspec

from host.config.settings import GroupSettings, PolicySettings
from host.passport import Decision, Effect


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """An open way."""

    how: str  # a sentence: what goes out on it
    closes: str  # the one setting that closes it

    @property
    def text(self) -> str:
        """Both, for a person."""
        return f"{self.how} To close this way: {self.closes}."


def leak_of(group: str, settings: GroupSettings, policy: PolicySettings) -> Leak | None:
    """Return the open way of a group with these settings, `policy` being what holds now; None where there is none."""
    choices = policy.choices
    bare = settings.sandbox.backend == "none"
    if choices.get(Effect.READ.value) is Decision.DENY or not (settings.sandbox.network or bare):
        return None  # nothing private is read, or nothing from outside comes in without a person's word
    table = f"[groups.{group}.policy]"
    if policy.everything == "allow":
        return _leak("everything runs without a question", f'{table} everything = "ask"')
    sends = _allowed(policy, "http", Effect.SEND)
    runs = _allowed(policy, "shell", Effect.EXECUTE) and not bare  # bare commands ask, whatever is allowed
    if sends and runs:
        return _leak("requests and commands run without a question", f"[groups.{group}.sandbox] network = []")
    if sends:
        return _leak("requests are sent without a question", f'{table} {_word(choices, "http", Effect.SEND)} = "ask"')
    if runs:
        word = _word(choices, "shell", Effect.EXECUTE)
        return _leak("commands with a network run without a question", f'{table} {word} = "ask"')
    return None


def _leak(how: str, closes: str) -> Leak:
    return Leak(how=f"It reads files, takes in text from outside, and {how}: what it reads can leave.", closes=closes)


def _allowed(policy: PolicySettings, tool: str, effect: Effect) -> bool:
    choices = policy.choices
    if Decision.DENY in {choices.get(tool), choices.get(effect.value)}:
        return False
    return choices.get(tool, choices.get(effect.value)) is Decision.ALLOW


def _word(choices: dict[str, Decision], tool: str, effect: Effect) -> str:
    return tool if tool in choices else effect.value
