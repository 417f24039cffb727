"""The way on which data could leave without a question, and the one setting that closes it."""

from typing import Any

import msgspec
import pytest

from host.config.settings import GroupSettings
from host.policy.leak import leak_of

NETWORK = {"network": ["example.org"]}


def leak(policy: dict[str, Any], sandbox: dict[str, Any]) -> str:
    """Return the setting that closes the way of a group with these settings; nothing where none is open."""
    switches = {name: policy[name] for name in policy if name == "everything"}
    choices = {name: policy[name] for name in policy if name != "everything"}
    settings = msgspec.convert({"policy": {"choices": choices, **switches}, "sandbox": sandbox}, GroupSettings)
    found = leak_of("main", settings, settings.policy)
    return found.closes if found else ""


@pytest.mark.clause("POL-8")
@pytest.mark.parametrize(
    ("policy", "sandbox", "closes"),
    [
        ({}, {}, ""),
        ({"send": "allow", "execute": "allow"}, {}, ""),
        ({}, NETWORK, ""),
        ({"send": "allow"}, NETWORK, '[groups.main.policy] send = "ask"'),
        ({"http": "allow"}, NETWORK, '[groups.main.policy] http = "ask"'),
        ({"http": "ask", "send": "allow"}, NETWORK, ""),
        ({"http": "allow", "send": "deny"}, NETWORK, ""),
        ({"execute": "allow"}, NETWORK, '[groups.main.policy] execute = "ask"'),
        ({"shell": "allow"}, NETWORK, '[groups.main.policy] shell = "ask"'),
        ({"shell": "allow", "send": "allow"}, NETWORK, "[groups.main.sandbox] network = []"),
        ({"everything": "allow"}, NETWORK, '[groups.main.policy] everything = "ask"'),
        ({"everything": "allow", "read": "deny"}, NETWORK, ""),
        ({"send": "allow"}, {"backend": "none"}, '[groups.main.policy] send = "ask"'),
        ({"shell": "allow"}, {"backend": "none"}, ""),
    ],
)
def test_the_way_is_named_with_what_closes_it(policy: dict[str, Any], sandbox: dict[str, Any], closes: str) -> None:
    """Three things together make it; taking one away closes it."""
    assert leak(policy, sandbox) == closes


@pytest.mark.clause("POL-8")
@pytest.mark.parametrize("policy", [{"send": "allow"}, {"execute": "allow"}, {"everything": "allow"}])
def test_the_named_setting_does_close_it(policy: dict[str, str]) -> None:
    """Set as it says, no way is open."""
    word = leak(policy, NETWORK).split("] ")[1].split(" = ")[0]
    assert leak({**policy, word: "ask"}, NETWORK) == ""
