"""The panel without a token: it opens to nobody rather than to everybody."""

import pytest

from host.errors import SettingsError
from host.panel.app import build_app
from host.panel.listen import check_listen
from host.panel.sessions import Sessions
from host.record.host_record import HostMemory
from tests.integration.panel.fake_directory import FakeDirectory


@pytest.mark.clause("PAN-2")
@pytest.mark.parametrize("token", ["", "  ", "short"])
def test_a_panel_is_not_built_with_a_token_that_anybody_can_send(token: str) -> None:
    """Whoever calls it with what an empty file held learns of it before a door is open."""
    record = HostMemory(lambda: 0)
    with pytest.raises(SettingsError, match="token"):
        build_app(
            FakeDirectory(),
            Sessions(record, lambda: 0),
            token=token,
            site=check_listen("127.0.0.1:0"),
            record=record,
            now_us=lambda: 0,
        )
