"""A world, a proxy to it, and a caller with a list."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from browser.exchange import Client
from browser.hosts import HostList
from browser.network import Limits
from browser.proxy import Door, Proxy
from tests.integration.browser.world import ADDRESS, Heard, Site, World, certified

LISTED = ("example.org", "=only.example.net", "odd.example.org:8443")


class Rig(NamedTuple):
    """All that a test of the proxy needs."""

    world: World
    site: Site
    heard: Heard
    proxy: Proxy
    door: Door
    trust: ssl.SSLContext


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A world with an HTTP and an HTTPS server, and a door to it."""
    server, trust, _ = certified(tmp_path, "example.org", "*.example.org", "only.example.net", "other.example.com")
    with World() as world:
        site, heard = Site(), Heard()
        for name in ("example.org", "api.example.org", "odd.example.org", "only.example.net", "other.example.com"):
            world.names[name] = [ADDRESS]
        world.serve(443, site.handle, server)
        world.serve(80, site.handle)
        limits = Limits(
            head_bytes=4096, head_seconds=1.0, idle_seconds=2.0, half_closed_seconds=1.0, most_bytes=1 << 20
        )
        proxy = Proxy(heard, network=world.network(), limits=limits)
        client = Client(caller="t1:1.0", hosts=HostList(LISTED), advice="The list is in elis.toml.")
        yield Rig(world, site, heard, proxy, proxy.door(client), trust)
        proxy.stop()
