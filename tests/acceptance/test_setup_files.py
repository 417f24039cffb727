"""What the files of the set-up promise without being run: pins, hashes, no registry's name, no machine's path."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SCRIPTS = [DEPLOY / "run", DEPLOY / "test", DEPLOY / "setup", DEPLOY / "lock", DEPLOY / "ocr", ROOT / ".ci" / "run"]
LOCKS = sorted(DEPLOY.glob("*.lock"))
REGISTRIES = re.compile(r"(pypi|pythonhosted|debian\.org|ubuntu\.com|npmjs|conda|ghcr\.io|docker\.io)", re.IGNORECASE)


def pins(lock: Path) -> dict[str, str]:
    """Return name → version of a lock."""
    found = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", lock.read_text(), re.MULTILINE)
    return {name.lower(): version for name, version in found}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_plain_shell_and_executable(script: Path) -> None:
    """They are run by whatever sh a machine has."""
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    assert script.read_text().startswith("#!/bin/sh\n")
    assert script.stat().st_mode & 0o111


@pytest.mark.parametrize("path", [*SCRIPTS, *LOCKS, ROOT / "pyproject.toml"], ids=lambda path: path.name)
def test_no_file_names_a_registrys_host_or_a_place_on_a_machine(path: Path) -> None:
    """Where packages come from is the machine's own setting."""
    text = path.read_text()
    assert not REGISTRIES.search(text)
    assert not re.search(r"(?<![\w.$}\"])/(home|root|work|Users)/", text)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_requirement_of_a_lock_has_hashes(lock: Path) -> None:
    """Nothing is installed that is not pinned to its bytes."""
    text = lock.read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert lines
    assert all("==" in line and "--hash=sha256:" in line for line in lines)


def test_the_locks_fit_together() -> None:
    """What is tested is what is run; the model is one line; what installs is pinned too."""
    requirements, test = pins(DEPLOY / "requirements.lock"), pins(DEPLOY / "test.lock")
    assert requirements.items() <= pins(DEPLOY / "ocr.lock").items() <= test.items()
    assert len((DEPLOY / "model.lock").read_text().splitlines()) == 1
    assert set(pins(DEPLOY / "bootstrap.lock")) == {"uv", "setuptools"}


def test_every_dependency_of_the_project_is_in_the_lock() -> None:
    """A dependency that was added without its lock would be missing on the next machine."""
    project = (ROOT / "pyproject.toml").read_text()
    wanted = re.findall(r'^    "([A-Za-z0-9_.-]+)[><=]', project.partition("[tool.")[0], re.MULTILINE)
    locked = {name.replace("_", "-") for name in pins(DEPLOY / "test.lock")}
    assert wanted
    assert {name.lower().replace("_", "-") for name in wanted} <= locked
