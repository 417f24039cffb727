"""Fixtures of this room: one host for all tests that do not break it."""

from collections.abc import Iterator

import pytest

from tests.acceptance.host import Host, hosted
from tests.scripted_model import ScriptedModel

GROUPS = """
[host]
listen = "127.0.0.1:0"

[models.main]
provider = "openai"
base_url = "{url}"
model = "scripted"

[models.keyless]
provider = "openai"
base_url = "{url}"
model = "scripted"
api_key = "env:ELIS_TEST_NO_SUCH_KEY"

[groups.main]

[groups.second]

[groups.denied.policy]
write = "deny"

[groups.brief]
model = "main"
[groups.brief.budget]
steps = 2
[groups.brief.approvals]
timeout_seconds = 0.5

[groups.keyless]
model = "keyless"

"""


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedModel]:
    """The model of the shared host; each test scripts what its own words get (`ScriptedModel.when`)."""
    server = ScriptedModel()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel) -> Iterator[Host]:
    """The shared host."""
    home = tmp_path_factory.mktemp("home") / "elis"
    with hosted(home, GROUPS.format(url=model.base_url)) as running:
        yield running
