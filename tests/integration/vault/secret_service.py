"""A real Secret Service of a test's own: gnome-keyring on a private bus, with all of its files in one folder."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

import pytest

BOUND_SECONDS: Final = 30.0
_BUS: Final = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


@contextlib.contextmanager
def secret_service() -> Generator[dict[str, str]]:
    """Run one, unlocked; give the environment in which it is found."""
    for program in ("dbus-daemon", "gnome-keyring-daemon"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing: apt-get install dbus gnome-keyring")
    # Not pytest's folder: the path of a socket ends at 107 bytes.
    with tempfile.TemporaryDirectory(prefix="elis-keyring-") as name, contextlib.ExitStack() as ends:
        folder = Path(name)
        (folder / "bus.conf").write_text(_BUS.format(socket=folder / "bus"), encoding="utf-8")
        environment = {
            "HOME": name,
            "PATH": os.environ["PATH"],
            "XDG_RUNTIME_DIR": name,
            "XDG_DATA_HOME": f"{name}/data",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder / 'bus'}",
        }
        bus = ["dbus-daemon", f"--config-file={folder / 'bus.conf'}", "--nofork", "--nopidfile"]
        ends.enter_context(_running(bus, environment, b""))
        _wait((folder / "bus").is_socket)
        keyring = ["gnome-keyring-daemon", "--foreground", "--components=secrets", "--unlock"]
        ends.enter_context(_running(keyring, environment, b"opens the keyring"))
        _wait(lambda: _owned(environment))
        yield environment


def lock(environment: dict[str, str]) -> None:
    """Lock every collection, as the end of a person's session does."""
    service = "org.freedesktop.secrets"
    _call(
        environment,
        service,
        "/org/freedesktop/secrets",
        "org.freedesktop.Secret.Service.Lock",
        "array:objpath:/org/freedesktop/secrets/collection/login",
    )


def _owned(environment: dict[str, str]) -> bool:
    bus = "org.freedesktop.DBus"
    said = _call(environment, bus, "/", f"{bus}.NameHasOwner", "string:org.freedesktop.secrets")
    return "true" in said


def _call(environment: dict[str, str], *words: str) -> str:
    destination, path, method, *arguments = words
    argv = ["dbus-send", "--session", "--print-reply", f"--dest={destination}", path, method, *arguments]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)
    return done.stdout


@contextlib.contextmanager
def _running(argv: list[str], environment: dict[str, str], given: bytes) -> Generator[None]:
    process = subprocess.Popen(
        argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.close()
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(done: Callable[[], bool]) -> None:
    until = time.monotonic() + BOUND_SECONDS
    while not done():
        assert time.monotonic() < until, "the Secret Service did not come up"
        time.sleep(0.02)  # another process can only be looked at
