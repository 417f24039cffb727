"""A host as its user has it: the installed command in a process of its own, over a home of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import psutil

from host.groups.ray_folder import RayFolder

ELIS = Path(sys.executable).with_name("elis")
BOUND = 90.0  # seconds; the one bound on every wait: Ray alone needs up to 20 on a busy machine


class Host:
    """One home, and the host that may run on it."""

    def __init__(self, home: Path, settings: str, environment: Mapping[str, str] | None = None) -> None:
        """Write `settings` as elis.toml; `environment` is added to what the commands get."""
        self.home = home
        self.process: subprocess.Popen[str] | None = None
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / "elis.toml").write_text(settings, encoding="utf-8")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home.parent),
            "ELIS_HOME": str(home),
            "LANG": "C.UTF-8",
            **(environment or {}),
        }

    def up(self, *, faults: str = "") -> None:
        """Start the host and wait until all its groups answer."""
        environment = self.environment | ({"ELIS_FAULTS": faults} if faults else {})
        log = (self.home / "up.log").open("a", encoding="utf-8")
        self.process = subprocess.Popen(
            [str(ELIS), "up"],
            env=environment,
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        log.close()
        self.wait_awake()

    def wait_awake(self) -> None:
        """Wait until every group is awake."""
        self.wait(lambda: all(group["view"]["state"] == "awake" for group in self.status()["groups"]))

    def wait(self, done: Any) -> None:
        """Wait until `done()` is true; what the host refuses meanwhile counts as not yet."""
        until = time.monotonic() + BOUND
        while time.monotonic() < until:
            with contextlib.suppress(OSError, httpx2.HTTPError, KeyError):
                if done():
                    return
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"the host ended: {(self.home / 'up.log').read_text()}")
            time.sleep(0.05)  # another process can only be looked at
        raise AssertionError(f"waited {BOUND} s in vain: {(self.home / 'up.log').read_text()[-2000:]}")

    def status(self) -> dict[str, Any]:
        """Return the host's status."""
        status: dict[str, Any] = self.get("/status")
        return status

    def group(self, name: str) -> dict[str, Any]:
        """Return a group's entry of the status."""
        entry: dict[str, Any] = next(entry for entry in self.status()["groups"] if entry["view"]["name"] == name)
        return entry

    def get(self, path: str) -> Any:
        """Return the JSON of an API call."""
        answer = httpx2.get(self.url(path), headers=self.headers(), timeout=30, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, body: Any) -> httpx2.Response:
        """Return the answer of an API call."""
        return httpx2.post(self.url(path), headers=self.headers(), json=body, timeout=60, trust_env=False)

    def url(self, path: str) -> str:
        """Return the address of an API route."""
        address = (self.home / "run" / "address").read_text(encoding="ascii").strip()
        return f"http://{address}/api/v1{path}"

    def headers(self) -> dict[str, str]:
        """Return what an API call needs."""
        return {"Authorization": f"Bearer {(self.home / 'token').read_text().strip()}"}

    def run(self, *arguments: str, timeout: float = BOUND) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        return subprocess.run(
            [str(ELIS), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start one command."""
        return subprocess.Popen(
            [str(ELIS), *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, group: str, text: str, *options: str) -> tuple[int, dict[str, Any]]:
        """Ask a group and return exit code and JSON."""
        done = self.run("ask", group, text, "--json", *options)
        assert done.stdout.strip(), done.stderr
        return done.returncode, json.loads(done.stdout)

    def question(self, group: str) -> dict[str, Any]:
        """Wait for a question of a group and return it."""
        found: list[dict[str, Any]] = []

        def asked() -> bool:
            found[:] = [question for question in self.get("/approvals") if question["group"] == group]
            return bool(found)

        self.wait(asked)
        return found[0]

    def processes(self) -> list[psutil.Process]:
        """Return the host's process and all its descendants."""
        if self.process is None:
            return []
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(self.process.pid)
            return [root, *root.children(recursive=True)]
        return []

    def pid_of(self, name: str) -> int:
        """Return the process whose command contains `name`."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if name in " ".join(process.cmdline()):
                    return process.pid
        raise AssertionError(f"no process {name!r}")

    def kill(self) -> None:
        """Kill the host's own process with -9."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(BOUND)
        self.process = None

    def down(self) -> int:
        """Stop the host in order; return its exit code."""
        if self.process is None:
            return 0
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(BOUND)
        self.process = None
        return code

    def end(self) -> None:
        """Leave nothing running, whatever happened."""
        left = self.processes()
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=10)
        RayFolder(self.home).remove()


@contextlib.contextmanager
def hosted(home: Path, settings: str, environment: Mapping[str, str] | None = None) -> Generator[Host]:
    """Give a running host, and leave nothing of it."""
    host = Host(home, settings, environment)
    try:
        host.up()
        yield host
        assert host.down() == 0, (home / "up.log").read_text()
    finally:
        host.end()
