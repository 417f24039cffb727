"""Six kills at random instants; `python -m tests.acceptance.kills` runs fifty."""

from pathlib import Path

import pytest

from tests.acceptance.kills import Chaos


@pytest.mark.clause("REC-1", "REC-5")
@pytest.mark.timeout(400)
def test_work_goes_on_after_kill_9_of_every_process(tmp_path: Path) -> None:
    """Actor, supervisor, raylet and model die in turn; every turn ends once and no effect happens twice."""
    chaos = Chaos(tmp_path / "elis", seed=20261130)
    chaos.run(6)
    assert chaos.killed.total() == 6
    assert chaos.check() == []
