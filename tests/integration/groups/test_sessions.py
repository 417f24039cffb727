"""What a turn is told before its first word: the charter that cannot be read, the history that was half read."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from host.errors import SettingsError
from tests.integration.groups.stage import Stage
from tests.scripted_model import Reply


def replaced(journal: Path, turn: str, body: bytes) -> bytes:
    """Damage a turn's response in the file, or put it back; return what was there. The journal itself forbids it."""
    with contextlib.closing(sqlite3.connect(journal, isolation_level=None)) as connection:
        guards = connection.execute("select name, sql from sqlite_schema where type = 'trigger'").fetchall()
        which = "where turn = ? and kind = 'response_received'"
        (before,) = connection.execute(f"select body from events {which}", (turn,)).fetchone()  # noqa: S608 - our words
        connection.execute("begin immediate")
        for name, _ in guards:
            connection.execute(f"drop trigger {name}")
        connection.execute(f"update events set body = ? {which}", (body, turn))  # noqa: S608
        for _, guard in guards:
            connection.execute(guard)
        connection.execute("commit")
    return bytes(before)


@pytest.mark.clause("REPLY-6", "CTX-8")
async def test_a_charter_that_is_not_utf_8_is_named_with_the_remedy(stage: Stage) -> None:
    """In the turn's final event and where the instructions are shown; saved properly, it works again."""
    stage.model.script(Reply(text="fine"))
    charter = stage.root / "groups" / "main" / "charter.md"
    charter.parent.mkdir(parents=True)
    charter.write_bytes("Sei höflich.\n".encode("latin-1"))
    ended = await stage.ask()
    assert ended.data["reason"] == "unsupported"
    with pytest.raises(SettingsError) as shown:
        await stage.group.instructions()
    for told in (ended.data["detail"], shown.value.message):
        assert str(charter) in told
        assert "UTF-8" in told
        assert "line 1" in told
    charter.write_text("Sei höflich.\n", encoding="utf-8")
    assert (await stage.ask()).data["reply"] == "fine"


@pytest.mark.clause("REPLY-6")
async def test_a_charter_that_is_no_file_is_named_too(stage: Stage) -> None:
    """Whatever keeps it from being read, the file is in the message."""
    charter = stage.root / "groups" / "main" / "charter.md"
    charter.mkdir(parents=True)
    ended = await stage.ask()
    assert ended.data["reason"] == "unsupported"
    assert str(charter) in ended.data["detail"]


@pytest.mark.clause("CTX-1", "OPS-5")
async def test_a_history_that_could_not_be_read_is_not_kept_by_half(stage: Stage) -> None:
    """A turn that met a damaged event fails; once the journal reads again, the whole history is sent."""
    stage.model.respond(lambda _request, _index: Reply(text="ok"))
    turns = [(await stage.ask(text)).turn for text in ("the first", "the second", "the third")]
    stage.close()
    journal = stage.root / "groups" / "main" / "journal.db"
    await stage.group.view()  # opened again, before the damage: the history is read by the first turn only
    intact = replaced(journal, turns[1], b"{")
    said = await stage.say("the fourth")
    failed = await stage.until(lambda event: event.kind == "turn_ended", said.after_seq)
    assert failed.data["outcome"] == "failed"
    replaced(journal, turns[1], intact)
    assert (await stage.ask("the fifth")).data["reply"] == "ok"
    sent = stage.model.requests[-1].body
    assert [word for word in (b"the first", b"the second", b"the third", b"the fifth") if word not in sent] == []
