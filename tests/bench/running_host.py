"""A real host for benches: `elis up` in a process of its own on a temporary home, spoken to over its API only."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx2

from host.config.home import Home
from host.faults import VARIABLE as FAULTS

ELIS: Final = Path(sys.executable).with_name("elis")
GROUP: Final = "main"
UP_SECONDS: Final = 90.0  # Ray alone takes five on an idle machine
DOWN_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 30.0  # for anything that a group is expected to do soon
LOOK_SECONDS: Final = 0.05


class RunningHost:
    """One host with the group `main`; a context manager. `faults` is what ELIS_FAULTS arms in it."""

    def __init__(self, settings: str, *, faults: str = "") -> None:
        self.home = Home(root=Path(tempfile.mkdtemp(prefix="elis-bench-")))
        self.home.prepare()
        self.home.settings.write_text(settings, encoding="utf-8")
        self._log = self.home.root / "up.log"
        self._faults = faults
        self._process: subprocess.Popen[bytes] | None = None
        self.client = httpx2.Client(trust_env=False, timeout=WAIT_SECONDS)
        self.events: Follower

    def __enter__(self) -> Self:
        """Start it; return when the group answers. Raises RuntimeError with the host's own words."""
        environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment |= {"HOME": str(self.home.root), FAULTS: self._faults}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [ELIS, "up", "--home", str(self.home.root)], stdout=log, stderr=log, env=environment
            )
        try:
            self._until_awake(time.monotonic() + UP_SECONDS)
            self.events = Follower(self._client_for_stream(), f"/groups/{GROUP}/events")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it and remove its home."""
        self.events.close()
        self._end()

    def get(self, path: str) -> Any:
        """Return what is at a path of the group."""
        return self._answer(self.client.get(f"/groups/{GROUP}{path}"))

    def post(self, path: str, **body: object) -> Any:
        """Send a body to a path of the API."""
        return self._answer(self.client.post(path, json=body))

    def say(self, text: str) -> str:
        """Say something to the idle group; return the turn that begins."""
        placed = self.post(f"/groups/{GROUP}/messages", text=text)
        if placed["disposition"] != "started":
            message = f"the message was {placed['disposition']}, not started: the group was not idle"
            raise RuntimeError(message)
        return str(placed["turn"])

    def _until_awake(self, until: float) -> None:
        assert self._process is not None
        while time.monotonic() < until:
            if self._process.poll() is not None:
                message = f"`elis up` ended with code {self._process.returncode}: {self._said()}"
                raise RuntimeError(message)
            if self.home.address_file.exists() and self._answers():
                return
            time.sleep(LOOK_SECONDS)
        message = f"the group did not answer within {UP_SECONDS:.0f} s: {self._said()}"
        raise RuntimeError(message)

    def _answers(self) -> bool:
        if not str(self.client.base_url):
            self.client.base_url = f"{self.home.address()}/api/v1"
            self.client.headers["Authorization"] = f"Bearer {self.home.token()}"
        try:
            response = self.client.get(f"/groups/{GROUP}")
        except httpx2.TransportError:
            return False
        return response.status_code == HTTPStatus.OK and response.json()["state"] == "awake"

    def _client_for_stream(self) -> httpx2.Client:
        return httpx2.Client(
            trust_env=False, timeout=None, base_url=self.client.base_url, headers=dict(self.client.headers)
        )

    def _answer(self, response: httpx2.Response) -> Any:
        if response.is_error:
            message = f"{response.request.method} {response.request.url.path}: {response.status_code} {response.text}"
            raise RuntimeError(message)
        return response.json()

    def _said(self) -> str:
        logs = [self._log, self.home.logs / "host.log"]
        return "\n".join(log.read_text(encoding="utf-8", errors="replace")[-4000:] for log in logs if log.exists())

    def _end(self) -> None:
        assert self._process is not None
        self.client.close()
        self._process.terminate()
        try:
            self._process.wait(DOWN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(DOWN_SECONDS)
        shutil.rmtree(self.home.root, ignore_errors=True)


class Follower:
    """Follows the group's events in a thread of its own, as a panel does; tells when a turn came to something."""

    def __init__(self, client: httpx2.Client, path: str) -> None:
        self._client = client
        self._path = path
        self._news = threading.Condition()
        self._seen: dict[tuple[str, str], Any] = {}
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    def wait(self, turn: str, kind: str) -> Any:
        """Return the first event of that kind (or `draft`) in a turn; raise TimeoutError or RuntimeError."""
        with self._news:
            if not self._news.wait_for(lambda: self._failure or (turn, kind) in self._seen, WAIT_SECONDS):
                message = f"no {kind} came in turn {turn} within {WAIT_SECONDS:.0f} s"
                raise TimeoutError(message)
            if (turn, kind) not in self._seen:
                message = f"the stream of events broke: {self._failure!r}"
                raise RuntimeError(message)
            return self._seen.pop((turn, kind))

    def close(self) -> None:
        """End the stream."""
        self._client.close()
        self._thread.join(WAIT_SECONDS)

    def _run(self) -> None:
        try:
            with self._client.stream("GET", self._path, headers={"Accept": "text/event-stream"}) as response:
                for event in httpx2.EventSource(response, max_event_size=None):
                    self._tell(event.event, event.json() if event.data else None)
        except Exception as failure:  # noqa: BLE001 - of any kind: whoever waits is told
            with self._news:
                self._failure = failure
                self._news.notify_all()

    def _tell(self, name: str, data: Any) -> None:
        if data is None:
            return
        if name == "problem":
            raise RuntimeError(data)
        kind = name if name == "draft" else data["kind"]
        with self._news:
            self._seen.setdefault((data["turn"], kind), data)
            self._news.notify_all()
