"""What an entry of the closed list of tool servers, `[mcp.NAME]`, must satisfy, and how their tools are called.

Only what stands in the file is judged here. Whether a value is a secret that belongs behind a reference is judged by
`host.vault.raw`, which knows their forms.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final
from urllib.parse import urlsplit

from browser.errors import NotAHost
from browser.hosts import entry_of
from host.config.problems import Problems, join
from host.config.settings import ServerSettings, Settings

LENT: Final = "secret:"
"""How an entry names a secret of [secrets], as in "secret:github"."""

WORKSPACE_FOLDER: Final = "."
"""How `folders` names the workspace itself; no folder can be called so."""

SEPARATOR: Final = "__"
"""Between server and tool in a tool's name, as in `files__read`: both wire formats allow letters, digits, _ and -."""

_TOOL: Final = re.compile(r"(?P<server>[a-z0-9-]+)__[A-Za-z0-9_-]+\Z")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LONGEST_NAME: Final = 32  # of the 64 characters that the name of a tool may have
_OF_COMMANDS: Final = ("folders", "network", "env")


def is_server_tool(name: str, servers: Collection[str] | None) -> bool:
    """Tell whether `name` may be a tool of one of `servers`; None: of any."""
    found = _TOOL.match(name)
    return found is not None and (servers is None or found["server"] in servers)


def check(name: str, server: ServerSettings, settings: Settings, problems: Problems) -> None:
    """Note everything in the entry of the server `name` that cannot stand."""
    key = f"mcp.{name}"
    if len(name) > _LONGEST_NAME:
        problems.add(key, f"has a name of more than {_LONGEST_NAME} characters", "choose a shorter one")
    if not server.groups:
        problems.add(join(key, "groups"), "names no group", 'write for example `groups = ["main"]`')
    for group in server.groups:
        if group not in settings.groups:
            known = ", ".join(sorted(settings.groups))
            problems.add(join(key, "groups"), "names no group of this file", f"the groups here are {known}")
    if bool(server.command) == bool(server.url):
        remedy = 'write `command = ["PROGRAM", "ARGUMENT"]` or `url = "https://…"`'
        problems.add(key, "needs either command or url", remedy)
    elif server.url:
        _check_remote(key, server, problems)
    else:
        _check_local(key, server, settings, problems)
    _check_lent(key, server, settings, problems)


def _check_remote(key: str, server: ServerSettings, problems: Problems) -> None:
    if not _is_public_https(server.url):
        problems.add(
            join(key, "url"), "is no https address of a public host", 'write for example "https://mcp.example.org/mcp"'
        )
    for name in _OF_COMMANDS:
        if getattr(server, name):
            problems.add(join(key, name), "has no meaning for a server that is reached by url", "take it out")


def _is_public_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port or 443
        entry_of(f"={parts.hostname or ''}:{port}")
    except (ValueError, NotAHost):
        return False
    return parts.scheme == "https" and not parts.fragment


def _check_local(key: str, server: ServerSettings, settings: Settings, problems: Problems) -> None:
    if not all(server.command) or any("\0" in part for part in server.command):
        problems.add(join(key, "command"), "holds an empty part", "take the empty one out")
    if server.token:
        remedy = 'take it out, or lend it as a variable: `env = { TOKEN = "secret:NAME" }`'
        problems.add(join(key, "token"), "has no meaning for a server that is started by command", remedy)
    for group in server.groups:
        if server.folders and group in settings.groups and settings.groups[group].sandbox.backend == "ssh":
            wrong = f"names folders for the group {group}, whose files are on another machine"
            problems.add(join(key, "folders"), wrong, "take them out, or leave the group out")
            continue
        known = {WORKSPACE_FOLDER, *(settings.groups[group].folders if group in settings.groups else ())}
        for folder in server.folders:
            if folder not in known:
                remedy = f'add it to [groups.{group}.folders], or write "{WORKSPACE_FOLDER}" for the workspace'
                problems.add(join(key, "folders"), f"names no folder of the group {group}", remedy)


def _check_lent(key: str, server: ServerSettings, settings: Settings, problems: Problems) -> None:
    for name in server.env:
        if not _VARIABLE.match(name):
            problems.add(join(key, "env"), "holds what is no name of a variable", "use letters, digits and _")
    if server.token and not server.token.startswith(LENT):
        remedy = 'write "secret:NAME", and put the value behind a reference in [secrets]'
        problems.add(join(key, "token"), "is no reference to a secret", remedy)
    named = {"token": server.token} | {f"env.{name}": value for name, value in server.env.items()}
    for name, value in named.items():
        if value.startswith(LENT) and value.removeprefix(LENT) not in settings.secrets:
            known = ", ".join(sorted(settings.secrets)) or "none"
            problems.add(join(key, name), "names no secret of this file", f"add it to [secrets]; there are: {known}")


def lent_to(servers: Iterable[ServerSettings]) -> frozenset[str]:
    """Return the names of the secrets that these servers are lent."""
    values = (value for server in servers for value in (server.token, *server.env.values()))
    return frozenset(value.removeprefix(LENT) for value in values if value.startswith(LENT))
