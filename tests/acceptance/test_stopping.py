"""The host's end when a part of it does not cooperate: bounded, in order, with nothing left running (OPS-1)."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from host.groups.ray_folder import RayFolder
from host.record.host_events import HostEvent
from host.record.host_record import HostCodec
from memory.journal import Journal
from tests.acceptance.host import ELIS, Host
from tests.acceptance.kills import left_of
from tests.scripted_model import Reply, ScriptedModel

SETTINGS = """
[host]
listen = "127.0.0.1:0"
[models.main]
provider = "openai"
base_url = "{url}"
model = "scripted"
[groups.main]
[groups.second]
"""
MOST_SECONDS = 20.0  # OPS-1: what running turns get; where none runs the end is far sooner


@pytest.fixture
def going() -> threading.Event:
    """Return what lets the model's answer go on."""
    return threading.Event()


@pytest.fixture
def host(tmp_path: Path, going: threading.Event) -> Iterator[Host]:
    """Return a home with two groups whose model answers when told to."""
    with ScriptedModel() as model:
        model.respond(lambda _request, _index: Reply(text="all of it", chunks=2, pause=going))
        made = Host(tmp_path / "elis", SETTINGS.format(url=model.base_url))
        try:
            yield made
        finally:
            going.set()
            made.end()


def ended(host: Host, seconds: float) -> float:
    """Wait for the host's end, which must be in order and leave nothing; return how long it took."""
    assert host.process is not None
    began = time.monotonic()
    try:
        code = host.process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"still running after {seconds} s: {(host.home / 'up.log').read_text()[-2000:]}") from None
    took = time.monotonic() - began
    assert code == 0, (host.home / "up.log").read_text()[-2000:]
    host.process = None
    gone_by = time.monotonic() + 10  # what was killed goes when the kernel gets to it
    while (left := [*RayFolder(host.home).processes(), *left_of(host.home)]) and time.monotonic() < gone_by:
        time.sleep(0.05)  # other processes can only be looked at
    assert left == []
    assert not (host.home / "run" / "address").exists()
    with Journal[HostEvent].open(host.home / "host.db", HostCodec(), lambda: 0) as journal:
        assert journal.read(kinds={"host_started", "host_stopped"})[-1].kind == "host_stopped"
    return took


def actor_of(host: Host, name: str) -> psutil.Process:
    """Return the process of a group."""
    return psutil.Process(host.group(name)["view"]["pid"])


@pytest.mark.clause("OPS-1")
@pytest.mark.timeout(240)
def test_a_group_that_hangs_does_not_keep_the_host_from_ending(host: Host) -> None:
    """It is not waited for, and its process does not outlive the host."""
    host.up()
    hung = actor_of(host, "main")
    hung.suspend()
    assert host.process is not None
    host.process.terminate()
    ended(host, MOST_SECONDS)
    assert not hung.is_running() or hung.status() == psutil.STATUS_ZOMBIE


@pytest.mark.clause("OPS-1")
@pytest.mark.timeout(240)
def test_a_signal_to_the_whole_process_group_ends_the_host_in_order(host: Host) -> None:
    """As `timeout` does it: Ray dies first, and the host hears of the signal twice."""
    host.up()
    assert host.process is not None
    host.process.terminate()
    os.killpg(host.process.pid, signal.SIGTERM)
    ended(host, MOST_SECONDS)


@pytest.mark.clause("OPS-1")
@pytest.mark.timeout(240)
def test_a_ray_that_hangs_does_not_keep_the_host_from_ending(host: Host) -> None:
    """Its servers stand still, as on a disk that does not answer."""
    host.up()
    for name in ("raylet/raylet", "gcs/gcs_server"):
        psutil.Process(host.pid_of(name)).suspend()
    assert host.process is not None
    host.process.terminate()
    ended(host, MOST_SECONDS)


@pytest.mark.clause("OPS-1")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("when", ["listens", "gcs/gcs_server", "raylet/raylet", "ray::"])
def test_a_signal_while_the_host_starts_ends_it_soon(host: Host, when: str) -> None:
    """Wherever Ray has got to: its start is broken off."""
    log = (host.home / "up.log").open("w", encoding="utf-8")
    host.process = subprocess.Popen(
        [str(ELIS), "up"], env=host.environment, stdout=log, stderr=log, text=True, start_new_session=True
    )
    log.close()

    def reached() -> bool:
        if when == "listens":
            return (host.home / "run" / "address").exists()
        with contextlib.suppress(AssertionError):
            return bool(host.pid_of(when))
        return False

    host.wait(reached)
    host.process.terminate()
    ended(host, MOST_SECONDS)


@pytest.mark.clause("OPS-1")
@pytest.mark.timeout(240)
def test_a_host_that_stops_takes_no_changes_and_says_so(host: Host, going: threading.Event) -> None:
    """Nothing is written, no second Ray comes up, and every refusal is a problem document."""
    host.up()
    before = (host.home / "elis.toml").read_text()
    turn = host.post("/groups/main/messages", {"text": "work", "key": "k1"}).json()["turn"]
    host.wait(lambda: host.get(f"/groups/main/turns/{turn}")[-1]["kind"] == "request_sent")
    assert host.process is not None
    host.process.terminate()
    host.wait(lambda: host.post("/groups/second/messages", {"text": "more", "key": "k2"}).status_code == 409)
    for answer in (
        host.post("/groups", {"name": "late"}),
        host.post("/groups/main/messages", {"text": "more", "key": "k3"}),
    ):
        assert (answer.status_code, answer.json()["reason"]) == (409, "resource_busy")
        assert "stopping" in answer.json()["detail"]
    assert (host.home / "elis.toml").read_text() == before
    going.set()
    ended(host, 2 * MOST_SECONDS)
    assert not (host.home / "groups" / "late").exists()
