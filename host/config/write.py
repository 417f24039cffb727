"""The only writer of `elis.toml`: the first file, and groups added and removed, with everything else left as it was.

Comments and order are the operator's; a change that would touch more than it should is refused. Callers serialise
their calls; a file is replaced in one step, so a reader sees the old text or the new one.
"""

import os
import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Final, cast

import tomlkit
import tomlkit.exceptions

from host.config.load import parse
from host.config.private import create, replace
from host.config.tables import Table
from host.errors import NotFound, PolicyViolation, ResourceBusy, SettingsError

FIRST: Final = """\
# The settings of this Elis host. Unknown keys are errors; docs/operators-guide.md explains each one.
# A secret never stands here, only a reference to it, such as "env:NAME", "file:PATH" or "keyring:SERVICE/NAME".

[host]
name = "home"                 # this host's id
listen = "127.0.0.1:8700"     # panel and API; port 0 means any free one
default_group = "main"

# Without a model here one is looked for at each start: a provider's key in the environment, a model server on this
# machine, else the small embedded model, which only proves that the installation works. To choose one yourself:
#
# [models.main]
# provider = "openai"         # openai (any chat-completions server), anthropic or embedded
# base_url = "http://127.0.0.1:11434/v1"
# model = "qwen3:8b"
# api_key = "env:OPENAI_API_KEY"
# context_tokens = 32768

[groups.main]
# timezone = "Europe/Berlin"  # default: this machine's

[groups.main.budget]          # the limits of one turn; inf means none
tokens = 200000
cost_usd = 1.0
seconds = 900
steps = 50

[groups.main.policy]          # allow, ask or deny, by risk class or by the name of a tool
read = "allow"
write = "allow"
execute = "ask"
"""

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+\Z")


def write_first(path: Path) -> bool:
    """Write a first settings file with the group `main` unless `path` exists; tell whether one was written.

    Raises AuditFailure or SettingsError where it cannot be written; nothing of it is left then.
    """
    return create(path, FIRST)


def add_group(path: Path, name: str, tool_names: Collection[str] | None = None, *, model: str = "") -> None:
    """Add the group `name` at the end of the file, with `model` (a key of [models]) unless that is empty.

    Raises ResourceBusy if there is one of that name, SettingsError if the name or the file cannot be used.
    """
    before = _read(path)
    if name in _groups(before, path):
        message = f"there is a group {name} already; choose another name"
        raise ResourceBusy(message)
    text = before if before.endswith("\n") or not before else before + "\n"
    chosen = f"model = {_quoted(model)}\n" if model else ""
    after = f"{text}\n[groups.{name if _BARE.match(name) else _quoted(name)}]\n{chosen}"
    parse(after.encode(), path, tool_names)
    _replace(path, before, after)


def remove_group(path: Path, name: str, tool_names: Collection[str] | None = None) -> None:
    """Take the group `name` and its tables out of the file.

    Raises NotFound if there is none, PolicyViolation for the default group, SettingsError if the file cannot be used.
    """
    before = _read(path)
    if name not in _groups(before, path):
        message = f"there is no group {name}"
        raise NotFound(message)
    if parse(before.encode(), path, tool_names).host.default_group == name:
        message = f"{name} is the default group; name another one as host.default_group in {path} first"
        raise PolicyViolation(message)
    try:
        document = tomlkit.parse(before)
        del cast("Table", document["groups"])[name]
    except (KeyError, ValueError, RecursionError, tomlkit.exceptions.TOMLKitError) as error:
        raise SettingsError(_by_hand(path, name)) from error
    after = tomlkit.dumps(document)
    expected = tomllib.loads(before)
    del expected["groups"][name]
    if _parsed(after) != expected:
        raise SettingsError(_by_hand(path, name))
    parse(after.encode(), path, tool_names)
    _replace(path, before, after)


def _quoted(text: str) -> str:
    """Return `text` as a TOML string."""
    return tomlkit.string(text).as_string()


def _by_hand(path: Path, name: str) -> str:
    return f"{path} is written in a way that cannot be changed safely; take [groups.{name}] out by hand"


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read ({error}); mend the file first"
        raise SettingsError(message) from error


def _groups(text: str, path: Path) -> Table:
    document = _parsed(text)
    groups = document.get("groups", {}) if document is not None else None
    if not isinstance(groups, dict):
        message = f"{path} cannot be read as settings; `elis doctor` says what is wrong with it"
        raise SettingsError(message)
    return cast("Table", groups)


def _parsed(text: str) -> Table | None:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _replace(path: Path, before: str, after: str) -> None:
    """Put `after` in the place of `before`; raise as `replace`, and ResourceBusy if somebody else wrote meanwhile."""
    real = Path(os.path.realpath(path))  # an operator may keep the file elsewhere and link it here

    def unchanged() -> None:
        if _read(path) != before:
            message = f"{path} was changed by somebody else just now; try again"
            raise ResourceBusy(message)

    replace(real, after, before=unchanged)
