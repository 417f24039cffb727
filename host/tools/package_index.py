"""Which package index a group's packages come from, and on which hosts its files lie (PATH-3).

The index is the one that pip itself would use on this machine, by PIP_INDEX_URL, its configuration files or its own
default; no name of one stands here. An index may keep its files on other hosts: it is asked for one package, and the
hosts that its answer names are the ones an installer is let out to. Whatever a package itself names adds none.
"""

import asyncio
import importlib.util
import re
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from browser.errors import Refused
from browser.hosts import name_of
from host.errors import ProtocolViolation, TimedOut, ToolFailed, Unsupported
from host.excerpts import ending
from host.passport import Destination
from host.tools.child import Child
from host.tools.egress import USUAL_PORT, Egress
from host.tools.output import Output
from host.tools.quoting import Quoting
from host.tools.text import FILE_BYTES
from host.tools.web_address import WebAddress, web_address
from host.tools.web_exchange import Answer, Request, exchange, phrase_of

_ASK: Final = """
from pip._internal.commands import create_command
print("index", create_command("install").parser.get_default_values().index_url)
"""
"""pip's own reading of its variables, files and default: its `pip config` leaves the default out."""
_ASKING_SECONDS: Final = 30.0  # pip takes half a second, on a cold disk some
_PAGE_SECONDS: Final = 60.0
_DOOR_SECONDS: Final = 0.25
_PASSED: Final = ("HOME", "PATH", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS")  # where pip's configuration files lie
_ACCEPT: Final = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_HREF: Final = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_OK, _MISSING, _FIRST_REDIRECT, _FIRST_FAILURE = 200, 404, 300, 400
ADVICE: Final = "Only the package index of pip's configuration is reached from here, and the hosts of its files."
_FIX: Final = (
    "Ask the operator to set PIP_INDEX_URL, or index-url in pip's configuration, for the user that Elis runs as"
)


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """A package index, and what may be reached for one package of it."""

    url: str
    hosts: tuple[str, ...]  # as entries of a list of hosts: the index itself, and where its files lie


class _File(msgspec.Struct):
    """A file of a package in the index's JSON, as far as it matters (PEP 691)."""

    url: str


class _Page(msgspec.Struct):
    """What the index's JSON says of a package."""

    files: list[_File]


def installer() -> Path:
    """Return the folder of the host's own pip; raise Unsupported."""
    found = importlib.util.find_spec("pip")
    if found is None or not found.submodule_search_locations:
        message = (
            "install_package is unavailable: Elis's environment has no pip; ask the operator to run deploy/run again"
        )
        raise Unsupported(message)
    return Path(found.submodule_search_locations[0])


async def index_of(package: str, egress: Egress, caller: str, mark: Mapping[str, str]) -> Index:
    """Return the index and the hosts for `package`, a name in its one spelling; connections are those of `caller`.

    Raise Unsupported for an index that is never reached from here, ToolFailed where it has no such package or does not
    answer, TimedOut.
    """
    url = await _configured(egress.variables, mark)
    own = _entry(_address(url).destination)
    page = _address(f"{url.rstrip('/')}/{package}/")
    reachable = egress.only((own,), advice=ADVICE)
    door = reachable.door(caller)
    request = Request(method="GET", address=page, headers={"user-agent": "Elis", "accept": _ACCEPT})
    try:
        async with asyncio.timeout(_PAGE_SECONDS):
            answer = await exchange(door, egress.trust(), request, FILE_BYTES)
    except TimeoutError as error:
        message = (
            f"the package index {page.destination.host} gave no answer within {_PAGE_SECONDS:g} s; try again later"
        )
        raise TimedOut(message) from error
    finally:
        door.close(_DOOR_SECONDS)
    if answer.status == _MISSING:
        message = f"the package index {page.destination.host} has no package {package}; check its name"
        raise ToolFailed(message)
    if answer.status != _OK:
        said = f"{answer.status} {phrase_of(answer.status)}".strip()
        redirect = f". {_FIX} to where it leads" if _FIRST_REDIRECT <= answer.status < _FIRST_FAILURE else ""
        message = f"the package index {page.destination.host} answered {said}{redirect}"
        raise ToolFailed(message)
    return Index(url=url, hosts=tuple(dict.fromkeys((own, *_hosts(answer, page)))))


async def _configured(variables: Mapping[str, str], mark: Mapping[str, str]) -> str:
    """Ask pip for its index; raise Unsupported."""
    installer()
    environment = {name: value for name, value in variables.items() if name in _PASSED or name.startswith("PIP_")}
    output = Output()
    with closing(Child([sys.executable, "-I", "-c", _ASK], environment=environment | dict(mark))) as child:
        await child.attend(output, _ASKING_SECONDS, child.kill_group)
    told = [line.split() for line in output.text().splitlines() if line.startswith("index ")]
    if child.exit_code != 0 or len(told) != 1 or len(told[0]) != 2:  # noqa: PLR2004 - the word, and the address
        message = f"pip does not say which package index it uses ({ending(output.text().strip(), 200)}). {_FIX}"
        raise Unsupported(message)
    return told[0][1]


def _address(url: str) -> WebAddress:
    """Return the address of an index that can be reached; raise Unsupported, without repeating what may be secret."""
    try:
        address = web_address(url)
        name_of(address.destination.host)
    except ProtocolViolation as error:
        message = f"pip's package index has no plain https address (a password in it is not taken). {_FIX}"
        raise Unsupported(message) from error
    except Refused as error:
        message = f"pip's package index is never reached from here: {error}. {_FIX}"
        raise Unsupported(message) from error
    if address.destination.scheme != "https":
        message = f"pip's package index {address.destination.host} is reached by https only. {_FIX}"
        raise Unsupported(message)
    return address


def _entry(destination: Destination) -> str:
    port = "" if destination.port == USUAL_PORT else f":{destination.port}"
    return f"={destination.host}{port}"


def _hosts(answer: Answer, page: WebAddress) -> list[str]:
    """Return the https hosts of the files that a page lists, as entries."""
    entries: list[str] = []
    for authority, link in _one_a_host(_links(answer)).items():
        try:
            address = page.joined(link) if authority else page
            name_of(address.destination.host)
        except (ProtocolViolation, Refused, ValueError):
            continue  # never reached; if pip needs it, it will say so
        if address.destination.scheme == "https":
            entries.append(_entry(address.destination))
    return entries


def _links(answer: Answer) -> list[str]:
    if "json" in answer.header("content-type"):
        try:
            return [file.url for file in msgspec.json.decode(answer.body, type=_Page).files]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            message = "the package index gave an answer that cannot be read; try again later"
            raise Quoting(message, str(error)) from error
    return [double or single for double, single in _HREF.findall(answer.body.decode(errors="replace"))]


def _one_a_host(links: list[str]) -> dict[str, str]:
    """Return a link for each scheme and host: a page lists thousands of files."""
    found: dict[str, str] = {}
    for link in links:
        try:
            parts = urlsplit(link)
        except ValueError:
            continue
        found.setdefault(f"{parts.scheme}://{parts.netloc}" if parts.netloc else "", link)
    return found
