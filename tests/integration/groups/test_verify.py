"""`verify` also looks whether the derived tables say what the events give: budgets and approvals rest on them."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply

TAMPERED = {
    "spend": ("update spend set tokens = -1000000, cost_usd = -1000.0", "spend"),
    "a question": ("update questions set state = 'allowed'", "questions"),
    "a turn": ("update turns set outcome = 'success', reason = ''", "turns"),
    "a call": ("delete from calls", "calls"),
    "a message more": (
        "insert into messages select 'm', 'k', seq, at_us, text, priority, principal, unattended, state, turn"
        " from messages limit 1",
        "messages",
    ),
    "a refusal less": ("delete from refused_intents", "refused_intents"),
    "a table less": ("drop table spend", "spend"),
    "a column more": ("alter table spend add column more integer not null default 0", "spend"),
}


def tamper(stage: Stage, statement: str) -> None:
    """Change the file beside the group that has it open, as somebody could who may write it."""
    path = stage.root / "groups" / "main" / "journal.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as connection:
        connection.execute(statement)


async def lived(stage: Stage) -> None:
    """Have the group do something of everything."""
    stage.model.script(Reply(calls=[Call("shell", {"command": "make x"})]), Reply(text="it was denied"))
    placement = await stage.say()
    question = await stage.question()
    await stage.group.settle(question.id, verdict="denied", by="test", text="no")
    await stage.ended(placement)


@pytest.mark.clause("JRN-2", "JRN-1")
@pytest.mark.parametrize(("statement", "table"), TAMPERED.values(), ids=TAMPERED.keys())
async def test_a_table_that_was_changed_by_hand_does_not_verify(stage: Stage, statement: str, table: str) -> None:
    """It is named, the remedy too, and the next start makes the tables anew from the events."""
    await lived(stage)
    before = await stage.group.view()
    assert (await stage.group.verify()).ok
    tamper(stage, statement)
    verdict = await stage.group.verify()
    assert (verdict.ok, verdict.first_bad_seq) == (False, 0)
    assert table in verdict.detail
    assert "start" in verdict.detail
    stage.close()
    assert (await stage.group.verify()).ok
    after = await stage.group.view()
    assert (after.today_tokens, after.today_cost_usd) == (before.today_tokens, before.today_cost_usd)


@pytest.mark.clause("JRN-2")
async def test_a_group_verifies_also_while_it_works(stage: Stage) -> None:
    """Tables and events are compared as they stood together; the writer is not held up."""
    stage.model.script(
        *(Reply(calls=[Call("write_file", {"path": "a", "content": str(at)})]) for at in range(30)), Reply(text="done")
    )
    placement = await stage.say()
    checks = 0
    ending = asyncio.ensure_future(stage.ended(placement))
    while not ending.done():
        verdict = await stage.group.verify()
        assert verdict.ok, verdict.detail
        checks += 1
    assert (await ending).data["reply"] == "done"
    assert checks > 1


@pytest.mark.clause("JRN-2")
async def test_nothing_is_left_behind_by_the_check(stage: Stage, tmp_path: Path) -> None:
    """What is compared with is thrown away."""
    await lived(stage)
    before = _files(tmp_path)
    assert (await stage.group.verify()).ok
    assert _files(tmp_path) == before


def _files(root: Path) -> set[str]:
    """Return what lies in the group's folder, but for the search index, which comes about when there is time for it."""
    return {path.name for path in (root / "groups" / "main").iterdir() if ".search" not in path.name}
