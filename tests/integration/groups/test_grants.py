"""Standing answers: they spare later questions, until they end or are taken back (APR-1, APR-5)."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from host.config.settings import GroupSettings, PolicySettings
from host.errors import NotFound, ProtocolViolation
from host.groups.port import ApprovalView, Wider
from host.passport import Decision
from tests.integration.groups.stage import BOUND, Stage
from tests.scripted_model import Call, Reply


def shell(command: str) -> Call:
    """A call of the shell."""
    return Call("shell", {"command": command})


async def asked(stage: Stage, command: str) -> ApprovalView | None:
    """Let the model run a command; return the question it leads to, None when it ran unasked."""
    stage.model.script(Reply(calls=[shell(command)]), Reply(text="done"))
    placement = await stage.say(command)
    event = await stage.until(
        lambda event: event.kind in {"approval_asked", "turn_ended"} and event.turn != "", placement.after_seq
    )
    if event.kind == "turn_ended":
        assert event.data["outcome"] == "success", event.data
        return None
    return await stage.question()


async def allow(stage: Stage, question: ApprovalView | None, scope: str = "once", until: str = "") -> None:
    """Answer a question, and wait for the end of its turn."""
    assert question is not None
    wider = None if scope == "once" else Wider(scope=scope, until=until)
    await stage.group.settle(question.id, verdict="allowed", by="operator", text="", wider=wider)
    await stage.until(lambda event: event.kind == "turn_ended" and event.turn == question.turn)


async def deny(stage: Stage, question: ApprovalView | None) -> None:
    """Refuse, and wait for the end of the turn."""
    assert question is not None
    await stage.group.settle(question.id, verdict="denied", by="operator", text="")
    await stage.until(lambda event: event.kind == "turn_ended" and event.turn == question.turn)


@pytest.mark.clause("APR-1")
async def test_a_grant_of_a_target_covers_the_inner_command_and_no_shell(stage: Stage) -> None:
    """Given for a command inside a shell, it covers that command, however wrapped, and no other."""
    question = await asked(stage, "/bin/sh -lc 'touch made.txt'")
    assert question is not None
    assert question.covers["target"] == ("execute:command:touch made.txt",)
    await allow(stage, question, "target")
    assert await asked(stage, "touch   made.txt") is None
    assert await asked(stage, "bash -c 'touch \"made.txt\"'") is None
    await deny(stage, await asked(stage, "/bin/sh -lc 'touch other.txt'"))
    await deny(stage, await asked(stage, "/bin/sh -lc 'rm made.txt'"))
    assert (stage.workspace / "made.txt").exists()


@pytest.mark.clause("APR-1")
async def test_a_pipeline_is_covered_only_if_every_stage_is(stage: Stage) -> None:
    """What only reads needs no grant; whatever else is in the line does."""
    await allow(stage, await asked(stage, "touch a"), "target")
    assert await asked(stage, "ls | wc -l && touch a") is None
    await deny(stage, await asked(stage, "touch a && touch b"))
    await allow(stage, await asked(stage, "touch b"), "target")
    assert await asked(stage, "touch a && touch b") is None


@pytest.mark.clause("APR-1")
async def test_under_covers_a_sub_command_without_options_that_execute(stage: Stage) -> None:
    """`git init x` covers `git init y`, but neither another sub-command nor an option that runs something."""
    question = await asked(stage, "git init one")
    assert question is not None
    assert question.covers["under"] == ("execute:command:git init *",)
    await deny(stage, question)
    await allow(stage, await asked(stage, "git init one"), "under")
    for command in ("git add .", "git -c core.pager=x init two", "git init two > log"):
        await deny(stage, await asked(stage, command))


@pytest.mark.clause("APR-1")
async def test_a_folder_covers_what_lies_below_it(stage: Stage) -> None:
    """Where writing is asked about, one answer may hold for a folder, by whatever tool."""
    stage.settings = GroupSettings(policy=PolicySettings(choices={"write": Decision.ASK}))
    first, *later = (
        Call("write_file", {"path": path, "content": "x\n"}) for path in ("docs/a.txt", "docs/b/c.txt", "x.txt")
    )
    stage.model.script(Reply(calls=[first]), Reply(calls=later))
    placement = await stage.say()
    question = await stage.question()
    assert question.covers == {
        "target": ("write:path:docs/a.txt",),
        "under": ("write:path:docs/",),
        "kind": ("kind:write_file:write",),
    }
    await stage.group.settle(question.id, verdict="allowed", by="operator", text="", wider=Wider(scope="under"))
    await stage.until(lambda event: event.kind == "approval_asked" and event.data["approval"] != question.id)
    second = await stage.question()
    assert second.arguments["path"] == "x.txt"
    assert (stage.workspace / "docs/b/c.txt").exists()
    await stage.group.stop("chat", all_lanes=False, by="test")
    assert placement.turn


@pytest.mark.clause("APR-5")
async def test_revoking_and_expiry_take_effect_at_once(stage: Stage) -> None:
    """Neither needs a restart; the list shows what holds now."""
    await allow(stage, await asked(stage, "touch a"), "target")
    assert await asked(stage, "touch a") is None
    (grant,) = await stage.group.grants()
    assert (grant.scope, grant.covers, grant.given_by) == ("target", ("execute:command:touch a",), "operator")
    assert (await stage.group.revoke(grant.id, "operator")).revoked
    assert not (await stage.group.revoke(grant.id, "operator")).revoked
    assert await stage.group.grants() == ()
    question = await asked(stage, "touch a")
    soon = (datetime.now(UTC) + timedelta(seconds=1.5)).isoformat()
    await allow(stage, question, "target", soon)
    assert await asked(stage, "touch a") is None
    async with asyncio.timeout(BOUND):
        while await stage.group.grants():
            await asyncio.sleep(0.05)  # the real clock has to pass the end
    await deny(stage, await asked(stage, "touch a"))


@pytest.mark.clause("APR-5")
async def test_grants_survive_a_restart(stage: Stage) -> None:
    """They stand in the journal."""
    await allow(stage, await asked(stage, "touch a"), "kind")
    stage.close()
    assert await asked(stage, "touch b") is None


@pytest.mark.clause("APR-1", "POL-9")
async def test_only_what_is_on_offer_can_be_granted(stage: Stage) -> None:
    """A reach that the question does not offer, an end that has passed, a grant that is none: nothing is settled."""
    question = await asked(stage, "sudo touch a")
    assert question is not None
    assert question.scopes == ("once",)
    for wider in (Wider(scope="kind"), Wider(scope="once"), Wider(scope="all")):
        with pytest.raises(ProtocolViolation, match="not on offer"):
            await stage.group.settle(question.id, verdict="allowed", by="operator", text="", wider=wider)
    await deny(stage, question)
    question = await asked(stage, "touch a")
    assert question is not None
    for until, says in (("2001-01-01T00:00:00Z", "has passed"), ("soon", "is no time"), ("2101-01-01", "no zone")):
        wider = Wider(scope="target", until=until)
        with pytest.raises(ProtocolViolation, match=says):
            await stage.group.settle(question.id, verdict="allowed", by="operator", text="", wider=wider)
    await deny(stage, question)
    assert await stage.group.grants() == ()
    with pytest.raises(NotFound):
        await stage.group.revoke("g0", "operator")


@pytest.mark.clause("APR-1", "APR-5")
async def test_what_was_always_approved_is_proposed_and_never_applied(stage: Stage) -> None:
    """After three yeses the question proposes, and so does the list of suggestions; a no takes it out."""
    for number in range(3):
        question = await asked(stage, f"git init r{number}")
        assert question is not None
        assert question.proposed == "once"
        await allow(stage, question)
    question = await asked(stage, "git init r3")
    assert question is not None
    assert question.proposed == "under"
    (suggestion,) = (each for each in await stage.group.suggestions() if each.scope == "under")
    assert (suggestion.scope, suggestion.covers, suggestion.approvals) == ("under", ("execute:command:git init *",), 3)
    assert await stage.group.grants() == ()
    await deny(stage, question)
    assert await stage.group.suggestions() == ()


@pytest.mark.clause("APR-3")
async def test_an_approval_raises_nobodys_rights(stage: Stage) -> None:
    """What the settings forbid by the time of the answer is not run."""
    question = await asked(stage, "touch a")
    assert question is not None
    stage.administrator.write_text('[policy]\nshell = "deny"\n')
    await stage.group.settle(question.id, verdict="allowed", by="operator", text="")
    ended = await stage.until(lambda event: event.kind == "turn_ended" and event.turn == question.turn)
    assert (ended.data["outcome"], ended.data["reason"]) == ("failed", "policy_violation")
    assert not (stage.workspace / "a").exists()
