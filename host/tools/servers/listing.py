"""What a tool server says of its tools, taken in once: names that both wire formats allow, plain schemas, a digest.

Nothing of it is believed; it is bounded and shown. Two lists with one digest are the same list to a byte. Pure.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from host.config.servers import SEPARATOR
from host.record.events import ServerTool
from host.tools.servers.schema import Unfit, plain_schema
from host.tools.servers.words import clean

MOST_TOOLS: Final = 500  # of one server
_LONGEST_NAME: Final = 64  # of a tool, in both wire formats
_DESCRIPTION_CHARS: Final = 2000
_SHOWN_CHARS: Final = 80
_NOT_ALLOWED: Final = re.compile(r"[^A-Za-z0-9_-]+")
_ORDERED: Final = msgspec.json.Encoder(order="sorted")
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as it came from its server."""

    name: str
    title: str = ""
    description: str = ""
    schema: Any = None
    annotations: Mapping[str, Any] = {}


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """All tools of a server."""

    digest: str
    tools: tuple[ServerTool, ...]
    left_out: tuple[str, ...]  # tools that cannot be offered, each with the cause


def listing_of(server: str, shown: Sequence[Shown]) -> Listing:
    """Take in what `server` showed; the order in which it shows its tools means nothing."""
    tools: dict[str, ServerTool] = {}
    left_out: list[str] = []
    for each in sorted(shown, key=lambda each: each.name):
        told = clean(each.name, _SHOWN_CHARS)
        name = _name(server, each.name, tools)
        if not each.name.strip() or len(tools) >= MOST_TOOLS:
            left_out.append(f"{told}: {'it has no name' if not each.name.strip() else f'only {MOST_TOOLS} are taken'}")
            continue
        try:
            parameters = plain_schema(each.schema)
        except (Unfit, RecursionError) as error:
            left_out.append(f"{told}: {error}")
            continue
        tools[name] = ServerTool(
            name=name,
            own_name=each.name,
            description=clean(each.description or each.title, _DESCRIPTION_CHARS),
            parameters=parameters,
            hints={hint: value for hint in _HINTS if isinstance(value := each.annotations.get(hint), bool)},
        )
    return Listing(digest=_digest(shown), tools=tuple(tools.values()), left_out=tuple(left_out))


def _name(server: str, own: str, taken: Iterable[str]) -> str:
    """Return a name that no other tool of the server has, the same for the same list."""
    name = f"{server}{SEPARATOR}{_NOT_ALLOWED.sub('_', own)}"
    if len(name) <= _LONGEST_NAME and name not in taken and SEPARATOR not in own:
        return name
    mark = hashlib.blake2b(own.encode(errors="replace"), digest_size=4).hexdigest()
    return f"{name[: _LONGEST_NAME - len(mark) - 1]}_{mark}"


def _digest(shown: Sequence[Shown]) -> str:
    whole = sorted(_ORDERED.encode(each) for each in shown)
    return hashlib.blake2b(b"\0".join(whole), digest_size=16).hexdigest()
