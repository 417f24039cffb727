"""Whether what stands in the settings of a tool server is a secret itself (SEC-1).

Pure: it looks at forms, those that masking knows, and never repeats what it looked at. Above it is whoever reads the
list of tool servers.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from browser.hosts import entry_of
from host.config.problems import Problems, join
from host.config.references import has_userinfo
from host.config.servers import LENT, lent_to
from host.config.settings import ServerSettings, Settings
from host.vault import literals, named, shapes
from host.vault.towards import host_in, may_get

_REMEDY: Final = (
    'put the value behind a reference in [secrets] and write "secret:NAME" in env;'
    " treat the value that stood here as known to others"
)


def looks_secret(argument: str) -> bool:
    """Tell whether `argument` holds a key, a token, a password or an address with one."""
    raw = argument.encode("utf-8", "surrogatepass")
    return has_userinfo(argument) or bool(shapes.spans_of(raw))


def check_command(key: str, command: Sequence[str], problems: Problems) -> None:
    """Note every argument of `command` that is a secret, also where its option stands before it (`--token VALUE`)."""
    for at, argument in enumerate(command):
        beside = f"{command[at - 1]} {argument}" if at and command[at - 1].startswith("-") else argument
        if looks_secret(argument) or looks_secret(beside):
            problems.add(f"{key}[{at}]", "holds what looks like a secret", _REMEDY)


def check_environment(
    key: str, environment: Mapping[str, str], secrets: Mapping[str, object], problems: Problems
) -> None:
    """Note every variable whose value is a secret, or names one that there is not."""
    for name, value in environment.items():
        if value.startswith(LENT):
            if value.removeprefix(LENT) not in secrets:
                known = ", ".join(sorted(secrets)) or "none"
                problems.add(
                    join(key, name), "names no secret of this file", f"add it to [secrets]; there are: {known}"
                )
        elif looks_secret(value) or _is_raw(name, value):
            problems.add(join(key, name), "holds a raw value where a secret belongs", _REMEDY)


def check_servers(settings: Settings, source: str) -> None:
    """Judge every tool server of the settings in the file `source`; raise SettingsError."""
    problems = Problems(source)
    for name, server in settings.mcp.items():
        check_command(f"mcp.{name}.command", server.command, problems)
        check_environment(f"mcp.{name}.env", server.env, settings.secrets, problems)
        if looks_secret(server.url):
            problems.add(f"mcp.{name}.url", "holds what looks like a secret", _REMEDY.replace("in env", "as token"))
        for lent in lent_to([server]):
            secret = settings.secrets.get(lent)
            bound = secret.hosts if secret is not None else ()
            if bound and not all(may_get(host, bound) for host in _reached(server)):
                wrong = f"is lent the secret {lent}, which is bound to hosts, and reaches others as well"
                problems.add(f"mcp.{name}", wrong, f"list only hosts of [secrets.{lent}], each with = before it")
    error = problems.error()
    if error is not None:
        raise error


def _reached(server: ServerSettings) -> list[str]:
    """Return the hosts that a server reaches; an empty one stands for a host with its subdomains."""
    if server.url:
        return [host_in(server.url)]
    return [entry.name if entry.exact else "" for entry in map(entry_of, server.network)]


def _is_raw(name: str, value: str) -> bool:
    return named.is_secret_field(name, value) or (
        named.is_secret_name(name) and literals.opaque(value.encode("utf-8", "surrogatepass"))
    )
