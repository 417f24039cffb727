"""Groups: listing, adding and removing them, saying something, stopping, and the messages that wait."""

import secrets
from typing import Annotated, Literal

import msgspec
from litestar import delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK, HTTP_202_ACCEPTED

from host.errors import ProtocolViolation
from host.gate.checking import Checked
from host.groups.port import GroupView, Placement, Queued, Say, Stopped
from host.panel.directory import NewGroup
from host.panel.parts import Done, TheCaller, TheDirectory, TheOverview, port_of


class NewMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to say to a group."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000_000)]
    key: str = ""  # idempotency key: the same key twice is one message; empty: a fresh one
    priority: Literal["now", "turn", "later"] = "turn"
    unattended: bool = False


class Texts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Texts to be masked, and what became of them, in the same order."""

    texts: tuple[str, ...]


class Commands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shell commands to be judged."""

    commands: tuple[str, ...]


class StopOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to stop."""

    lane: str = "chat"
    all: bool = False


@get("/groups", summary="All groups at a glance")
async def list_groups(overview: TheOverview) -> tuple[GroupView, ...]:
    """Return every group, whatever state it is in."""
    return tuple(card.view for card in (await overview.snapshot()).groups)


@post("/groups", summary="Add a group")
async def add_group(data: JSONBody[NewGroup], directory: TheDirectory, overview: TheOverview) -> GroupView:
    """Write a group into the settings and start it."""
    await directory.add(data)
    return (await overview.look(data.name)).view


@get("/groups/{group:str}", summary="One group at a glance")
async def show_group(group: FromPath[str], directory: TheDirectory) -> GroupView:
    """Return one group."""
    return await port_of(directory, group).view()


@delete("/groups/{group:str}", status_code=HTTP_200_OK, summary="Remove a group")
async def remove_group(
    group: FromPath[str],
    directory: TheDirectory,
    *,
    delete_folder: Annotated[bool, QueryParameter(name="delete")] = False,
) -> Done:
    """Take a group out of the settings; its folder stays unless `delete` is true."""
    await directory.remove(group, delete=delete_folder)
    return Done()


@get("/groups/{group:str}/instructions", summary="What the model is told before anything else")
async def instructions(group: FromPath[str], directory: TheDirectory) -> dict[str, str]:
    """Return the invariants and the charter."""
    return await port_of(directory, group).instructions()


@post("/groups/{group:str}/messages", status_code=HTTP_202_ACCEPTED, summary="Say something to a group")
async def say(group: FromPath[str], data: JSONBody[NewMessage], directory: TheDirectory) -> Placement:
    """Accept a message durably and return what became of it. Follow `events` after `after_seq` for the rest."""
    if not data.text.strip():
        message = "text: a message needs words"
        raise ProtocolViolation(message)
    key = data.key or secrets.token_urlsafe(16)
    message_to_group = Say(text=data.text, key=key, priority=data.priority, unattended=data.unattended)
    return await port_of(directory, group).say(message_to_group)


@post("/groups/{group:str}/stop", status_code=HTTP_200_OK, summary="Stop what runs")
async def stop(group: FromPath[str], data: JSONBody[StopOrder], directory: TheDirectory, caller: TheCaller) -> Stopped:
    """Stop a lane, or all; returns when the final events are durable."""
    return await port_of(directory, group).stop(data.lane, all_lanes=data.all, by=caller.by)


@post("/groups/{group:str}/check-command", status_code=HTTP_200_OK, summary="What the gate would say of commands")
async def check_command(group: FromPath[str], data: JSONBody[Commands], directory: TheDirectory) -> tuple[Checked, ...]:
    """Judge each shell command as if the model asked for it now."""
    return await port_of(directory, group).check_commands(data.commands)


@post("/groups/{group:str}/mask", status_code=HTTP_200_OK, summary="What masking makes of texts")
async def mask(group: FromPath[str], data: JSONBody[Texts], directory: TheDirectory) -> Texts:
    """Return each text without what this group was lent and without typical forms of secrets. Nothing is journaled."""
    return Texts(texts=await port_of(directory, group).mask(data.texts))


@get("/groups/{group:str}/queue", summary="Messages that wait or are held")
async def queue(group: FromPath[str], directory: TheDirectory) -> tuple[Queued, ...]:
    """Return the messages that have not run."""
    return await port_of(directory, group).queue()


@post("/groups/{group:str}/queue/{message:str}/release", status_code=HTTP_200_OK, summary="Let a held message go on")
async def release(group: FromPath[str], message: FromPath[str], directory: TheDirectory) -> Placement:
    """Let a held message go on."""
    return await port_of(directory, group).release(message)


@post("/groups/{group:str}/queue/{message:str}/drop", status_code=HTTP_200_OK, summary="Drop a message")
async def drop(group: FromPath[str], message: FromPath[str], directory: TheDirectory, caller: TheCaller) -> Done:
    """Drop a message that waits or is held."""
    await port_of(directory, group).drop(message, caller.by)
    return Done()
