"""How names become addresses and addresses become connections, and the bounds on both.

`Network()` is the real thing. Its three functions are arguments so that a test can give a name an address and lead the
connection to that address to a server of its own; whoever runs the product passes none of them. An operator behind a
VPN that answers from a special range may be given another `is_public`.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from browser.addresses import is_public

BUFFER_BYTES: Final = 64 << 10  # of each direction of a connection; a slow reader slows the writer down
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What connections may take."""

    head_bytes: int = 16 << 10  # of a request's head
    head_seconds: float = 10.0  # until the head is there
    resolve_seconds: float = 10.0
    connect_seconds: float = 10.0  # for all addresses of a name together
    idle_seconds: float = 300.0  # without a byte in either direction; long polls stay below
    half_closed_seconds: float = 10.0  # the same, once one side has said all
    most_bytes: int = 8 << 30  # both directions of one connection
    at_once: int = 64  # connections of one caller; further ones wait
    in_all: int = 10_000  # connections of one caller; each is an event of a journal


async def resolve(host: str) -> Sequence[str]:
    """Return the addresses of a name, in the order in which they are to be tried; raise OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))


async def connect(address: str, port: int) -> Streams:
    """Connect to an address, which is one: no name is looked up here. Raise OSError."""
    return await asyncio.open_connection(address, port, limit=BUFFER_BYTES, flags=socket.AI_NUMERICHOST)


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """The way from a name to a connection."""

    resolve: Callable[[str], Awaitable[Sequence[str]]] = resolve
    is_public: Callable[[str], bool] = is_public
    connect: Callable[[str, int], Awaitable[Streams]] = connect
