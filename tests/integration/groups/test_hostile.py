"""Two hundred and forty steps of a hostile model; `python -m tests.integration.groups.hostile` makes a thousand."""

from pathlib import Path

import pytest

from tests.integration.groups.hostile import Siege


@pytest.mark.clause("POL-6", "BOX-1", "BOX-2", "BOX-5", "PATH-1", "PATH-3", "SEC-2")
async def test_a_hostile_model_gets_nothing_out_of_bounds(tmp_path: Path) -> None:
    """It knows every tool and every rule, and nobody answers its questions."""
    siege = Siege(tmp_path, seed=4711)
    assert await siege.run(240) == []
    assert siege.attacker.tried.total() >= 150
    ran = {answer for answer in siege.answers if answer.endswith(" ran")}
    assert {"box__run ran", "box__python ran", "install_package ran", "read_file ran"} <= ran
