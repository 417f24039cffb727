"""Secrets in the system's keyring: a real Secret Service over D-Bus, and what may go wrong with one."""

import contextlib
import socket
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from host.errors import SecretMissing
from host.vault.references import resolve
from host.vault.safe import Safe
from tests.integration.vault.secret_service import BOUND_SECONDS, lock, secret_service

VALUE = "s3cr3t-Välue/42+x==\nand a second line"


@pytest.fixture(scope="module")
def service() -> Generator[dict[str, str]]:
    """An unlocked Secret Service."""
    with secret_service() as environment:
        yield environment


@pytest.mark.clause("SEC-1", "SEC-2")
def test_what_is_stored_in_the_keyring_comes_back_as_it_was(service: dict[str, str], tmp_path: Path) -> None:
    """Letters and lines stay; a second value replaces the first; status tells no more than that it is there."""
    safe = Safe({"github": "keyring:elis/github/work"}, service, base=tmp_path)
    assert [each.status for each in safe.status()] == ["missing"]
    for value in ("first", VALUE):
        stored = safe.put("github", value)
        assert (stored.status, stored.detail) == ("present", "")
    assert resolve("keyring:elis/github/work", service, base=tmp_path) == VALUE
    assert VALUE not in repr(safe.status())


@pytest.mark.clause("SEC-2")
def test_an_entry_that_is_not_there_is_told_with_the_command_that_stores_one(
    service: dict[str, str], tmp_path: Path
) -> None:
    """Cause and remedy."""
    with pytest.raises(SecretMissing, match=r"keyring:elis/none yields no secret: .*no such entry; `elis secrets set"):
        resolve("keyring:elis/none", service, base=tmp_path)


@pytest.mark.clause("SEC-2")
def test_a_locked_keyring_is_told_from_a_missing_entry(tmp_path: Path) -> None:
    """Neither reading nor storing waits for a person who is not there."""
    with secret_service() as environment:
        safe = Safe({"github": "keyring:elis/github"}, environment, base=tmp_path)
        safe.put("github", VALUE)
        lock(environment)
        with pytest.raises(SecretMissing, match="the keyring is locked; unlock it"):
            resolve("keyring:elis/github", environment, base=tmp_path)
        with pytest.raises(SecretMissing, match="the keyring is locked; unlock it"):
            safe.put("github", "other")


@pytest.mark.clause("SEC-2")
def test_a_machine_without_a_keyring_says_so(tmp_path: Path) -> None:
    """No bus, or a bus that nobody is at."""
    for address in ({}, {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path / 'none'}"}):
        environment = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **address}
        with pytest.raises(SecretMissing, match="has no keyring for the host's user; start one"):
            resolve("keyring:elis/github", environment, base=tmp_path)


@contextlib.contextmanager
def silent_bus(folder: Path) -> Generator[dict[str, str]]:
    """Give the environment of a bus that takes calls and never answers."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "bus"))
        listening.listen()
        yield {"HOME": str(folder), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder / 'bus'}"}


@pytest.mark.clause("SEC-2")
def test_a_bus_that_hangs_does_not_hold_the_host(tmp_path: Path) -> None:
    """The child that waits there is ended at the bound."""
    with silent_bus(tmp_path) as environment:
        began = time.monotonic()
        with pytest.raises(SecretMissing, match=r"did not answer within 0\.5 s; unlock it"):
            resolve("keyring:elis/github", environment, base=tmp_path, seconds=0.5)
        assert time.monotonic() - began < BOUND_SECONDS


def test_the_library_is_not_imported_on_the_host_s_side() -> None:
    """It would look for keyrings, also over D-Bus, at import."""
    assert "keyring" not in sys.modules
