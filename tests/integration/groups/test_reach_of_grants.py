"""What a standing answer does not reach: the same words under something else that decides what they do (APR-1)."""

import pytest

from tests.integration.groups.stage import Stage
from tests.integration.groups.test_grants import allow, asked, deny
from tests.scripted_model import Call, Reply


@pytest.mark.parametrize(
    ("given", "other"),
    [
        ("echo 'print(1)' | python3 -", 'echo \'open("pwned", "w")\' | python3 -'),
        ("python3 - <<'E'\nprint(1)\nE", "python3 - <<'E'\nopen('pwned', 'w')\nE"),
        ("cd a && touch made", "cd b && touch made"),
        ("cd a && touch made", "touch made"),
        ("touch made", "export PATH=evil; touch made"),
    ],
)
@pytest.mark.clause("APR-1")
async def test_a_target_is_all_that_decides_what_a_command_does(stage: Stage, given: str, other: str) -> None:
    """Program text, folders and variables belong to it."""
    for folder in ("a", "b"):
        (stage.workspace / folder).mkdir(parents=True)
    await allow(stage, await asked(stage, given), "target")
    assert await asked(stage, given) is None
    await deny(stage, await asked(stage, other))
    assert not (stage.workspace / "pwned").exists()


@pytest.mark.clause("APR-1")
async def test_the_folder_that_a_command_is_started_in_belongs_to_its_target(stage: Stage) -> None:
    """Whether it is given beside the command or entered by it."""
    (stage.workspace / "a").mkdir(parents=True)
    await allow(stage, await asked(stage, "cd a && touch made"), "target")
    for arguments, covered in (
        ({"command": "touch made", "cwd": "a"}, True),
        ({"command": "touch made", "cwd": "."}, False),
        ({"command": "cd a && touch made", "cwd": "a"}, False),
    ):
        stage.model.script(Reply(calls=[Call("shell", arguments)]), Reply(text="done"))
        placement = await stage.say()
        event = await stage.until(
            lambda event: event.kind in {"approval_asked", "turn_ended"} and event.turn != "", placement.after_seq
        )
        assert (event.kind == "turn_ended") is covered, arguments
        if not covered:
            await deny(stage, await stage.question())


@pytest.mark.clause("APR-1")
async def test_what_is_not_known_is_for_once(stage: Stage) -> None:
    """Program text from elsewhere, a computed folder: neither this target nor what lies under it is on offer."""
    for command in ("cat prog | python3 -", 'cd "$(cat where)" && touch made'):
        question = await asked(stage, command)
        assert question is not None
        assert "target" not in question.scopes, command
        assert "under" not in question.scopes, command
        await deny(stage, question)


@pytest.mark.clause("APR-1")
async def test_under_is_the_same_command_and_options_with_other_plain_operands(stage: Stage) -> None:
    """Whatever option is added, it is asked about."""
    question = await asked(stage, "git init -q one")
    assert question is not None
    assert question.covers["under"] == ("execute:command:git init -q *",)
    await allow(stage, question, "under")
    assert await asked(stage, "git init -q two") is None
    for command in ("git init two", "git init -q --template=evil two", "git init -q two --bare", "git init -q ../two"):
        await deny(stage, await asked(stage, command))


@pytest.mark.clause("APR-1", "POL-9")
async def test_what_was_granted_out_of_a_shell_runs_by_itself_and_not_with_raised_rights(stage: Stage) -> None:
    """The inner command is what counts, and `sudo` asks each time."""
    await allow(stage, await asked(stage, "/bin/zsh -lc 'mkdir -p made'"), "target")
    assert await asked(stage, "mkdir -p made") is None
    for command in ("/bin/zsh -lc 'rm x'", "sudo mkdir -p made", "mkdir -p made | tee log"):
        await deny(stage, await asked(stage, command))


@pytest.mark.clause("APR-5")
async def test_only_what_may_be_granted_is_suggested(stage: Stage) -> None:
    """Program text that nobody knows before is none of it, however often it was approved."""
    (stage.workspace).mkdir(parents=True, exist_ok=True)
    (stage.workspace / "prog").write_text("")
    for _ in range(3):
        await allow(stage, await asked(stage, "cat prog | python3 -"))
    assert await stage.group.suggestions() == ()
    for number in range(3):
        await allow(stage, await asked(stage, f"cd . && touch made{number}"))
    (suggestion,) = await stage.group.suggestions()
    assert (suggestion.scope, suggestion.covers) == ("under", ("execute:command:touch *",))
