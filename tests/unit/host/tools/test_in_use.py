"""What is known of programs that run, or are being started, so that all of them can be ended."""

import pytest

from host.tools.child import InUse


@pytest.mark.clause("STOP-1")
def test_an_end_that_comes_while_a_program_is_started_is_not_lost() -> None:
    """It happens as soon as it is known how; what is started afterwards is not meant."""
    in_use, ended = InUse(), list[str]()
    with in_use.starting() as early:
        in_use.kill_all()
        assert ended == []
        early.ended_by(lambda: ended.append("early"))
        assert ended == ["early"]
    with in_use.starting() as late:
        late.ended_by(lambda: ended.append("late"))
        assert ended == ["early"]
        in_use.kill_all()
        assert ended == ["early", "late"]
    in_use.kill_all()
    assert ended == ["early", "late"]
