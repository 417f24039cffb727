"""`elis up` as a script starts a host: one JSON object, and a home in which commands find the host with TLS too."""

import json
from pathlib import Path

import pytest

from host.config.home import Home
from tests.acceptance.certificates import made
from tests.acceptance.command import Command, elis

SETTINGS = """
[host]
listen = "127.0.0.1:0"
{more}
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:9/v1"
model = "scripted"
[groups.main]
"""


def home_with(folder: Path, more: str = "") -> Home:
    """Return a home with settings."""
    home = Home(root=folder / "home")
    home.prepare()
    home.settings.write_text(SETTINGS.format(more=more))
    return home


@pytest.mark.clause("OPS-1")
@pytest.mark.timeout(180)
async def test_up_with_json_prints_one_object_on_standard_output(tmp_path: Path) -> None:
    """The address and the login link; everything else is beside it, to the end."""
    home = home_with(tmp_path)
    command = await Command.start(home, "up", "--json")
    try:
        started = json.loads(await command.printed())
    finally:
        command.interrupt()
        ran = await command.end()
    assert set(started) == {"url", "link"}
    assert started["link"].startswith(f"{started['url']}/login?code=")
    assert (ran.code, ran.out) == (0, "")
    assert started["url"] in ran.err


@pytest.mark.clause("OPS-1", "PAN-2")
@pytest.mark.timeout(180)
async def test_a_detached_host_with_tls_behind_a_proxy_is_found_by_commands(tmp_path: Path) -> None:
    """The home names the address that is bound, never the proxy's, and holds the certificate; links name the proxy."""
    pair = made(tmp_path, "own")
    more = f'tls_certificate = "{pair.certificate}"\ntls_key = "{pair.key}"\nproxy_url = "https://elis.example.org"'
    home = home_with(tmp_path, more)
    ran = await elis(home, "up", "--detach", "--json")
    try:
        address = home.address()
        status = await elis(home, "status", "--json")
    finally:
        down = await elis(home, "down", "--json")
    assert ran.code == 0, ran.err
    assert ran.json()["url"] == "https://elis.example.org"
    assert ran.json()["link"].startswith("https://elis.example.org/login?code=")
    assert address.startswith("https://127.0.0.1:")
    assert (status.code, down.code) == (0, 0)
    assert status.json()["host"]["pid"] == ran.json()["pid"]
