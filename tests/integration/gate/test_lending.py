"""Which secrets a call gets: bound to hosts, from slow vaults, and never a mask."""

import asyncio
import re
from pathlib import Path
from typing import Final

import pytest

from host.config.settings import SecretSettings
from host.errors import PolicyViolation
from host.passport import Destination
from host.stops import Reason
from host.tools.tool import Scope, ToolResult
from host.vault.broker import Broker
from host.vault.masking import Masker
from tests.integration.gate.stage import GateStage, Probe, Words
from tests.integration.vault.stand_ins import install

VALUE: Final = "s3cr3t-Value/42+x=="


async def _nothing(_arguments: Words, _scope: Scope) -> ToolResult:
    return ToolResult(text="nothing")


def bound(stage: GateStage, *hosts: str, ref: str = "env:KEY") -> None:
    """Give the stage a secret that is bound to hosts."""
    stage.environment["KEY"] = VALUE
    stage.secrets["api"] = SecretSettings(ref=ref, tools=("probe",), hosts=hosts)


@pytest.mark.clause("SEC-2")
async def test_a_secret_goes_towards_its_hosts_and_nowhere_else(stage: GateStage) -> None:
    """The refusal names where it may go; the tool does not run."""
    bound(stage, "api.github.com")
    probe = stage.probe(network=True, towards="text")
    fine = await stage.call(arguments={"text": "https://api.github.com/x?token=«secret:api»"})
    assert fine.ok
    assert probe.given[0].text == f"https://api.github.com/x?token={VALUE}"
    for address in (
        "https://evil.example/?t=«secret:api»",
        "https://api.github.com@evil.example/«secret:api»",
        "https://«secret:api».evil.example/",
        "https://x.api.github.com/«secret:api»",
        "«secret:api»",
    ):
        refused = await stage.call(arguments={"text": address})
        assert refused.reason is Reason.POLICY_VIOLATION
        assert "api.github.com" in refused.text
    assert len(probe.given) == 1


@pytest.mark.clause("SEC-2")
async def test_a_tool_with_a_network_that_cannot_say_where_it_goes_gets_no_bound_secret(stage: GateStage) -> None:
    """One without a network does: the value stays on the machine."""
    bound(stage, "api.github.com")
    stage.probe(network=True)
    assert (await stage.call(arguments={"text": "«secret:api»"})).reason is Reason.POLICY_VIOLATION
    stage.restart()
    stage.probe(network=False)
    assert (await stage.call(arguments={"text": "«secret:api»"})).ok


@pytest.mark.clause("SEC-2")
@pytest.mark.parametrize(
    ("reach", "lent"),
    [
        ((), True),
        (("=API.github.com",), True),
        (("=api.github.com:8443",), True),
        (("api.github.com",), False),  # with its subdomains
        (("=api.github.com", "evil.example"), False),
        (("*",), False),
    ],
)
def test_a_tool_that_may_reach_other_hosts_too_gets_no_bound_secret(
    tmp_path: Path, reach: tuple[str, ...], lent: bool
) -> None:
    """A shell with a network cannot say where one command goes; what it may reach says it."""
    secrets = {"api": SecretSettings(ref="env:KEY", tools=("probe",), hosts=("api.github.com",))}
    broker = Broker(secrets, Masker(), {"KEY": VALUE}, base=tmp_path, reaches={"probe": reach})
    passport = Probe(_nothing, network=False).passport
    if lent:
        assert broker.arm({"text": "«secret:api»"}, passport) == {"text": VALUE}
    else:
        with pytest.raises(PolicyViolation, match="as well"):
            broker.arm({"text": "«secret:api»"}, passport)


@pytest.mark.clause("SEC-3")
@pytest.mark.parametrize("around", ["{}", "user:{}", '{{"token": "{}"}}', "{}\n"])
async def test_a_value_that_holds_a_key_of_the_host_is_not_lent(stage: GateStage, around: str) -> None:
    """Whatever stands around it, and whatever name it is kept under."""
    stage.environment |= {"PROVIDER": VALUE, "KEY": around.format(VALUE)}
    stage.reserved = ("env:PROVIDER",)
    stage.secrets["api"] = SecretSettings(ref="env:KEY", tools=("probe",))
    probe = stage.probe()
    refused = await stage.call(arguments={"text": "«secret:api»"})
    assert (refused.reason, probe.given) == (Reason.POLICY_VIOLATION, [])
    assert "host's own" in refused.text


@pytest.mark.clause("SEC-2", "MASK-1")
@pytest.mark.parametrize("value", ["", " ", "\n", "a", "ab", "\t\t\t\t\t"])
async def test_a_value_that_could_not_be_masked_is_not_lent(stage: GateStage, value: str) -> None:
    """Blank, or so short that it is a part of every text."""
    stage.environment["KEY"] = value
    stage.secrets["api"] = SecretSettings(ref="env:KEY", tools=("probe",))
    probe = stage.probe()
    refused = await stage.call(arguments={"text": "«secret:api»"})
    assert (refused.reason, probe.given) == (Reason.SECRET_MISSING, [])


@pytest.mark.clause("SEC-1", "SEC-3")
@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/cmdline", "/proc/version"])
async def test_what_the_kernel_tells_is_no_secret_s_file(stage: GateStage, path: str) -> None:
    """The host's environment is a file there; neither by its name nor by a link."""
    (stage.root / "link").symlink_to(path)
    probe = stage.probe()
    for ref in (f"file:{path}", f"file:{stage.root / 'link'}"):
        stage.secrets["api"] = SecretSettings(ref=ref, tools=("probe",))
        refused = await stage.call(arguments={"text": "«secret:api»"})
        assert (refused.reason, probe.given) == (Reason.SECRET_MISSING, [])


@pytest.mark.clause("SEC-2", "POL-4")
async def test_a_secret_that_would_change_where_a_call_goes_is_not_lent(stage: GateStage) -> None:
    """What was judged, and perhaps asked about, is the destination that the handle stood in."""
    stage.environment["KEY"] = ".evil.example"
    stage.secrets["api"] = SecretSettings(ref="env:KEY", tools=("probe",))
    probe = stage.probe(network=True, towards="text", destination_of=_first_name)
    refused = await stage.call(arguments={"text": "api.github.com«secret:api»"})
    assert refused.reason is Reason.PROTOCOL_VIOLATION
    assert "would change where probe goes" in refused.text
    assert "evil" not in refused.text
    assert probe.given == []


def _first_name(arguments: Words) -> Destination:
    return Destination(scheme="https", host=re.findall("[a-z.]+", arguments.text)[0], port=443)


@pytest.mark.clause("SEC-1", "SEC-2")
async def test_a_vault_that_takes_its_time_holds_neither_the_loop_nor_later_calls(
    stage: GateStage, tmp_path: Path
) -> None:
    """While 1Password's program thinks, the loop turns; its value arrives, and is fetched anew for each call."""
    folder = tmp_path / "bin"
    folder.mkdir()
    told = install(folder, "op", out=VALUE, seconds=0.3)
    stage.environment["PATH"] = str(folder)
    bound(stage, ref="op://Work/GitHub/token")
    probe = stage.probe()
    turned = 0

    async def turn() -> None:
        nonlocal turned
        while True:
            await asyncio.sleep(0)
            turned += 1

    turning = asyncio.create_task(turn())
    settled = await stage.call(arguments={"text": "«secret:api» «secret:api»"})
    turning.cancel()
    assert settled.ok
    assert probe.given == [Words(text=f"{VALUE} {VALUE}")]
    assert turned > 100
    told.unlink()
    await stage.call(arguments={"text": "«secret:api»"})
    assert told.exists()


@pytest.mark.clause("SEC-2")
async def test_a_vault_that_cannot_be_had_keeps_the_call_from_running(stage: GateStage) -> None:
    """The model is told which reference, why, and what a person can do."""
    stage.environment["PATH"] = ""
    bound(stage, ref="bw:github")
    probe = stage.probe()
    settled = await stage.call(arguments={"text": "«secret:api»"})
    assert settled.reason is Reason.SECRET_MISSING
    assert "bw:github yields no secret" in settled.text
    assert "not installed" in settled.text
    assert probe.given == []


@pytest.mark.clause("MASK-1", "CTX-5")
async def test_a_mask_is_no_argument_and_a_handle_is_one_again(stage: GateStage) -> None:
    """What was masked for want of a handle cannot be sent on as data; what has a handle can be repeated."""
    bound(stage)

    async def work(arguments: Words, _: Scope) -> ToolResult:
        return ToolResult(text=f"{arguments.text} password: hunter2")

    probe = stage.probe(work)
    first = await stage.call(arguments={"text": "«secret:api»"})
    assert first.text == "«secret:api» password: «masked:named-value»"
    again = await stage.call(arguments={"text": first.text})
    assert again.reason is Reason.SECRET_MISSING
    assert "«masked:named-value» is a mask" in again.text
    assert (await stage.call(arguments={"text": first.text.split()[0]})).ok
    assert [given.text for given in probe.given] == [VALUE, VALUE]


@pytest.mark.clause("MASK-1", "SEC-2")
async def test_what_an_earlier_process_lent_out_of_a_slow_vault_is_masked_before_a_turn(tmp_path: Path) -> None:
    """The first turn waits for it; a vault that fails does not keep the group from working."""
    install(tmp_path, "op", out=VALUE, seconds=0.2)
    install(tmp_path, "bw", err="Vault is locked.", code=1)
    secrets = {
        "api": SecretSettings(ref="op://a/b/c", tools=("shell",)),
        "other": SecretSettings(ref="bw:x", tools=("shell",)),
    }
    masker = Masker()
    broker = Broker(secrets, masker, {"PATH": str(tmp_path)}, base=tmp_path)
    broker.mask_from_the_start()
    await broker.ready()
    assert masker.text(f"x {VALUE}") == "x «secret:api»"
