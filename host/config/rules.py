"""What the values of settings must satisfy beyond their types: names, addresses, limits, and what points at what.

Every rule notes problems and goes on. No rule touches the network or reads a secret.
"""

import math
import os
import re
import zoneinfo
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from browser.errors import NotAHost
from browser.hosts import entry_of
from host.config import edge, places, references, servers
from host.config.later import LATER_TOOLS
from host.config.packages import NotAPackage, wanted
from host.config.problems import Problems, join, nearest
from host.config.settings import (
    EMBEDDED,
    ApprovalSettings,
    FolderSettings,
    GroupSettings,
    HostSettings,
    LaneSettings,
    ModelSettings,
    SandboxSettings,
    SecretSettings,
    Settings,
)

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")  # a label of a host name, so it fits any route
_CAPABILITIES: Final = ("tools", "vision")
_SMALLEST_WINDOW: Final = 256  # tokens; below it not even the invariants and one message fit
_HOST: Final = re.compile(r"=?[a-z0-9]([a-z0-9.-]*[a-z0-9])?\Z", re.IGNORECASE)
_IMAGE: Final = re.compile(r"[a-z0-9][A-Za-z0-9._/:@-]*\Z")  # never an option of the engine
_SSH_HOST: Final = re.compile(
    r"([A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9_]([A-Za-z0-9._:-]*[A-Za-z0-9])?\Z"
)  # no option
_LONGEST_WAIT_SECONDS: Final = 31_536_000.0  # a year
KEPT: Final = ("outputs", "downloads")  # folders of every workspace in which the host keeps what tools gave
FOUND_MODEL: Final = "main"
"""The name of the model that is found by looking when the settings name none."""
FOUND_KEYS: Final = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
"""The variables that may hold the key of the model that is found by looking."""


def check(settings: Settings, home: Path, tool_names: Collection[str] | None, problems: Problems) -> None:
    """Note everything in `settings` that cannot stand; `home` is the folder that the host keeps to itself."""
    _check_name("host.name", settings.host.name, problems)
    _check_edge(settings.host, problems)
    if settings.host.default_group not in settings.groups:
        _unknown_reference("host.default_group", "group", settings.groups, problems)
    for name, model in settings.models.items():
        _check_name(f"models.{name}", name, problems)
        _check_model(f"models.{name}", model, problems)
    for name, group in settings.groups.items():
        _check_name(f"groups.{name}", name, problems)
        _check_group(f"groups.{name}", group, settings.models, home, problems)
    places.check(settings, home, problems)
    used = {
        references.identity(model.api_key, home): f"the secret of models.{name}"
        for name, model in settings.models.items()
        if model.api_key
    }
    if not settings.models:
        used.update((f"env:{variable}", "the key of the model that is found by looking") for variable in FOUND_KEYS)
    for name, secret in settings.secrets.items():
        _check_name(f"secrets.{name}", name, problems)
        references.check_lendable(f"secrets.{name}.ref", secret.ref, used, home, problems)
        _check_secret(f"secrets.{name}", secret, tool_names, problems)
    for name, server in settings.mcp.items():
        _check_name(f"mcp.{name}", name, problems)
        servers.check(name, server, settings, problems)
        _check_network(f"mcp.{name}.network", server.network, problems)


def _check_edge(host: HostSettings, problems: Problems) -> None:
    """Judge where the panel listens and what stands between it and other machines (PAN-2)."""
    if bool(host.tls_certificate) != bool(host.tls_key):
        missing = "tls_key" if host.tls_certificate else "tls_certificate"
        problems.add(f"host.{missing}", "is missing", "name both PEM files, tls_certificate and tls_key, or none")
    for name in ("tls_certificate", "tls_key"):
        _check_path(f"host.{name}", getattr(host, name), problems)
    if host.proxy_url and not _is_https_origin(host.proxy_url):
        remedy = 'write an origin such as "https://elis.example.org"'
        problems.add("host.proxy_url", "is not the https origin of a proxy", remedy)
    if found := edge.objection(host.listen, tls=bool(host.tls_certificate), proxy=bool(host.proxy_url)):
        problems.add("host.listen", *found)


def _is_https_origin(url: str) -> bool:
    try:
        parts = urlsplit(url)
        plain = url.isprintable() and " " not in url and parts.port != 0
    except ValueError:
        return False
    return plain and parts.scheme == "https" and bool(parts.hostname) and not (parts.path.strip("/") or parts.query)


def _check_path(key: str, path: str, problems: Problems) -> bool:
    if "\0" in path:
        problems.add(key, "cannot be a path", "write the path from /")
        return False
    return True


def _check_name(key: str, name: str, problems: Problems) -> None:
    if not _NAME.match(name):
        problems.add(key, "is not a usable name", "use 1 to 63 of a-z, 0-9 and -, not beginning or ending with -")


def _unknown_reference(key: str, what: str, known: Iterable[str], problems: Problems) -> None:
    names = sorted(known)
    listed = f"the {what}s here are {', '.join(names)}" if names else f"there is no {what} here"
    problems.add(key, f"names no {what} of this file", f"{listed}; name one of them, or add [{what}s.NAME]")


def _check_model(key: str, model: ModelSettings, problems: Problems) -> None:
    if model.provider == "embedded":
        for name in ("base_url", "api_key"):
            if getattr(model, name):
                problems.add(join(key, name), "has no meaning for the embedded model", "take it out")
        if model.context_tokens > EMBEDDED.context_tokens:
            remedy = f"write at most {EMBEDDED.context_tokens}, or take it out"
            problems.add(join(key, "context_tokens"), "is more than the embedded model takes", remedy)
    elif not model.model:
        problems.add(join(key, "model"), "is missing", 'write the name the provider knows it by, `model = "…"`')
    if model.api_key is not None:
        references.check(join(key, "api_key"), model.api_key, problems)
    if model.base_url:
        _check_url(join(key, "base_url"), model.base_url, problems)
    _check_window(key, model, problems)
    if model.price is not None:
        for name, value in msgspec.structs.asdict(model.price).items():
            if value is not None and not (math.isfinite(value) and value >= 0):
                problems.add(f"{key}.price.{name}", "is no price", "write dollars per million tokens, 0 or more")


def _check_window(key: str, model: ModelSettings, problems: Problems) -> None:
    if model.context_tokens < _SMALLEST_WINDOW:
        remedy = f"write what the model takes, at least {_SMALLEST_WINDOW}"
        problems.add(join(key, "context_tokens"), "is too small to work with", remedy)
    if not 0 < model.output_tokens < model.context_tokens:
        remedy = "write less than context_tokens, and more than 0"
        problems.add(join(key, "output_tokens"), "does not fit into the model's window", remedy)
    for capability in model.capabilities:
        if capability not in _CAPABILITIES:
            near = nearest(capability, _CAPABILITIES)
            remedy = f"did you mean `{near}`?" if near else f"there are {' and '.join(_CAPABILITIES)}"
            problems.add(join(key, "capabilities"), "names an unknown capability", remedy)


def _check_url(key: str, url: str, problems: Problems) -> None:
    remedy = 'write for example `base_url = "http://127.0.0.1:11434/v1"`'
    try:
        parts = urlsplit(url)  # it takes out line breaks and tabs by itself, and nobody else does
        plain = url.isprintable() and " " not in url
        complete = plain and parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        complete = False
        parts = None
    if not complete:
        problems.add(key, "is not an http or https address", remedy)
    elif parts is not None and (parts.query or parts.fragment):
        problems.add(key, "has a ? or # part, but paths are put behind it", remedy)


def _check_group(
    key: str, group: GroupSettings, models: dict[str, ModelSettings], home: Path, problems: Problems
) -> None:
    known = set(models) or {FOUND_MODEL}
    for name, reference in (("model", group.model), ("aux_model", group.aux_model)):
        if reference is not None and reference not in known:
            _unknown_reference(join(key, name), "model", models, problems)
    if group.timezone is not None:
        _check_timezone(join(key, "timezone"), group.timezone, problems)
    if not all(word.strip() for word in group.stop_words):
        problems.add(join(key, "stop_words"), "holds an empty word", "take the empty one out")
    for name, folder in group.folders.items():
        _check_name(f"{key}.folders.{name}", name, problems)
        if name in KEPT:
            wrong = "has the name of a folder in which the host keeps what tools gave"
            problems.add(f"{key}.folders.{name}", wrong, "choose another name")
        _check_folder(f"{key}.folders.{name}.path", folder, home, problems)
    _check_limits(f"{key}.budget", msgspec.structs.asdict(group.budget), problems)
    _check_limits(f"{key}.daily", msgspec.structs.asdict(group.daily), problems)
    _check_approvals(f"{key}.approvals.timeout_seconds", group.approvals, problems)
    _check_network(f"{key}.sandbox.network", group.sandbox.network, problems)
    _check_packages(f"{key}.sandbox.packages", group.sandbox.packages, problems)
    _check_container(f"{key}.sandbox", group.sandbox, problems)
    _check_ssh(key, group, problems)
    _check_lanes(f"{key}.lanes", group.lanes, problems)


def _check_timezone(key: str, name: str, problems: Problems) -> None:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = nearest(name, {zone.lower() for zone in zoneinfo.available_timezones()})
        proper = next((zone for zone in zoneinfo.available_timezones() if zone.lower() == near), "")
        remedy = f"did you mean `{proper}`?" if proper else 'write one such as "Europe/Berlin", or take the key out'
        problems.add(key, "is no time zone that this machine knows", remedy)


def _check_folder(key: str, folder: FolderSettings, home: Path, problems: Problems) -> None:
    if not _check_path(key, folder.path, problems):
        return
    path = Path(folder.path)
    if not path.is_absolute():
        problems.add(key, "is not a full path", "write the path from /")
        return
    real, own = Path(os.path.realpath(path)), Path(os.path.realpath(home))
    if real.is_relative_to(own) or own.is_relative_to(real):
        wrong = f"would open the host's own folder {home} to the group"
        problems.add(key, wrong, "name a folder that neither holds it nor lies in it")


def _check_limits(key: str, limits: dict[str, float | None], problems: Problems) -> None:
    for name, value in limits.items():
        if value is None:
            continue
        remedy = f"write for example `{name} = 10`, or `{name} = inf` for no limit"
        if math.isnan(value) or value <= 0:
            problems.add(join(key, name), "must be more than 0", remedy)
        elif name in {"tokens", "steps"} and math.isfinite(value) and value != int(value):
            problems.add(join(key, name), "must be a whole number", remedy)


def _check_approvals(key: str, approvals: ApprovalSettings, problems: Problems) -> None:
    if not 0 < approvals.timeout_seconds <= _LONGEST_WAIT_SECONDS:
        remedy = "write a number of seconds, more than 0 and at most a year (31536000)"
        problems.add(key, "is no time to wait for an answer", remedy)


def _check_network(key: str, hosts: tuple[str, ...], problems: Problems) -> None:
    for host in hosts:
        try:
            entry_of(host)
        except NotAHost:
            wrong = "holds what is no public host name"
            problems.add(key, wrong, 'write names only, such as "example.org", "=id.example.net" or "example.org:8443"')
            return


def _check_packages(key: str, packages: tuple[str, ...], problems: Problems) -> None:
    for package in packages:
        try:
            wanted(package)
        except NotAPackage:
            remedy = 'write names as an index has them, with versions if need be: "requests", "pandas>=2"'
            problems.add(key, "holds what is no package name", remedy)
            return


def _check_container(key: str, sandbox: SandboxSettings, problems: Problems) -> None:
    if sandbox.backend != "container":
        if sandbox.image:
            wrong = 'belongs to the back end "container" alone'
            problems.add(join(key, "image"), wrong, 'write `backend = "container"`, or take it out')
        return
    if not _IMAGE.match(sandbox.image):
        remedy = 'write the name of an image that is there, `image = "localhost/tools:1"`'
        problems.add(join(key, "image"), "names no image", remedy)
    for name, what in (("network", "are not let out to hosts"), ("packages", "get no packages installed")):
        if getattr(sandbox, name):
            problems.later(join(key, name), f"not supported in this version: containers {what}", "take it out")


def _check_ssh(group_key: str, group: GroupSettings, problems: Problems) -> None:
    key, sandbox = f"{group_key}.sandbox", group.sandbox
    if sandbox.backend != "ssh":
        for name in ("host", "root"):
            if getattr(sandbox, name):
                problems.add(
                    join(key, name), 'belongs to the back end "ssh" alone', 'write `backend = "ssh"`, or take it out'
                )
        return
    if not _SSH_HOST.match(sandbox.host):
        remedy = 'write it as ssh knows it, `host = "build.example.org"` or `host = "elis@build"`'
        problems.add(join(key, "host"), "names no machine", remedy)
    if not sandbox.root.startswith("/") or not sandbox.root.isprintable():
        problems.add(join(key, "root"), "is no full path", 'write the folder there from /, `root = "/srv/elis/work"`')
    for name, why in (("network", "is that machine's own"), ("packages", "are not installed on other machines")):
        if getattr(sandbox, name):
            problems.add(join(key, name), f'has no effect with the back end "ssh": it {why}', "take it out")
    for name in group.folders:
        wrong = 'is a folder of this machine, and with the back end "ssh" all files are on the other one'
        problems.add(
            f"{group_key}.folders.{name}", wrong, "take it out, or make it a folder beneath sandbox.root there"
        )


def _check_lanes(key: str, lanes: LaneSettings, problems: Problems) -> None:
    for name, value in msgspec.structs.asdict(lanes).items():
        if value < 1:
            problems.add(join(key, name), "must be at least 1", f"write for example `{name} = 3`")


def _check_secret(key: str, secret: SecretSettings, tool_names: Collection[str] | None, problems: Problems) -> None:
    valid = {*(tool_names or ()), *LATER_TOOLS}
    if tool_names is not None and not valid.issuperset(secret.tools):
        problems.add(join(key, "tools"), "names an unknown tool", f"the tools are {', '.join(sorted(valid))}")
    if not all(_HOST.match(host) for host in secret.hosts):
        problems.add(join(key, "hosts"), "holds what is no host name", 'write names only, such as "api.example.org"')
