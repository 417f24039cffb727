"""`elis up`: one host on one home, from the settings to the last child's end.

It is the composition root: the only place that knows all rooms. The order of start and stop is to be read here and in
`host.app.supervisor`.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

import httpx2
import msgspec

from host.app.blueprints import Models, faults_text
from host.app.ending import leave, watch_over, within
from host.app.reading import read_settings
from host.app.site import site_of
from host.app.supervisor import Supervisor
from host.app.version import VERSION
from host.config.home import Home
from host.config.private import unwritable
from host.config.settings import GroupSettings, Settings
from host.config.tls import trust
from host.config.write import write_first
from host.errors import ElisError, ResourceBusy
from host.models.discovery import FoundModel, find_model
from host.panel.app import build_app
from host.panel.server import PanelServer
from host.panel.sessions import Sessions
from host.record.host_record import HostJournal
from host.stops import Reason
from host.telemetry import configure
from host.tools.catalogue import tools_of
from host.vault.masking import Masker

_LOG: Final = logging.getLogger(__name__)

PANEL_STOP_SECONDS: Final = 8.0  # answers that are under way get 5
AGAIN_SECONDS: Final = 1.0  # `timeout` signals its child and then the whole group: one wish, heard twice
DETACHED_SECONDS: Final = 30.0  # how long `elis up --detach` waits for the panel to answer


def run(home_folder: Path | None, *, detach: bool, json: bool = False) -> int:
    """Run a host in the foreground, or start one in the background; return the exit code."""
    home = Home.find(home_folder, os.environ)
    if detach:
        return _detach(home)
    home.prepare()
    with home.hold():
        if write_first(home.settings):
            print(f"wrote a first {home.settings}", file=sys.stderr)
        tool_names = frozenset(tools_of(GroupSettings()))
        settings = read_settings(home.settings, tool_names)
        _log_to(home.logs / "host.log")
        if not faults_text(os.environ):
            shutil.rmtree(home.run / "faults", ignore_errors=True)  # marks of an armed run that is over
        return asyncio.run(_serve(home, settings, tool_names, json=json))


def _log_to(file: Path) -> None:
    try:
        configure(file, Masker().tree)
    except OSError as error:
        raise unwritable(file, error) from error


async def _serve(home: Home, settings: Settings, tool_names: frozenset[str], *, json: bool) -> int:
    """Start everything, wait for the end, stop everything."""
    record = HostJournal.open(home.journal, _now_us)
    try:
        found = None if settings.models else await find_model(os.environ)
        signals = Signals()
        supervisor = Supervisor(
            home,
            settings,
            Models(found=found),
            record,
            tool_names=tool_names,
            on_ray_started=signals.install,
        )
        signals.on_ask = supervisor.request_shutdown
        signals.install()
        sessions = Sessions(record, _now_us)
        await sessions.restore()
        site = site_of(settings.host)
        app = build_app(
            supervisor,
            sessions,
            token=home.token(),
            site=site,
            record=record,
            now_us=_now_us,
            host_name=settings.host.name,
            version=VERSION,
        )
        server = PanelServer(app, site)
        supervisor.address = server.address
        await server.start()
        home.keep_certificate(site.tls.certificate if site.tls else None)
        home.write_address(f"https://{server.address}" if site.tls else server.address)
        _greet(server, sessions, found, json=json)
        await supervisor.start()
        await _until_the_end(supervisor, server)
        watch_over(supervisor.processes)
        await supervisor.stop(signals.seen or "asked by the API")
        await within(PANEL_STOP_SECONDS, "ending the panel", server.stop())
        with contextlib.suppress(ElisError):  # a disk that takes nothing more; the next start writes it anew
            home.forget_address()
    finally:
        record.close()
    code = Reason.UNKNOWN.exit_code if supervisor.failed else 0
    if supervisor.stuck:
        leave(code, supervisor.processes)
    return code


async def _until_the_end(supervisor: Supervisor, server: PanelServer) -> None:
    """Return when somebody asked for the end; a panel that ends by itself is such a one."""
    asked = asyncio.create_task(supervisor.wait(), name="wait for the end")
    panel = asyncio.create_task(server.ended(), name="watch the panel")
    await asyncio.wait({asked, panel}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if panel.done() and (error := panel.exception()) is not None:
        _LOG.error("the panel ended before its time; the host stops", exc_info=error)
        supervisor.failed = True
    panel.cancel()


class Signals:
    """SIGTERM and SIGINT ask for the end; one that comes a moment later ends at once, with nothing lost."""

    def __init__(self) -> None:
        self.seen = ""  # the name of the first one
        self._first = 0.0  # when it came
        self.on_ask: Callable[[], None] = lambda: None

    def install(self) -> None:
        """Take the signals, on the loop's thread; again after each start of Ray, which takes SIGTERM for itself."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked, number)

    def _asked(self, number: int) -> None:
        signal.alarm(0)  # Ray's own handler, where it came first, aborts the process by an alarm after three seconds
        now = time.monotonic()
        if self.seen:
            if now - self._first > AGAIN_SECONDS:
                os._exit(128 + number)
            return
        self.seen, self._first = signal.Signals(number).name, now
        self.on_ask()


def _greet(server: PanelServer, sessions: Sessions, found: FoundModel | None, *, json: bool = False) -> None:
    """Print how to sign in; with `json` one object {url, link} on standard output and the words beside it."""
    if found is not None:
        print(f"model: {found.how}", file=sys.stderr)
    link = f"{server.url}/login?code={sessions.invite().code}"
    words = f"Elis {VERSION} listens on {server.url}\nOpen this link once, within ten minutes:\n{link}"
    print(words, file=sys.stderr if json else sys.stdout, flush=True)
    if json:
        print(msgspec.json.encode({"url": server.url, "link": link}).decode(), flush=True)


def _detach(home: Home) -> int:
    """Start the host in a session of its own and return once its panel answers."""
    home.prepare()
    if (pid := home.holder()) is not None:
        raise ResourceBusy(f"a host runs on {home.root} already (process {pid})")
    home.forget_address()
    command = [sys.executable, "-m", "host.cli.main", "up", "--home", str(home.root)]
    with _opened(home.logs / "up.log") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    until = time.monotonic() + DETACHED_SECONDS
    while time.monotonic() < until:
        if child.poll() is not None:
            raise ElisError(f"the host ended with code {child.returncode}; {home.logs / 'up.log'} says why")
        if home.address_file.exists() and _answers(home):
            print(f"the host runs (process {child.pid}); `elis panel` prints a login link", file=sys.stderr)
            return 0
        time.sleep(0.1)
    raise ElisError(f"the host did not answer within {DETACHED_SECONDS:.0f} s; {home.logs / 'up.log'} says why")


def _opened(file: Path) -> BinaryIO:
    try:
        return file.open("ab")
    except OSError as error:
        raise unwritable(file, error) from error


def _answers(home: Home) -> bool:
    url = home.address()
    verify = trust(home.certificate) if url.startswith("https:") else True
    try:
        return httpx2.get(f"{url}/healthz", timeout=2, trust_env=False, verify=verify).is_success
    except httpx2.HTTPError:
        return False


def _now_us() -> int:
    return time.time_ns() // 1000
