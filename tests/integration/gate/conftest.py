"""Fixtures of this room."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.gate.stage import GateStage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[GateStage]:
    """A gate with the default policy and the catalogue's tools."""
    staged = GateStage(tmp_path)
    yield staged
    staged.close()
