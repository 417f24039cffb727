"""Every stop reason that exists so far can be produced from outside and yields its exit code (the contract's table)."""

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.acceptance.host import Host
from tests.scripted_model import Call, Fail, Hang, Reply, Rubbish, ScriptedModel, Step

WRITE = Call("write_file", {"path": "a.txt", "content": "x"})
SHELL = Call("shell", {"command": "touch asked; exit 3"})
OUTSIDE = Call("read_file", {"path": "/etc/passwd"})
LONG = Call("shell", {"command": "touch started; sleep 60"})
SLOW = Call("shell", {"command": "touch slow; sleep 30", "timeout_seconds": 1})


SMALL = """
[host]
listen = "127.0.0.1:0"
[models.main]
provider = "openai"
base_url = "{url}"
model = "scripted"
[groups.main]
"""


def script(model: ScriptedModel, word: str, steps: Sequence[Step], *, loop: bool = False) -> None:
    """Answer requests that hold `word` with `steps`."""
    model.when(lambda request: word in last_words(request), *steps, loop=loop)


def last_words(request: dict[str, Any]) -> str:
    """Return what a person said last in a request; earlier turns of the group do not count."""
    said = [message["content"] for message in request["messages"] if message["role"] == "user"]
    return next((text for text in reversed(said) if not text.startswith("[")), "")


TABLE: list[tuple[int, str, str, list[Step], bool]] = [
    (0, "", "main", [Reply(calls=[WRITE]), Reply(text="done")], False),
    (10, "protocol_violation", "main", [Rubbish("<html>hello</html>", content_type="text/html")] * 4, False),
    (11, "budget_exhausted", "brief", [Reply(calls=[WRITE]), Reply(calls=[WRITE]), Reply(text="two steps")], False),
    (13, "approval_timeout", "brief", [Reply(calls=[SHELL]), Reply(text="nobody")], False),
    (17, "secret_missing", "keyless", [Reply(text="never asked")], False),
    (18, "policy_violation", "denied", [Reply(calls=[WRITE]), Reply(text="I may not")], False),
    (19, "path_violation", "main", [Reply(calls=[OUTSIDE]), Reply(text="no")], False),
    (22, "silent_failure", "main", [Reply(text="")], True),
    (23, "no_progress", "main", [Reply(calls=[Call("list_files", {})])], True),
    (24, "model_unavailable", "main", [Fail(status=401)], False),
    (25, "tool_failed", "main", [Reply(calls=[Call("read_file", {"path": "none"})]), Reply(text="gone")], False),
]


@pytest.mark.clause("REPLY-6")
@pytest.mark.parametrize(("code", "reason", "group", "steps", "loop"), TABLE, ids=[row[1] for row in TABLE])
def test_a_turn_that_ends_so_exits_so(  # noqa: PLR0917 - the columns of the table
    host: Host, model: ScriptedModel, code: int, reason: str, group: str, steps: list[Step], loop: bool
) -> None:
    """`elis ask --json` prints the reason and exits with its code."""
    word = f"row-{reason or 'success'}"
    script(model, word, steps, loop=loop)
    exit_code, answer = host.ask(group, word)
    assert (exit_code, answer["reason"] or "") == (code, reason), answer
    assert answer["outcome"] == ("success" if code == 0 else answer["outcome"])
    assert set(answer) == {
        "turn",
        "outcome",
        "reason",
        "reply",
        "usage",
        "first_seq",
        "last_seq",
        "steered",
        "verified",
    }


def answered(host: Host, model: ScriptedModel, word: str, steps: list[Step], verdict: str) -> tuple[int, str]:
    """Ask, answer the question that comes up on the command line, and return exit code and reason."""
    script(model, word, steps)
    asking = host.start("ask", "second", word, "--json")
    host.run(verdict, host.question("second")["id"])
    out, err = asking.communicate(timeout=60)
    assert "approve" in err or "allow" in err or "elis" in err
    return asking.returncode, json.loads(out)["reason"]


@pytest.mark.clause("APR-3")
def test_a_refusal_exits_policy_violation(host: Host, model: ScriptedModel) -> None:
    """A person said no."""
    assert answered(host, model, "row-no", [Reply(calls=[SHELL]), Reply(text="refused")], "deny") == (
        18,
        "policy_violation",
    )


@pytest.mark.clause("APR-3")
def test_a_command_that_fails_exits_tool_failed(host: Host, model: ScriptedModel) -> None:
    """It ran and its exit code was 3."""
    assert answered(host, model, "row-exit", [Reply(calls=[SHELL]), Reply(text="failed")], "approve") == (
        25,
        "tool_failed",
    )


@pytest.mark.clause("APR-3")
def test_a_command_that_takes_too_long_exits_timed_out(host: Host, model: ScriptedModel) -> None:
    """Its own time-out ended it."""
    assert answered(host, model, "row-slow", [Reply(calls=[SLOW]), Reply(text="too slow")], "approve") == (
        26,
        "timed_out",
    )


@pytest.mark.clause("STOP-1")
def test_a_stopped_turn_exits_interrupted(host: Host, model: ScriptedModel) -> None:
    """`elis stop` in another terminal."""
    script(model, "row-stop", [Hang()])
    asking = host.start("ask", "second", "row-stop", "--json")
    host.wait(lambda: any(b"row-stop" in request.body for request in model.requests))
    stopped = host.run("stop", "second", "--json")
    out, _ = asking.communicate(timeout=60)
    assert (asking.returncode, json.loads(out)["reason"]) == (21, "interrupted")
    assert json.loads(stopped.stdout)["turns"] == [json.loads(out)["turn"]]


@pytest.mark.clause("REC-1")
def test_a_command_whose_outcome_nobody_knows_exits_unknown(host: Host, model: ScriptedModel) -> None:
    """The group's process died while the command ran; it is not run again, and the waiting command line survives."""
    script(model, "row-unknown", [Reply(calls=[LONG]), Reply(text="I cannot tell")])
    asking = host.start("ask", "second", "row-unknown", "--json")
    host.run("approve", host.question("second")["id"])
    started = host.home / "groups" / "second" / "workspace" / "started"
    host.wait(started.exists)
    psutil.Process(host.group("second")["view"]["pid"]).kill()
    out, err = asking.communicate(timeout=90)
    assert (asking.returncode, json.loads(out)["reason"]) == (29, "unknown"), err
    host.wait_awake()


@pytest.mark.clause("TURN-2", "OPS-5")
def test_a_journal_that_cannot_be_written_exits_audit_failure_and_recovers(
    host: Host, model: ScriptedModel, tmp_path: Path
) -> None:
    """The disk fills up in the middle of a turn: the caller is told, and the event is entered once there is room."""
    if os.geteuid() != 0:
        pytest.skip("a file system of a few megabytes can be mounted by root only")
    small = Host(tmp_path / "elis", SMALL.format(url=model.base_url))
    folder = small.home / "groups" / "main"
    folder.mkdir(parents=True, mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs", str(folder)], check=True)
    going = threading.Event()
    try:
        script(model, "row-full", [Reply(text="never told", chunks=2, pause=going), Reply(text="there is room")])
        small.up()
        asking = small.start("ask", "main", "row-full", "--json")
        small.wait(lambda: any(b"row-full" in request.body for request in model.requests))
        with contextlib.suppress(OSError), (folder / "ballast").open("wb", buffering=0) as ballast:
            while ballast.write(bytes(4096)):
                pass
        going.set()
        out, err = asking.communicate(timeout=60)
        assert (asking.returncode, json.loads(out)["reason"]) == (16, "audit_failure"), err
        (folder / "ballast").unlink()
        code, answer = small.ask("main", "row-full again")
        assert (code, answer["reply"]) == (0, "there is room")
        ended = small.get(f"/groups/main/turns/{json.loads(out)['turn']}")
        assert [event["data"]["reason"] for event in ended if event["kind"] == "turn_ended"] == ["audit_failure"]
    finally:
        small.down()
        small.end()
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_waiting_that_takes_too_long_exits_timed_out_and_the_turn_goes_on(host: Host, model: ScriptedModel) -> None:
    """`--timeout` ends the waiting only."""
    going = threading.Event()
    script(model, "row-patience", [Reply(text="later", chunks=2, pause=going)])
    code, answer = host.ask("second", "row-patience", "--timeout", "6")
    assert (code, answer["reason"]) == (26, "timed_out")
    going.set()
    host.wait(lambda: host.get(f"/groups/second/turns/{answer['turn']}")[-1]["kind"] == "turn_ended")


@pytest.mark.clause("APR-4")
def test_an_unattended_turn_that_parks_exits_13(host: Host, model: ScriptedModel) -> None:
    """The outcome says parked."""
    script(model, "row-park", [Reply(calls=[SHELL]), Reply(text="after all")])
    code, answer = host.ask("second", "row-park", "--unattended")
    assert (code, answer["outcome"]) == (13, "parked")
    host.run("deny", host.question("second")["id"], "--reason", "not today")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ask", "nobody", "hello"), 1),
        (("approve", "a-none"), 1),
        (("journal", "main", "show", "t-none"), 1),
        (("group", "show", "nobody"), 1),
        (("ask", "main"), 2),
    ],
)
def test_unknown_names_exit_1_and_wrong_usage_2(host: Host, arguments: Sequence[str], code: int) -> None:
    """Scripts can tell a slip from a failure."""
    assert host.run(*arguments).returncode == code


def test_without_a_host_commands_exit_15(tmp_path_factory: pytest.TempPathFactory) -> None:
    """And say how to start one."""
    done = Host(tmp_path_factory.mktemp("home") / "elis", "").run("status")
    assert done.returncode == 15
    assert "elis up" in done.stderr


def test_a_second_host_on_the_same_home_exits_15(host: Host) -> None:
    """The lock names the first one's process."""
    done = host.run("up")
    assert done.returncode == 15
    assert host.process is not None
    assert str(host.process.pid) in done.stderr


def test_a_setting_that_is_wrong_exits_1_and_names_the_key(tmp_path_factory: pytest.TempPathFactory) -> None:
    """And the nearest valid one."""
    done = Host(tmp_path_factory.mktemp("home") / "elis", '[groups.main]\nmodle = "main"\n').run("up")
    assert done.returncode == 1
    assert "modle" in done.stderr
    assert "model" in done.stderr


def test_a_setting_that_is_not_enforced_yet_exits_27(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A key that restricts is refused, not ignored."""
    settings = "[groups.main.browser]\nallow = []\n"
    done = Host(tmp_path_factory.mktemp("home") / "elis", settings).run("up")
    assert done.returncode == 27
    assert "browser" in done.stderr
