"""Whole turns of a group whose files and commands are on another machine: a real sshd on loopback (BOX-3)."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from host.config.settings import GroupSettings, PolicySettings, SandboxSettings, SecretSettings
from host.passport import Decision
from host.tools.trash import FOLDER as TRASH
from tests.integration.groups.stage import Stage
from tests.integration.tools.far_machine import HOST, FarMachine, machine, running, until
from tests.scripted_model import Call, Reply, ScriptedModel

__all__ = ["machine"]

ALLOW: Final = PolicySettings(choices={"execute": Decision.ALLOW})
SECRET: Final = "a-value-of-some-length-77"
SLEEP: Final = Call("shell", {"command": "(setsid sleep 4811 &) ; (sleep 4811 & ) ; sleep 4811"})


@pytest.fixture
def far(machine: FarMachine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The root on the other machine, whose `ssh` comes first on the host's path."""
    monkeypatch.setenv("PATH", str(machine.programs), prepend=":")
    root = machine.top / tmp_path.name
    root.mkdir()
    return root


@pytest.fixture
def stage(tmp_path: Path, model: ScriptedModel, far: Path) -> Iterator[Stage]:
    """A group that works there."""
    settings = GroupSettings(policy=ALLOW, sandbox=SandboxSettings(backend="ssh", host=HOST, root=str(far)))
    staged = Stage(tmp_path, model, settings)
    yield staged
    staged.close()


def told(stage: Stage) -> list[str]:
    """Return what the model was told of its calls."""
    messages: list[dict[str, Any]] = stage.model.requests[-1].json["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


def at_home(stage: Stage) -> list[str]:
    """Return what lies in the workspace on this machine."""
    return [path.name for path in stage.workspace.rglob("*") if path.is_file()]


@pytest.mark.clause("BOX-3")
async def test_a_turn_writes_runs_and_reads_on_the_other_machine_alone(stage: Stage, far: Path) -> None:
    """File tools and commands see the same files; the workspace here stays empty."""
    stage.model.script(
        Reply(calls=[Call("write_file", {"path": "sum.py", "content": "print(40 + 2)\n"})]),
        Reply(calls=[Call("shell", {"command": "python3 sum.py | tee answer; pwd"})]),
        Reply(calls=[Call("read_file", {"path": "answer"}), Call("list_files", {})]),
        Reply(calls=[Call("read_file", {"path": "/etc/passwd"})]),
        Reply(text="done"),
    )
    ended = await stage.ask()
    assert ended.data["reply"] == "done"
    wrote, ran, read, listed, refused = told(stage)
    assert "wrote sum.py" in wrote
    assert f"42\n{far}" in ran
    assert "answer, 1 line:\n42" in read
    assert "sum.py 14" in listed
    assert "lies outside the workspace" in refused
    assert (far / "answer").read_text() == "42\n"
    assert (far / TRASH).is_dir()
    assert at_home(stage) == []
    assert f"on the machine {HOST}, in the folder {far}" in str(stage.model.requests[-1].json["tools"])


@pytest.mark.clause("BOX-3", "STOP-2")
async def test_stop_ends_what_runs_on_the_other_machine(stage: Stage) -> None:
    """All of it, and the lane is free at once."""
    stage.model.script(Reply(calls=[SLEEP]))
    placement = await stage.say()
    await until(lambda: len(running("sleep 4811")) == 3)
    asked = time.monotonic()
    await stage.group.stop("", all_lanes=False, by="test")
    took = time.monotonic() - asked
    await until(lambda: not running("sleep 4811"))
    assert (await stage.ended(placement)).data["reason"] == "interrupted"
    assert took < 1.0


@pytest.mark.clause("BOX-3")
async def test_without_the_other_machine_the_tools_say_why_and_the_group_goes_on(
    stage: Stage, far: Path, machine: FarMachine
) -> None:
    """Nothing runs here instead; when the machine is there again, so are the tools."""
    known = machine.known_hosts.read_text()
    machine.known_hosts.write_text("")
    script = [
        Reply(calls=[Call("shell", {"command": "touch ran"}), Call("write_file", {"path": "w", "content": "x"})]),
        Reply(text="it cannot be reached"),
    ]
    stage.model.script(*script)
    try:
        ended = await stage.ask()
    finally:
        machine.known_hosts.write_text(known)
    assert ended.data["reply"] == "it cannot be reached"
    assert all("compare the key's fingerprint" in text for text in told(stage))
    assert at_home(stage) == []
    assert not (far / "ran").exists()
    await stage.idle()
    stage.model.script(script[0], Reply(text="there it is"))
    assert (await stage.ask()).data["reply"] == "there it is"
    assert (far / "ran").exists()
    machine.cut_all()
    await stage.idle()
    stage.model.script(Reply(calls=[Call("read_file", {"path": "w"})]), Reply(text="and again"))
    assert (await stage.ask()).data["reply"] == "and again"
    assert "w, 1 line:\nx" in told(stage)[-1]


@pytest.mark.clause("BOX-3", "SEC-2")
async def test_a_secret_reaches_a_command_there_but_no_file(
    stage: Stage, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes over the line, in the memory of the processes that need it; one bound to hosts is not lent at all."""
    monkeypatch.setenv("TOKEN_FOR_TEST", SECRET)
    monkeypatch.setenv("BOUND_FOR_TEST", SECRET + "-bound")
    stage.secrets = {
        "token": SecretSettings(ref="env:TOKEN_FOR_TEST", tools=("shell",)),
        "bound": SecretSettings(ref="env:BOUND_FOR_TEST", tools=("shell",), hosts=("api.example.org",)),
    }
    compare = "test '«secret:token»' = \"$(echo 77-htgnel-emos-fo-eulav-a | rev)\""
    look = f"{compare} && echo right; cat /proc/$$/cmdline"
    stage.model.script(
        Reply(calls=[Call("shell", {"command": look})]),
        Reply(calls=[Call("shell", {"command": "echo «secret:bound»"})]),
        Reply(text="done"),
    )
    await stage.ask()
    ran, refused = told(stage)
    assert "right" in ran
    assert "any host" in refused
    for path in [*far.rglob("*"), *stage.workspace.rglob("*")]:
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


@pytest.mark.clause("BOX-3", "POL-8")
@pytest.mark.parametrize("command", ["touch made", "cat ~/.profile"])
async def test_commands_there_ask_unless_a_person_allowed_them(stage: Stage, far: Path, command: str) -> None:
    """Also those that only read: no sandbox bounds what they may read there."""
    stage.settings = msgspec.structs.replace(stage.settings, policy=PolicySettings())
    stage.model.script(Reply(calls=[Call("shell", {"command": command})]), Reply(text="done"))
    placement = await stage.say()
    waiting = await stage.question()
    assert waiting.tool == "shell"
    (checked,) = await stage.group.check_commands((command,))
    assert checked.verdict == "ask"
    assert not (far / "made").exists()
    await stage.group.stop("", all_lanes=False, by="test")
    await stage.ended(placement)
