"""What a person is told on standard error while `elis ask` waits."""

import io

import pytest

from host.cli.meanwhile import Meanwhile
from host.cli.screen import Screen
from host.groups.port import EventView


@pytest.mark.clause("REPLY-6")
@pytest.mark.parametrize("quiet", [False, True])
def test_why_a_turn_failed_is_told_with_the_way_out(*, quiet: bool) -> None:
    """Also beside JSON, which has the reason alone; a success says nothing more."""
    err = io.StringIO()
    with Meanwhile(Screen(file=err, terminal=False), "main", quiet=quiet) as meanwhile:
        for reason, detail in ((None, ""), ("unsupported", "the charter is not UTF-8; save it as UTF-8")):
            data = {"reason": reason, "detail": detail}
            meanwhile.event(EventView(seq=1, at="", turn="t", kind="turn_ended", data=data))
    assert err.getvalue().strip() == "the charter is not UTF-8; save it as UTF-8"
