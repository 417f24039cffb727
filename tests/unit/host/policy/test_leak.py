"""The way on which data could leave without a question, and the one setting that closes it."""

from typing import Any

import msgspec
import pytest

from host.config.settings import GroupSettings
from host.policy.leak import leak_of

NETWORK = {"network": ["example.org"]}


def leak(
    policy: dict[str, Any], sandbox: dict[str, Any], servers: tuple[str, ...] = (), granted: tuple[str, ...] = ()
) -> str:
    """Return what closes the way of a group with these settings and grants; nothing where none is open."""
    switches = {name: policy[name] for name in policy if name == "everything"}
    choices = {name: policy[name] for name in policy if name != "everything"}
    settings = msgspec.convert({"policy": {"choices": choices, **switches}, "sandbox": sandbox}, GroupSettings)
    grants = {key: f"g{number}" for number, key in enumerate(granted)}
    found = leak_of("main", settings, settings.policy, servers=servers, granted=grants)
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
        ({}, {"backend": "ssh"}, ""),
        ({"shell": "allow"}, {"backend": "ssh"}, '[groups.main.policy] shell = "ask"'),
        ({"send": "allow"}, {"backend": "ssh"}, '[groups.main.policy] send = "ask"'),
        ({"everything": "allow"}, {}, '[groups.main.policy] everything = "ask"'),
        (
            {"send": "allow", "shell": "allow"},
            {"backend": "ssh"},
            '[groups.main.policy] send = "ask" and [groups.main.policy] shell = "ask"',
        ),
    ],
)
def test_the_way_is_named_with_what_closes_it(policy: dict[str, Any], sandbox: dict[str, Any], closes: str) -> None:
    """Three things together make it; taking one away closes it."""
    assert leak(policy, sandbox) == closes


@pytest.mark.clause("POL-8")
@pytest.mark.parametrize(
    ("policy", "closes"),
    [
        ({}, ""),
        ({"hub__post": "allow"}, '[groups.main.policy] hub__post = "ask"'),
        ({"hub__post": "allow", "destroy": "deny"}, ""),
        ({"other__post": "allow"}, ""),
        ({"destroy": "allow"}, '[groups.main.policy] destroy = "ask"'),
    ],
)
def test_tools_of_tool_servers_are_a_way_out(policy: dict[str, Any], closes: str) -> None:
    """What they tell comes from outside, and what they are told leaves; no network of the group is needed."""
    assert leak(policy, {}, servers=("hub",)) == closes


@pytest.mark.clause("POL-8")
@pytest.mark.parametrize(
    ("key", "policy", "sandbox", "open_"),
    [
        ("kind:http:send", {}, NETWORK, True),
        ("kind:http:send", {}, {}, False),
        ("kind:http:send", {"send": "deny"}, NETWORK, False),
        ("kind:shell:execute", {}, NETWORK, True),
        ("kind:shell:execute", {}, {}, False),
        ("kind:hub__post:destroy", {}, {}, True),
        ("kind:read_file:read", {}, NETWORK, False),
        ("send:host:.example.org", {}, {}, True),
        ("execute:command:make all", {}, NETWORK, False),
    ],
)
def test_a_standing_answer_can_open_the_way(
    key: str, policy: dict[str, Any], sandbox: dict[str, Any], open_: bool
) -> None:
    """And is what has to be taken back."""
    assert leak(policy, sandbox, servers=("hub",), granted=(key,)) == ("elis grants main --revoke g0" if open_ else "")


@pytest.mark.clause("POL-8")
@pytest.mark.parametrize("policy", [{"send": "allow"}, {"execute": "allow"}, {"everything": "allow"}])
def test_the_named_setting_does_close_it(policy: dict[str, str]) -> None:
    """Set as it says, no way is open."""
    word = leak(policy, NETWORK).split("] ")[1].split(" = ")[0]
    assert leak({**policy, word: "ask"}, NETWORK) == ""
