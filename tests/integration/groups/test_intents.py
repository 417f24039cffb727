"""A refused intent is not asked about again in other words (APR-2): by any tool, command by command."""

import pytest

from host.config.settings import ApprovalSettings, GroupSettings, PolicySettings
from host.passport import Decision
from tests.integration.groups.stage import Stage
from tests.integration.groups.test_grants import shell
from tests.scripted_model import Call, Reply


async def questions(stage: Stage, *calls: Call) -> list[str]:
    """Let the model make the calls one after the other in one turn, refuse whatever is asked; return what was."""
    stage.model.script(*(Reply(calls=[call]) for call in calls), Reply(text="done"))
    placement = await stage.say()
    asked: list[str] = []
    seq = placement.after_seq
    while True:
        event = await stage.until(lambda event: event.kind in {"approval_asked", "turn_ended"}, seq)
        seq = event.seq
        if event.kind == "turn_ended":
            return asked
        asked.append(str(event.data["arguments"].get("command", event.data["arguments"].get("path"))))
        await stage.group.settle(event.data["approval"], verdict="denied", by="operator", text="not that")


@pytest.mark.parametrize(
    "again",
    [
        "touch  pwned",
        "bash -c 'touch pwned'",
        "ls; touch pwned",
        "cd . && touch pwned",
        "cd x && touch ../pwned",
        "/usr/bin/touch pwned",
        "touch ./pwned",
        "touch /workspace/pwned",
        "touch x/../pwned",
        "touch pwned && touch other",
        "touch other || t'o'uch pwned",
        "echo pwned | xargs touch",
        "touch pwned > log",
        "CC=x timeout 3 env A=b touch pwned",
        "export A=b; touch pwned",
        "sudo touch pwned",
        "touch pwned; $x",
        "f() { touch pwned; }; f",
        "touch -c pwned",
        "touch -- pwned",
        "touch --no-create -m pwned",
        "timeout 5 touch -a -- pwned",
        "setarch x86_64 touch -am pwned",
        "touch pwned -c",
    ],
)
@pytest.mark.clause("APR-2")
async def test_a_refused_command_gets_the_same_answer_wherever_it_stands(stage: Stage, again: str) -> None:
    """Its real name and its operands are the intent; nothing around them makes it another."""
    assert await questions(stage, shell("touch pwned"), shell(again)) == ["touch pwned"]


@pytest.mark.parametrize(
    ("refused", "other"),
    [
        ("touch pwned", "touch pwned2"),
        ("touch pwned", "mkdir pwned"),
        ("touch pwned", "cd x && touch pwned"),
        ("sudo touch pwned", "touch pwned"),
        ("touch pwned; $x", "touch pwned"),
        ("python3 - <<'E'\nprint(1)\nE", "python3 - <<'E'\nprint(2)\nE"),
        ("make > log", "echo x > log"),
        ("touch pwned", "touch -- -pwned"),
        ("python3 -c 'print(1)'", "python3 -c 'print(2)'"),
        ("perl -e'unlink(1)'", "perl -e'unlink(2)'"),
    ],
)
@pytest.mark.clause("APR-2")
async def test_another_intent_is_asked_about(stage: Stage, refused: str, other: str) -> None:
    """Also what the model was told to try instead: without raised rights, in plain commands."""
    assert await questions(stage, shell(refused), shell(other)) == [refused, other]


@pytest.mark.clause("APR-2")
async def test_each_command_of_a_refused_text_was_refused(stage: Stage) -> None:
    """But not those of a text that was refused because of one of them."""
    calls = [shell("touch a && touch b"), shell("touch c; touch b"), shell("touch a"), shell("touch c")]
    assert await questions(stage, *calls) == ["touch a && touch b", "touch c"]


WRITE = Call("write_file", {"path": "a.txt", "content": "x"})


@pytest.mark.parametrize(
    ("refused", "other", "same"),
    [
        (WRITE, shell("echo x > a.txt"), True),
        (WRITE, shell("echo x >> ./a.txt"), True),
        (WRITE, shell("echo x | tee a.txt"), True),
        (WRITE, shell("touch b > a.txt"), True),
        (WRITE, shell("cd b && echo x > ../a.txt"), True),
        (WRITE, Call("write_file", {"path": "/workspace/./a.txt", "content": "y"}), True),
        (WRITE, shell("echo x > b.txt"), False),
        (shell("echo x > a.txt"), WRITE, True),
        (shell("cat <<E | tee ./a.txt\nx\nE"), WRITE, True),
        (shell("echo x > b.txt"), WRITE, False),
    ],
)
@pytest.mark.clause("APR-2")
async def test_a_refused_write_is_one_for_file_tools_and_redirections_alike(
    stage: Stage, refused: Call, other: Call, *, same: bool
) -> None:
    """Either way round; `tee` counts as a redirection."""
    stage.settings = GroupSettings(policy=PolicySettings(choices={"write": Decision.ASK}))
    assert len(await questions(stage, refused, other)) == (1 if same else 2)


@pytest.mark.clause("APR-2")
async def test_the_folder_a_command_is_started_in_belongs_to_its_intent(stage: Stage) -> None:
    """Given beside the command or within it."""
    inside = Call("shell", {"command": "touch pwned", "cwd": "sub"})
    (stage.workspace / "sub").mkdir(parents=True)
    assert await questions(stage, inside, shell("touch sub/pwned"), shell("touch pwned")) == ["touch pwned"] * 2


@pytest.mark.clause("APR-2")
async def test_an_unanswered_command_is_not_asked_about_again_in_other_words(stage: Stage) -> None:
    """Nobody answers the second time either; it is told so, and that it was no refusal."""
    stage.settings = GroupSettings(approvals=ApprovalSettings(timeout_seconds=0.2))
    again = shell("ls; /usr/bin/touch ./pwned > log")
    stage.model.script(Reply(calls=[shell("touch pwned")]), Reply(calls=[again]), Reply(text="done"))
    ended = await stage.ask()
    events = await stage.group.turn_events(ended.turn)
    assert sum(event.kind == "approval_asked" for event in events) == 1
    refused = [event.data for event in events if event.kind == "call_refused"]
    assert [each["reason"] for each in refused] == ["approval_timeout"] * 2
    assert refused[1]["rule"] == "same-intent"
