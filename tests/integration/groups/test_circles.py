"""Going round in circles with real tools, whose results say more than how the world is (LOOP-1)."""

from typing import Any

import pytest

from host.groups.port import EventView
from tests.integration.groups.stage import Stage
from tests.scripted_model import Call, Reply


def write(content: str) -> Reply:
    """Return a step that writes one file."""
    return Reply(calls=[Call("write_file", {"path": "ab", "content": content})])


def edit(old: str, new: str) -> Reply:
    """Return a step that edits that file."""
    return Reply(calls=[Call("edit_file", {"path": "ab", "old_text": old, "new_text": new})])


async def ran(stage: Stage, ended: EventView) -> int:
    """Return how many calls of a turn ran."""
    return (await stage.kinds(ended.turn)).count("call_finished")


@pytest.mark.clause("LOOP-1")
async def test_two_contents_written_in_turn_are_a_circle(stage: Stage) -> None:
    """Each write keeps the version before it under a name of its own, which makes it no other result."""
    stage.model.script(*(write("AB"[number % 2]) for number in range(12)))
    ended = await stage.ask()
    assert (ended.data["reason"], await ran(stage, ended)) == ("no_progress", 4)


@pytest.mark.clause("LOOP-1")
async def test_an_edit_and_its_undoing_are_a_circle(stage: Stage) -> None:
    """Back and forth twice; the third time is not run."""
    back_and_forth = (edit("A", "B"), edit("B", "A"))
    stage.model.script(write("A"), *(back_and_forth[number % 2] for number in range(8)))
    ended = await stage.ask()
    assert (ended.data["reason"], await ran(stage, ended)) == ("no_progress", 5)


@pytest.mark.clause("LOOP-1", "REC-1")
async def test_a_circle_is_seen_also_by_a_turn_that_was_resumed(stage: Stage) -> None:
    """What was compared before the restart is compared after it: the journal keeps what is needed."""

    def answer(request: dict[str, Any], _: int) -> Reply:
        """The next write, also where the answer before was lost with the group."""
        done = sum(message["role"] == "tool" for message in request["messages"])
        return write("AB"[done % 2])

    stage.model.respond(answer)
    placement = await stage.say()
    await stage.until(lambda event: event.kind == "call_finished" and event.data["call"] == "3.0")
    stage.close()
    ended = await stage.ended(placement)
    assert (ended.data["reason"], await ran(stage, ended)) == ("no_progress", 4)


@pytest.mark.clause("LOOP-1")
async def test_the_same_check_after_each_of_five_edits_is_work(stage: Stage) -> None:
    """The check says the same every time, and the file is another every time."""
    steps = [write("0")]
    for number in range(5):
        steps += [edit(str(number), str(number + 1)), Reply(calls=[Call("list_files", {})])]
    stage.model.script(*steps, Reply(text="all five are done"))
    ended = await stage.ask()
    assert (ended.data["outcome"], ended.data["reply"]) == ("success", "all five are done")
