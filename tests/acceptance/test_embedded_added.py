"""The embedded model is started when a group that needs it comes, also long after the host's start (LANE-4, OPS-1)."""

from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.acceptance.host import BOUND, Host, hosted
from tests.scripted_model import Reply, ScriptedModel

SETTINGS = """
[host]
listen = "127.0.0.1:0"
[models.main]
provider = "openai"
base_url = "{url}"
model = "scripted"
[models.small]
provider = "embedded"
[groups.main]
"""


def embedded(host: Host) -> dict[str, Any]:
    """Return what the host says of the embedded model."""
    service: dict[str, Any] = next(one for one in host.status()["host"]["services"] if one["name"] == "embedded model")
    return service


def children(host: Host) -> list[psutil.Process]:
    """Return the processes that serve the embedded model."""
    return [child for child in host.processes() if "host.services.embedded_model" in child.cmdline()]


@pytest.mark.clause("LANE-4", "OPS-1")
@pytest.mark.timeout(300)
def test_the_first_group_that_needs_the_embedded_model_has_it_started(tmp_path: Path) -> None:
    """None runs before; two groups that come at once share one process and answer; it ends with the host."""
    with ScriptedModel() as model, hosted(tmp_path / "elis", SETTINGS.format(url=model.base_url)) as host:
        model.respond(lambda _request, _index: Reply(text="here"))
        assert (embedded(host)["state"], children(host)) == ("off", [])
        adding = [host.start("group", "add", name, "--model", "small") for name in ("one", "two")]
        said = [added.communicate(timeout=BOUND) for added in adding]
        assert [added.returncode for added in adding] == [0, 0], said
        host.wait_awake()
        assert embedded(host)["state"] == "running"
        (child,) = children(host)
        for name in ("one", "two"):
            code, told = host.ask(name, "Say hello.")
            assert (code, told["outcome"]) == (0, "success"), told
            assert told["reply"].strip()
        assert host.ask("main", "still here?")[0] == 0
    assert not child.is_running()
