"""Questions that wait for a person, over all groups, and their answers."""

import asyncio
from typing import Final, Literal

import msgspec
from litestar import get, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from host.errors import ElisError, NotFound, ProtocolViolation
from host.groups.port import ApprovalView, Settlement
from host.panel.directory import Directory
from host.panel.parts import TheCaller, TheDirectory, TheOverview, port_of

_VERDICTS: Final = {"allow": "allowed", "deny": "denied", "answer": "answered"}


class Word(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's answer."""

    verdict: Literal["allow", "deny", "answer"]
    text: str = ""  # the reason of a refusal, or the answer itself
    group: str = ""  # where the question is, if the sender knows; otherwise every group is asked


@get("/approvals", summary="All questions that wait")
async def approvals(overview: TheOverview) -> tuple[ApprovalView, ...]:
    """Return the waiting questions of all groups that answer, oldest first."""
    cards = (await overview.snapshot()).groups
    return tuple(sorted((question for card in cards for question in card.questions), key=lambda each: each.asked_at))


@post("/approvals/{approval:str}", status_code=HTTP_200_OK, summary="Answer a question")
async def settle(
    approval: FromPath[str], data: JSONBody[Word], directory: TheDirectory, caller: TheCaller
) -> Settlement:
    """Answer a question; an answer to a settled one changes nothing and says so (`settled` false)."""
    if data.verdict == "answer" and not data.text.strip():
        message = "text: an answer needs words"
        raise ProtocolViolation(message)
    names = (data.group,) if data.group else directory.names()
    answers = await asyncio.gather(*(_settle_in(directory, name, approval, data, caller.by) for name in names))
    return _the_one(approval, answers)


async def _settle_in(directory: Directory, name: str, approval: str, word: Word, by: str) -> Settlement | ElisError:
    try:
        return await port_of(directory, name).settle(
            approval, verdict=_VERDICTS[word.verdict], by=by, text=word.text.strip()
        )
    except ElisError as error:
        return error


def _the_one(approval: str, answers: list[Settlement | ElisError]) -> Settlement:
    """Return the answer of the group that knows the question; else raise what kept a group from looking."""
    for answer in answers:
        if isinstance(answer, Settlement):
            return answer
    for answer in answers:
        if isinstance(answer, ElisError) and not isinstance(answer, NotFound):
            raise answer
    message = f"no group has a question {approval}"
    raise NotFound(message)
