"""Secrets kept in files: 0600 is enforced, and what was checked is what is read."""

import os
from pathlib import Path

import pytest

from host.errors import SecretMissing
from host.vault.missing import LARGEST_BYTES
from host.vault.references import resolve


def secret(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    """A file with a secret."""
    path = folder / "key"
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize("reference", ["file:key", "file:{}/key"])
def test_a_file_s_value_comes_without_its_last_line_break(tmp_path: Path, reference: str) -> None:
    """Relative paths start at the host's home; lines inside stay."""
    secret(tmp_path, b"first\nsecond\r\n")
    assert resolve(reference.format(tmp_path), {}, base=tmp_path) == "first\nsecond"


@pytest.mark.clause("SEC-1")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o610])
def test_a_file_that_others_may_touch_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    """The message names the mode and the command; the value is not read."""
    secret(tmp_path, b"value", mode)
    with pytest.raises(SecretMissing, match=rf"{mode:04o}.*chmod 600"):
        resolve("file:key", {}, base=tmp_path)


@pytest.mark.clause("SEC-2")
@pytest.mark.parametrize(
    ("content", "cause"),
    [(b"", "empty"), (b"\n", "empty"), (b"\xff\xfe", "no UTF-8"), (b"x" * (LARGEST_BYTES + 1), "longer than")],
)
def test_a_file_without_a_usable_value_names_reference_and_cause(tmp_path: Path, content: bytes, cause: str) -> None:
    """An empty, binary or endless file is no secret."""
    secret(tmp_path, content)
    with pytest.raises(SecretMissing, match=f"file:key yields no secret: .*{cause}"):
        resolve("file:key", {}, base=tmp_path)


@pytest.mark.clause("SEC-2")
def test_what_is_no_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    """A folder, nothing at all, and a pipe that nobody writes to."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    for name in ("pipe", "folder", "nothing"):
        with pytest.raises(SecretMissing, match=f"file:{name}"):
            resolve(f"file:{name}", {}, base=tmp_path)
