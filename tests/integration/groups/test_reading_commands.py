"""Commands that run unasked because they only read: what they were talked into by files has no effect (POL-5, BOX-1).

Programs take orders from files: git from the repository, pagers and shells from a home. A model writes files unasked.
"""

import subprocess
from pathlib import Path

import pytest

from host.config.settings import FolderSettings, GroupSettings, SandboxSettings
from host.tools.paths import HOME
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply

OWNED = "echo owned | tee /workspace/owned /workspace/notes/owned"


def repository(folder: Path) -> None:
    """Make a repository whose configuration runs programs when one only looks."""
    git = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@x"]
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "tracked.txt").write_text("one\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first words"], check=True)
    (folder / "tracked.txt").write_text("two\n")
    (folder / ".gitattributes").write_text("*.txt diff=mine\n")
    with (folder / ".git" / "config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "{OWNED}; false"\npager = "{OWNED}"\n')
        config.write(f'[diff "mine"]\ntextconv = "{OWNED}; cat"\n')


@pytest.fixture
def planted(stage: Stage, tmp_path: Path) -> Stage:
    """A group whose workspace, the home of old, is full of such files; it has a folder to write in as well."""
    notes = tmp_path / "notes"
    notes.mkdir()
    stage.settings = GroupSettings(
        folders={"notes": FolderSettings(path=str(notes), mode="write")},
        sandbox=SandboxSettings(network=("example.org",)),
    )
    workspace = stage.workspace
    workspace.mkdir(parents=True)
    (workspace / "seen.txt").write_text("seen\n")
    (workspace / ".gitconfig").write_text(f'[core]\nfsmonitor = "{OWNED}; false"\n[alias]\nlog = "!{OWNED}"\n')
    (workspace / ".lesskey").write_text(f"#env\nLESSOPEN=|{OWNED}; cat %s\n")
    (workspace / ".sqliterc").write_text(f".shell {OWNED}\n")
    for name in (".bash_profile", ".profile", ".bashrc", ".zshenv"):
        (workspace / name).write_text(f"{OWNED}\n")
    repository(workspace / "repo")
    return stage


@pytest.mark.clause("POL-5", "BOX-1")
@pytest.mark.parametrize(
    ("command", "shows"),
    [
        ("git -C repo status --short", "tracked.txt"),
        ("cd repo && git diff", "two"),
        ("git -C repo log --oneline", "first words"),
        ("less seen.txt", "seen"),
        ("cat seen.txt", "seen"),
    ],
)
async def test_what_files_talk_a_reading_command_into_leaves_nothing(planted: Stage, command: str, shows: str) -> None:
    """It runs unasked and says what it was asked for; workspace and folders are as they were."""
    planted.model.script(Reply(calls=[Call("shell", {"command": command})]), Reply(text="done"))
    ended = await planted.ask()
    kinds = await planted.kinds(ended.turn)
    assert "approval_asked" not in kinds
    finished = await planted.until(lambda event: event.kind == "call_finished")
    assert shows in finished.data["result"]
    assert [path.name for path in planted.root.rglob("owned")] == []


@pytest.mark.clause("BOX-1", "BOX-2")
async def test_a_command_that_was_asked_about_may_write_and_has_its_way_out(planted: Stage) -> None:
    """Its home is not the workspace either, and is gone with it."""
    script = 'echo "$HOME ${HTTPS_PROXY:+proxied}"; echo kept > ~/kept; echo made | tee made notes/made'
    planted.model.script(*(Reply(calls=[Call("shell", {"command": each})]) for each in (script, "ls -A ~; env")))
    planted.model.script(Reply(text="done"))
    placement = await planted.say()
    await planted.group.settle((await planted.question()).id, verdict="allowed", by="operator", text="")
    await planted.ended(placement)
    events = await planted.group.turn_events(placement.turn)
    asked, read = [event.data["result"] for event in events if event.kind == "call_finished"]
    assert f"{HOME} proxied" in asked
    assert "kept" not in read, "the home of the command before"
    assert "PROXY" not in read, "a command that only reads has no way out"
    assert (planted.workspace / "made").read_text() == "made\n"


@pytest.mark.clause("POL-5")
async def test_a_reading_command_that_could_not_write_says_why(planted: Stage) -> None:
    """The model need not guess."""
    planted.model.script(Reply(calls=[Call("shell", {"command": "git -C repo status"})]), Reply(text="done"))
    await planted.ask()
    finished = await planted.until(lambda event: event.kind == "call_finished")
    assert "could write nothing in /workspace" in finished.data["result"]
