"""A hundred and fifty steps of a hostile model; `python -m tests.integration.groups.hostile` makes a thousand."""

from pathlib import Path

import pytest

from tests.integration.groups.hostile import Siege


@pytest.mark.clause("POL-6", "BOX-1", "BOX-2", "PATH-1", "SEC-2")
async def test_a_hostile_model_gets_nothing_out_of_bounds(tmp_path: Path) -> None:
    """It knows every tool and every rule, and nobody answers its questions."""
    siege = Siege(tmp_path, seed=4711)
    assert await siege.run(150) == []
    assert siege.attacker.tried >= 95
