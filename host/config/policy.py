"""How `[groups.G.policy]` is read: decisions by tool name and by risk class, two switches, and denied commands.

Which tools there are is told by the caller; policy itself is applied elsewhere.
"""

from collections.abc import Collection
from typing import Final, cast

import msgspec

from host.config.later import LATER_TOOLS
from host.config.problems import Problems, join
from host.config.servers import is_server_tool
from host.config.settings import PolicySettings
from host.config.tables import Special, Table, got
from host.passport import Decision, Effect

CLASSES: Final = tuple(effect.value for effect in Effect if effect is not Effect.PURE)
"""The risk classes that can be chosen for; what is `pure` touches nothing and is never asked about."""

_SWITCHES: Final[dict[str, tuple[str, ...]]] = {"unattended": ("park", "deny"), "everything": ("ask", "allow")}
_DENIED: Final = "deny_commands"
_DECISIONS: Final = tuple(decision.value for decision in Decision)


def reader(tool_names: Collection[str] | None, servers: Collection[str] | None = None) -> Special:
    """Return the reader of policy tables; with `tool_names` None any name may be a tool's.

    What tools a tool server has is told by itself: any name behind its own is one of them, and with `servers` None
    any name in front.
    """

    def read(key: str, table: Table, problems: Problems) -> msgspec.Struct:
        valid = (*CLASSES, *sorted(tool_names or ()), *_SWITCHES, _DENIED)
        choices: dict[str, Decision] = {}
        switches: dict[str, str] = {}
        denied: list[str] = []
        for name, value in table.items():
            where = join(key, name)
            if name in _SWITCHES:
                if _one_of(where, value, _SWITCHES[name], problems):
                    switches[name] = value
            elif name == _DENIED:
                denied = _patterns(where, value, problems)
            elif name in LATER_TOOLS and name not in (tool_names or ()):
                problems.later(where, "not supported in this version: there is no such tool yet", "take it out")
            elif tool_names is not None and name not in valid and not is_server_tool(name, servers):
                problems.unknown(where, valid)
            elif _one_of(where, value, _DECISIONS, problems):
                choices[name] = Decision(value)
        return msgspec.convert({"choices": choices, _DENIED: denied, **switches}, PolicySettings)

    return read


def _patterns(key: str, value: object, problems: Problems) -> list[str]:
    remedy = 'write a list of commands, such as `deny_commands = ["git push *"]`'
    if not isinstance(value, list):
        problems.add(key, f"should be a list of texts, not {got(value)}", remedy)
        return []
    patterns = [each for each in cast("list[object]", value) if isinstance(each, str) and each.strip(" *")]
    if len(patterns) != len(cast("list[object]", value)):
        problems.add(key, "holds something that names no command", remedy)
    return patterns


def _one_of(key: str, value: object, valid: tuple[str, ...], problems: Problems) -> bool:
    if isinstance(value, str) and value in valid:
        return True
    words = ", ".join(f'"{word}"' for word in valid)
    given = "another text" if isinstance(value, str) else got(value)
    problems.add(key, f"should be one of {words}, not {given}", f'write `{key.rpartition(".")[2]} = "{valid[0]}"`')
    return False
