"""The administrator's file: what narrows every group of this machine, whatever a group's own settings say (POL-1).

It holds one table, `[policy]`, with the keys of a group's policy; only `deny` and `ask` may be chosen in it, because
it takes away and never gives. Where it exists and cannot be read nothing may run (POL-3), which is for the caller.
"""

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Final, cast

import msgspec

from host.config import policy
from host.config.file import regular_bytes
from host.config.problems import Problems
from host.config.settings import PolicySettings
from host.config.tables import Table, as_table
from host.errors import SettingsError
from host.passport import Decision

ADMINISTRATOR_FILE: Final = Path("/etc/elis/policy.toml")
_TABLE: Final = "policy"
_LARGEST_BYTES: Final = 1_000_000


class Administrator(msgspec.Struct, frozen=True, kw_only=True):
    """What the administrator narrows."""

    choices: dict[str, Decision] = {}  # tool name or risk class → deny or ask
    deny_commands: tuple[str, ...] = ()  # patterns of parsed commands
    never_let_run: bool = False  # `everything = "ask"` stands in the file: no group may let everything run
    never_park: bool = False  # `unattended = "deny"` stands in the file


def load_administrator(path: Path, tool_names: Collection[str] | None) -> Administrator:
    """Return what the file says, nothing where there is none.

    Raises SettingsError where it exists, or may exist, and cannot be acted on in full.
    """
    try:
        data = _bytes_of(path)
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); ask the administrator to make it readable for the host"
        raise SettingsError(message) from error
    if data is None:
        return Administrator()
    if len(data) > _LARGEST_BYTES:
        message = f"{path} is larger than {_LARGEST_BYTES} bytes, which no policy is; ask the administrator to mend it"
        raise SettingsError(message)
    try:
        document: Table = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"{path} is not TOML ({error}); ask the administrator to mend it"
        raise SettingsError(message) from None
    problems = Problems(str(path))
    read = _read(document, tool_names, problems)
    wrong = problems.error()
    if wrong is not None:
        raise SettingsError(wrong.message)
    return read


def _bytes_of(path: Path) -> bytes | None:
    """Return what the file holds, at most a byte more than it may; None where there is none. Raises OSError.

    A link that leads nowhere is a file that cannot be read.
    """
    try:
        return regular_bytes(path, _LARGEST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink() or any(folder.is_symlink() and not folder.exists() for folder in path.parents):
            raise
        return None


def _read(document: Table, tool_names: Collection[str] | None, problems: Problems) -> Administrator:
    for name in document:
        if name != _TABLE:
            problems.unknown(name, (_TABLE,))
    table = as_table(_TABLE, document.get(_TABLE, {}), problems) or {}
    chosen = cast("PolicySettings", policy.reader(tool_names)(_TABLE, table, problems))
    for name, decision in chosen.choices.items():
        if decision is Decision.ALLOW:
            problems.add(f"{_TABLE}.{name}", "cannot allow", 'this file only narrows; write "ask" or "deny"')
    if chosen.everything == "allow":
        problems.add(f"{_TABLE}.everything", "cannot allow", 'write `everything = "ask"` to forbid it to every group')
    return Administrator(
        choices=chosen.choices,
        deny_commands=chosen.deny_commands,
        never_let_run=table.get("everything") == "ask",
        never_park=table.get("unattended") == "deny",
    )
