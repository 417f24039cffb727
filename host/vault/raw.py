"""Whether what stands in the settings of a tool server is a secret itself (SEC-1).

Pure: it looks at forms, those that masking knows, and never repeats what it looked at. Above it is whoever reads the
list of tool servers.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from host.config.problems import Problems, join
from host.config.references import has_userinfo
from host.config.servers import LENT, lent_to
from host.config.settings import ServerSettings, Settings
from host.vault import literals, named, shapes
from host.vault.towards import host_in, may_all_get, may_get

_REMEDY: Final = (
    'put the value behind a reference in [secrets] and write "secret:NAME" in env;'
    " treat the value that stood here as known to others"
)


_OPTION: Final = re.compile(
    r"--?(?:[\w.]+-)*(?P<word>(?:api|access|private|secret)?-?key|token|secret|pass(?:word|wd|phrase|code)?|pwd?|psk|pat"
    r"|(?P<loose>auth(?:orization)?)|bearer|creds?|credentials?)\Z",
    re.IGNORECASE,
)
_SHORT_OPTION: Final = re.compile(r"-[kpt]\Z", re.IGNORECASE)
_LOGIN_OPTION: Final = re.compile(r"(?:-u|--?(?:[\w.]+[-.])*(?:user|login|auth|userpwd))\Z", re.IGNORECASE)
_LOGIN: Final = re.compile(r"[^:\s/]+:(?!\d+\Z)[^:\s]+\Z")  # a name and a password; two numbers are user and group
_JOINED: Final = re.compile(r"(?P<option>--?[A-Za-z][\w.-]*)=(?P<value>.+)\Z", re.DOTALL)
_SHORT_JOINED: Final = re.compile(r"(?P<option>-[kp])(?P<value>[^=-].*)\Z", re.DOTALL)
_NAMES_CONTENT: Final = re.compile(
    r"--?(?:[\w.]+-)*(?:commit|rev(?:ision)?|ref|sha(?:1|256|512)?|hash|digest|checksum|branch|tag|integrity)\Z",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[A-Za-z0-9_+/=.~-]{20,}\Z")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_HASH: Final = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z", re.IGNORECASE)
_PARTS: Final = re.compile(r"[/?&=#;]")
_SEPARATORS: Final = re.compile(r"[/.]")
_SHORTEST_WORD: Final = 20
_CHANGE: Final = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_FEWEST_CHANGES: Final = 5  # names with dates and versions have fewer, 20 random characters mostly more


def looks_secret(argument: str) -> bool:
    """Tell whether `argument` holds a key, a token, a password or an address with one."""
    raw = argument.encode("utf-8", "surrogatepass")
    return has_userinfo(argument) or bool(shapes.spans_of(raw))


def check_command(key: str, command: Sequence[str], problems: Problems) -> None:
    """Note every argument of `command` that is a secret, also where its option stands before it (`--token VALUE`)."""
    for at, argument in enumerate(command):
        option = command[at - 1] if at and command[at - 1].startswith("-") else ""
        beside = f"{option} {argument}" if option else argument
        if looks_secret(argument) or looks_secret(beside) or (at and _is_raw_argument(option, argument)):
            problems.add(f"{key}[{at}]", "holds what looks like a secret", _REMEDY)


def _is_raw_argument(option: str, argument: str) -> bool:
    """Tell whether an argument is a secret by the option that takes it, or a word that only generators make."""
    joined = _JOINED.match(argument) or _SHORT_JOINED.match(argument)
    if joined is not None:
        return _is_raw_argument(joined["option"], joined["value"])
    if argument.startswith("-"):
        return False
    value = argument.encode("utf-8", "surrogatepass")
    if literals.refers(value) or literals.is_path(value) or _UUID.match(argument):
        return False
    if "://" in argument:
        return is_raw_address(argument)
    named_secret = _OPTION.match(option)
    if named_secret is not None:
        if named_secret["loose"]:  # also names a method
            return literals.opaque(value)
        return not named_secret["word"].lower().endswith("key") or literals.likely(value)
    if _SHORT_OPTION.match(option) and literals.opaque(value):
        return not literals.is_number(value)
    login = _LOGIN_OPTION.match(option) is not None and _LOGIN.match(argument) is not None
    return login or _is_generated(option, argument)


def is_raw_address(address: str) -> bool:
    """Tell whether an address carries a secret: a user's, a key in its query, a path that only generators make."""
    _, _, rest = address.partition("://")
    return looks_secret(address) or any(_is_generated("", part) for part in _PARTS.split(rest))


def _is_generated(option: str, argument: str) -> bool:
    """Tell whether `argument` is a long word without a pattern of words.

    A hash of 40 or 64 hexadecimal digits is one too, but not where the option says that a commit or a content is named.
    Identifiers in the form of a UUID, paths, addresses and packages with their versions are none.
    """
    argument = argument.partition("==")[0] if "==" in argument.rstrip("=") else argument  # the version of a package
    if not _WORD.match(argument) or argument.startswith(("/", "./", "../", "~")):
        return False
    if _HASH.match(argument) and _NAMES_CONTENT.match(option):
        return False
    whole = argument.count("/") > 1 and any(len(part) < _SHORTEST_WORD // 4 for part in argument.split("/"))
    parts = _SEPARATORS.split(argument) if whole or "." in argument else [argument]
    return any(len(part) >= _SHORTEST_WORD and _is_random(part) for part in parts)


def _is_random(word: str) -> bool:
    """Tell whether letters and digits, or small letters and capitals, change as they do in random characters."""
    raw = word.encode()
    return literals.opaque(raw) and (len(_CHANGE.findall(word)) >= _FEWEST_CHANGES or literals.is_mixed(raw))


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


def check_settings(settings: Settings, source: str) -> None:
    """Judge every model's address and every tool server of the settings in the file `source`; raise SettingsError."""
    problems = Problems(source)
    for name, model in settings.models.items():
        if is_raw_address(model.base_url):
            remedy = "name the key by a reference in api_key; treat the value that stood here as known to others"
            problems.add(f"models.{name}.base_url", "holds what looks like a secret", remedy)
    for name, server in settings.mcp.items():
        check_command(f"mcp.{name}.command", server.command, problems)
        check_environment(f"mcp.{name}.env", server.env, settings.secrets, problems)
        if is_raw_address(server.url):
            problems.add(f"mcp.{name}.url", "holds what looks like a secret", _REMEDY.replace("in env", "as token"))
        for lent in lent_to([server]):
            secret = settings.secrets.get(lent)
            bound = secret.hosts if secret is not None else ()
            if bound and not _bound_alone(server, bound):
                wrong = f"is lent the secret {lent}, which is bound to hosts, and reaches others as well"
                problems.add(f"mcp.{name}", wrong, f"list only hosts of [secrets.{lent}], each with = before it")
    error = problems.error()
    if error is not None:
        raise error


def _bound_alone(server: ServerSettings, hosts: Sequence[str]) -> bool:
    """Tell whether a server reaches no other hosts than these."""
    if server.url:
        return may_get(host_in(server.url), hosts)
    return all(may_all_get(entry, hosts) for entry in server.network)


def _is_raw(name: str, value: str) -> bool:
    if "://" in value:
        return is_raw_address(value)
    return (
        _is_generated(f"--{name.replace('_', '-')}", value)
        or named.is_secret_field(name, value)
        or (named.is_secret_name(name) and literals.opaque(value.encode("utf-8", "surrogatepass")))
    )
