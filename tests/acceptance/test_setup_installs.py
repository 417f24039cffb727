"""deploy/setup on a copy of the checkout: interrupted, twice at once, and again without a network."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("a2a", "browser", "deploy", "host", "lanes", "memory", "pyproject.toml", "README.md", "LICENSE")
BOUND_SECONDS = 400.0  # packages that are not in uv's cache yet are downloaded
NOWHERE = "http://127.0.0.1:9"


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return an environment with an empty home, and the settings that this machine downloads by."""
    kept = ("PATH", "PIP_CERT", "PIP_INDEX_URL", "PIP_FIND_LINKS", "SSL_CERT_FILE", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
    proxies = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    found = {name: os.environ[name] for name in (*kept, *proxies) if name in os.environ}
    cache = os.environ.get("UV_CACHE_DIR", str(Path("~/.cache/uv").expanduser()))
    return {**found, "HOME": str(home), "UV_CACHE_DIR": cache, **more}


def start(checkout: Path, settings: dict[str, str]) -> subprocess.Popen[str]:
    """Start the set-up from a foreign folder, in a process group of its own."""
    return subprocess.Popen(
        ["sh", checkout / "deploy" / "setup", "run"],
        env=settings,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end; return code and output."""
    out, _ = process.communicate(timeout=BOUND_SECONDS)
    return process.returncode, out


def wait_for(path: Path) -> None:
    """Wait until `path` exists."""
    until = time.monotonic() + BOUND_SECONDS
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not appear"
        os.sched_yield()


@pytest.mark.timeout(900)
def test_a_set_up_survives_interruption_and_company_and_then_needs_no_network(tmp_path: Path) -> None:
    """Killed in the middle it is made anew; two at once make one; the next start downloads nothing."""
    checkout = tmp_path / "my checkout"
    checkout.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, checkout / name)
    home = tmp_path / "home"
    home.mkdir()
    killed = start(checkout, environment(home))
    wait_for(checkout / ".venv" / "elis-unfinished")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=BOUND_SECONDS)
    assert not (checkout / ".venv" / "elis-stamp").exists()

    both = [ended(process) for process in [start(checkout, environment(home)) for _ in range(2)]]
    assert [code for code, _ in both] == [0, 0], both
    said = "".join(out for _, out in both)
    assert said.count("installing Python packages") == 1
    assert "making .venv anew" in said

    alone = environment(home, http_proxy=NOWHERE, https_proxy=NOWHERE, UV_CACHE_DIR=str(tmp_path / "empty"))
    code, out = ended(start(checkout, alone))
    assert code == 0, out
    assert "installing" not in out
    elis = subprocess.run(
        [checkout / ".venv" / "bin" / "elis", "doctor", "--faults"],
        env=alone,
        cwd="/",
        capture_output=True,
        check=False,
        timeout=BOUND_SECONDS,
    )
    assert elis.returncode == 0, elis.stderr
    assert list((checkout / "host").glob("__pycache__/*.pyc"))
