"""Fixtures of this room: a scripted model, and a group on a stage."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.groups.stage import Stage
from tests.scripted_model import ScriptedModel


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model."""
    server = ScriptedModel()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def stage(tmp_path: Path, model: ScriptedModel) -> Iterator[Stage]:
    """A stage with the default settings; change them before the group is first used."""
    staged = Stage(tmp_path, model)
    yield staged
    staged.close()
