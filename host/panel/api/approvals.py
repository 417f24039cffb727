"""Questions that wait for a person, over all groups, their answers, and the answers that stand for later calls."""

import asyncio
from typing import Final, Literal

import msgspec
from litestar import delete, get, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from host.errors import ElisError, NotFound, ProtocolViolation
from host.groups.port import ApprovalView, AssistedView, GrantView, Revoked, Settlement, SuggestionView, Wider
from host.panel.directory import Directory
from host.panel.parts import TheCaller, TheDirectory, TheOverview, port_of

_VERDICTS: Final = {"allow": "allowed", "deny": "denied", "answer": "answered"}


class Word(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's answer."""

    verdict: Literal["allow", "deny", "answer"]
    text: str = ""  # the reason of a refusal, or the answer itself
    group: str = ""  # where the question is, if the sender knows; otherwise every group is asked
    scope: Literal["once", "target", "under", "kind"] = "once"  # how far an "allow" reaches, of those on offer
    until: str = ""  # ISO 8601 with zone: when a wider answer ends; empty: when it is revoked

    def wider(self) -> Wider | None:
        """Return the part of the answer that stands for later calls; raise ProtocolViolation."""
        if self.scope == "once" or self.verdict != "allow":
            if self.until or self.scope != "once":
                message = "scope, until: only an answer that allows, and more than once, can stand for later calls"
                raise ProtocolViolation(message)
            return None
        return Wider(scope=self.scope, until=self.until)


@get("/approvals", summary="All questions that wait")
async def approvals(overview: TheOverview) -> tuple[ApprovalView, ...]:
    """Return the waiting questions of all groups that answer, oldest first."""
    cards = (await overview.snapshot()).groups
    return tuple(sorted((question for card in cards for question in card.questions), key=lambda each: each.asked_at))


@get("/suggestions", summary="Grants for what was always approved")
async def suggestions(directory: TheDirectory) -> tuple[SuggestionView, ...]:
    """Return grants that would have spared questions, over all groups that answer. None is applied."""
    found = await asyncio.gather(*(_suggestions_of(directory, name) for name in directory.names()))
    return tuple(sorted((each for of_group in found for each in of_group), key=lambda each: -each.approvals))


async def _suggestions_of(directory: Directory, name: str) -> tuple[SuggestionView, ...]:
    try:
        return await port_of(directory, name).suggestions()
    except ElisError:
        return ()  # a group that does not answer has nothing to propose


@get("/assisted", summary="What aux models let run without a person")
async def assisted(directory: TheDirectory) -> tuple[AssistedView, ...]:
    """Return the latest calls that nobody was asked about, over all groups that answer, newest first."""
    found = await asyncio.gather(*(_assisted_of(directory, name) for name in directory.names()))
    return tuple(sorted((each for of_group in found for each in of_group), key=lambda each: each.at, reverse=True))


async def _assisted_of(directory: Directory, name: str) -> tuple[AssistedView, ...]:
    try:
        return await port_of(directory, name).assisted()
    except ElisError:
        return ()  # as above


@get("/groups/{group:str}/grants", summary="A group's standing answers")
async def grants(group: FromPath[str], directory: TheDirectory) -> tuple[GrantView, ...]:
    """Return the grants that hold now, oldest first."""
    return await port_of(directory, group).grants()


@delete("/groups/{group:str}/grants/{grant:str}", status_code=HTTP_200_OK, summary="Revoke a grant")
async def revoke(group: FromPath[str], grant: FromPath[str], directory: TheDirectory, caller: TheCaller) -> Revoked:
    """Take a standing answer back; it covers nothing from now on."""
    return await port_of(directory, group).revoke(grant, caller.by)


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
            approval, verdict=_VERDICTS[word.verdict], by=by, text=word.text.strip(), wider=word.wider()
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
