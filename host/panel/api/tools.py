"""Tool servers of a group: what they show of their tools, and the word that lets a changed list be used (PASS-3)."""

import msgspec
from litestar import get, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from host.groups.port import ServerDetail, ServerView
from host.panel.parts import TheCaller, TheDirectory, port_of


class Release(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The list that a person has looked at."""

    digest: str = ""  # of the held list, so that no other one is released; empty: whichever is held


@get("/groups/{group:str}/tools", summary="Tool servers of a group")
async def tool_servers(group: FromPath[str], directory: TheDirectory) -> tuple[ServerView, ...]:
    """Return the tool servers whose entries name the group."""
    return await port_of(directory, group).tool_servers()


@get("/groups/{group:str}/tools/{server:str}", summary="What a tool server shows of its tools")
async def tool_server(group: FromPath[str], server: FromPath[str], directory: TheDirectory) -> ServerDetail:
    """Return the tools in use and, where the server is held, those that it shows now. All words are the server's."""
    return await port_of(directory, group).tool_server(server)


@post("/groups/{group:str}/tools/{server:str}/release", status_code=HTTP_200_OK, summary="Let a changed list be used")
async def release_tools(
    group: FromPath[str], server: FromPath[str], data: JSONBody[Release], directory: TheDirectory, caller: TheCaller
) -> ServerView:
    """Let the held tools of a server be used, from the next turn on; that turn begins a new session."""
    return await port_of(directory, group).release_tools(server, data.digest, caller.by)
