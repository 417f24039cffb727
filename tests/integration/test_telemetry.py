"""Logs on a real disk: one JSON object a line, masked, rotated, and never in the way of the host."""

import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import structlog

from host import telemetry
from host.config.home import Home
from host.vault.masking import Masker


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Give the root logger back as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in list(root.handlers):
        if handler not in handlers:
            root.removeHandler(handler)
            handler.close()
    root.setLevel(level)
    structlog.reset_defaults()


def lines(file: Path) -> list[dict[str, Any]]:
    """Return what was logged."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def masked(data: Any) -> Any:
    """Stand in for the vault's masker."""
    match data:
        case str():
            return data.replace("SHIBBOLETH", "«secret:x»")
        case dict():
            return {name: masked(value) for name, value in cast("dict[str, Any]", data).items()}
        case list():
            return [masked(value) for value in cast("list[object]", data)]
        case _:
            return data


@pytest.mark.clause("OPS-6")
def test_our_own_and_foreign_records_are_json_lines_with_ids(tmp_path: Path) -> None:
    """Whoever logs, a line can be filtered by level, time, logger and the ids that were bound."""
    file = tmp_path / "logs" / "host.log"
    telemetry.configure(file, human=False)
    with structlog.contextvars.bound_contextvars(turn="t1"):
        structlog.get_logger("elis.a").info("started", group="main")
        logging.getLogger("some.library").warning("odd %s", "thing")
    first, second = lines(file)
    assert (first["event"], first["group"], first["turn"], first["level"]) == ("started", "main", "t1", "info")
    assert (second["event"], second["logger"], second["turn"]) == ("odd thing", "some.library", "t1")
    assert all(line["timestamp"].endswith("Z") for line in (first, second))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.clause("MASK-1")
def test_secrets_are_masked_in_words_fields_and_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing leaves unmasked: not nested fields, not the trace of an exception, not a library's words."""
    file = tmp_path / "host.log"
    telemetry.configure(file, masked)
    log = structlog.get_logger("elis.a")
    try:
        int("SHIBBOLETH")
    except ValueError:
        log.exception("SHIBBOLETH failed", data={"a": ["SHIBBOLETH", 1, None]}, path=Path("/SHIBBOLETH"))
    logging.getLogger("lib").error("no SHIBBOLETH", extra={"more": "SHIBBOLETH"})
    text = file.read_text(encoding="utf-8") + capsys.readouterr().err
    assert "SHIBBOLETH" not in text
    first, second = lines(file)
    assert first["data"] == {"a": ["«secret:x»", 1, None]}
    assert "ValueError: invalid literal for int() with base 10: '«secret:x»'" in first["exception"]
    assert second["more"] == "«secret:x»"


@pytest.mark.clause("MASK-1", "OPS-6")
def test_as_the_host_configures_it_what_looks_like_a_secret_is_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the vault's own masker: the kind is told, the value nowhere, and what is no secret stays as it is."""
    home = Home(root=tmp_path / "home")
    home.prepare()
    telemetry.configure(home.logs / "host.log", Masker().tree)
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    logging.getLogger("lib").warning("refused %s", secret, extra={"sent": {"key": secret, "times": 3}})
    text = (home.logs / "host.log").read_text(encoding="utf-8") + capsys.readouterr().err
    (line,) = lines(home.logs / "host.log")
    assert secret not in text
    assert line["event"].startswith("refused «masked:")
    assert line["sent"]["times"] == 3


def test_a_second_call_replaces_the_first(tmp_path: Path) -> None:
    """Nothing is logged twice."""
    telemetry.configure(tmp_path / "a.log", human=False)
    telemetry.configure(tmp_path / "b.log", human=False)
    structlog.get_logger("elis").info("once")
    assert lines(tmp_path / "a.log") == []
    assert len(lines(tmp_path / "b.log")) == 1


def test_a_file_that_grew_is_put_aside(tmp_path: Path) -> None:
    """A host that runs for months does not fill the disk."""
    file = tmp_path / "host.log"
    telemetry.configure(file, human=False)
    log = structlog.get_logger("elis")
    for _ in range(6):
        log.info("x" * 1_000_000)
    assert (tmp_path / "host.log.1").exists()
    assert file.stat().st_size < telemetry.LARGEST_BYTES


def test_a_log_that_cannot_be_written_does_not_stop_the_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard error says so and serves instead."""
    (tmp_path / "file").write_text("")
    telemetry.configure(tmp_path / "file" / "host.log", human=False)
    structlog.get_logger("elis").info("still here")
    err = capsys.readouterr().err
    assert "cannot be written" in err
    assert "still here" in err
