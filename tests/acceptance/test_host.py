"""The host as a service: stopping in order, and settings that change while it runs (OPS-1, LANE-4)."""

import signal
import threading
import time
from pathlib import Path

import pytest

from host.groups.ray_folder import RayFolder
from host.record.host_events import HostEvent
from host.record.host_record import HostCodec
from memory.journal import Journal
from tests.acceptance.host import BOUND, Host
from tests.scripted_model import Reply, ScriptedModel

SETTINGS = """
[host]
listen = "127.0.0.1:0"
[models.main]
provider = "openai"
base_url = "{url}"
model = "scripted"
[groups.main]
"""


@pytest.mark.clause("OPS-1", "LANE-4")
@pytest.mark.timeout(300)
def test_sigterm_drains_and_settings_are_followed(tmp_path: Path) -> None:
    """A running turn ends well, new work is refused, what waited stays; groups come and go with the settings."""
    going = threading.Event()
    with ScriptedModel() as model:
        model.respond(lambda _request, _index: Reply(text="all of it", chunks=2, pause=going))
        host = Host(tmp_path / "elis", SETTINGS.format(url=model.base_url))
        try:
            host.up()
            _settings_are_followed(host)
            _sigterm_drains(host, going)
        finally:
            going.set()
            host.end()
    assert not (host.home / "run" / "address").exists()
    assert not RayFolder(host.home).path.exists()
    with Journal[HostEvent].open(host.home / "host.db", HostCodec(), lambda: 0) as journal:
        kinds = [row.kind for row in journal.read(kinds={"host_started", "host_stopped"})]
    assert kinds == ["host_started", "host_stopped"] * 2


def _settings_are_followed(host: Host) -> None:
    with (host.home / "elis.toml").open("a") as settings:
        settings.write("\n[groups.byhand]\n")
    assert host.run("group", "add", "added").returncode == 0
    host.wait_awake()
    names = {entry["view"]["name"] for entry in host.status()["groups"]}
    assert names == {"main", "byhand", "added"}
    assert host.run("group", "remove", "added").returncode == 0
    assert (host.home / "groups" / "added").exists()
    assert {entry["view"]["name"] for entry in host.status()["groups"]} == {"main", "byhand"}


def _sigterm_drains(host: Host, going: threading.Event) -> None:
    assert host.process is not None
    running = host.post("/groups/main/messages", {"text": "work", "key": "k1"}).json()
    waiting = host.post("/groups/main/messages", {"text": "later", "key": "k2", "priority": "later"}).json()
    assert (running["disposition"], waiting["disposition"]) == ("started", "queued")
    host.wait(lambda: host.get(f"/groups/main/turns/{running['turn']}")[-1]["kind"] == "request_sent")
    host.process.send_signal(signal.SIGTERM)
    time.sleep(4)  # longer than the three seconds after which another handler of the process would abort it
    assert host.process.poll() is None
    refused = host.post("/groups/main/messages", {"text": "more", "key": "k3"})
    assert (refused.status_code, refused.json()["reason"]) == (409, "resource_busy")
    assert host.get(f"/groups/main/turns/{running['turn']}")
    going.set()
    assert host.process.wait(BOUND) == 0
    host.process = None
    host.up()
    ended = host.get(f"/groups/main/turns/{running['turn']}")[-1]
    assert (ended["kind"], ended["data"]["outcome"]) == ("turn_ended", "success")
    host.wait(lambda: host.get("/groups/main/turns")[0]["state"] == "ended")
    assert [turn["outcome"] for turn in host.get("/groups/main/turns")] == ["success", "success"]
    assert host.down() == 0
