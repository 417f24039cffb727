"""The environment the peers run in: made once from their hash-pinned lock, kept in the user's cache, never in .venv.

Where it cannot be made (no uv, no network) the bench says so and goes on without peers.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

LOCK: Final = Path(__file__).with_name("requirements.lock")
MAKE_SECONDS: Final = 600


class NoEnvironment(Exception):
    """The peers' environment cannot be made; the message says why and what to do."""


def peers_python() -> Path:
    """Return the Python that has the peers, made on first use; raise NoEnvironment."""
    digest = hashlib.blake2b(LOCK.read_bytes() + sys.version.encode(), digest_size=6).hexdigest()
    folder = _cache() / f"bench-peers-{digest}"
    python, complete = folder / "bin" / "python", folder / "complete"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two benches at once make it once
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, python)
            complete.touch()
    return python


def _make(folder: Path, python: Path) -> None:
    print(f"making the peers' environment in {folder} (once)", file=sys.stderr)
    uv = _uv()
    _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
    options = ["--quiet", "--require-hashes", "--compile-bytecode", "--python", str(python)]
    _run([uv, "pip", "install", *options, "-r", str(LOCK)])


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAKE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"`{' '.join(command)}` did not come to its end: {error}"
        raise NoEnvironment(message) from error
    if done.returncode:
        message = f"`{' '.join(command)}` failed:\n{done.stderr.strip()}\nIt needs a package registry once; then none."
        raise NoEnvironment(message)


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        message = "there is no uv beside this Python nor on PATH; `sh deploy/test` brings one"
        raise NoEnvironment(message)
    return found


def _cache() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elis"
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir())
    return cache
