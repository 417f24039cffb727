"""What a person's browser navigates to: sign-in, the overview, a group's chat. Scripts fill the pages by the API."""

from typing import Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect
from litestar.status_codes import HTTP_303_SEE_OTHER

from host.errors import NotFound
from host.panel.parts import AnyRequest, TheAssets, TheCaller, TheDirectory, TheDocuments, TheDoor, TheSessions
from host.panel.problems import NotSignedIn


class SignInForm(msgspec.Struct, frozen=True, kw_only=True):
    """What the sign-in page posts."""

    code: str = ""


@get("/login", include_in_schema=False)
async def login_page(documents: TheDocuments) -> Response[str]:
    """Show the page that signs in.

    The code is used up by a POST, which the page's script sends with what stands in the address, not by opening the
    link: previews and virus scanners open links, too.
    """
    return documents.page("login.html")


@post("/sign-in", include_in_schema=False, status_code=HTTP_303_SEE_OTHER)
async def sign_in(
    request: AnyRequest,
    data: URLEncodedBody[SignInForm],
    sessions: TheSessions,
    door: TheDoor,
) -> Redirect:
    """Use up a code and sign the browser in."""
    door.may_try(request)
    agent = request.headers.get("user-agent", "")
    try:
        cookie = await sessions.redeem(data.code, address=door.address_of(request), agent=agent)
    except NotSignedIn:
        await door.failed(request, "link")
        raise
    door.succeeded(request)
    return Redirect("/", status_code=HTTP_303_SEE_OTHER, headers={"Set-Cookie": door.set_cookie(request, cookie)})


@post("/sign-out", include_in_schema=False, status_code=HTTP_303_SEE_OTHER)
async def sign_out(request: AnyRequest, sessions: TheSessions, door: TheDoor, caller: TheCaller) -> Redirect:
    """End the browser's session."""
    if caller.session:
        await sessions.sign_out(caller.session)
    return Redirect("/", status_code=HTTP_303_SEE_OTHER, headers={"Set-Cookie": door.set_cookie(request, "")})


@get("/", include_in_schema=False)
async def overview_page(documents: TheDocuments) -> Response[str]:
    """Show all groups."""
    return documents.page("overview.html")


@get("/groups/{group:str}", include_in_schema=False)
async def chat_page(group: FromPath[str], documents: TheDocuments, directory: TheDirectory) -> Response[str]:
    """Show one group's conversation, also while the group cannot be reached: the page then says so itself."""
    if group not in directory.names():
        message = f"there is no group {group!r}"
        raise NotFound(message)
    return documents.page("chat.html", {"group": group})


@get("/static/{version:str}/{name:str}", include_in_schema=False)
async def static_file(version: FromPath[str], name: FromPath[str], assets: TheAssets) -> Response[Any]:
    """Serve one file; it never changes under its path."""
    asset = assets.get(version, name)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(asset.body, media_type=asset.media_type, headers=headers)


@get("/favicon.ico", include_in_schema=False)
async def favicon(assets: TheAssets) -> Response[Any]:
    """Serve the mark to browsers that ask without reading the page."""
    asset = assets.get(assets.version, "mark.svg")
    return Response(asset.body, media_type=asset.media_type)


@get("/healthz", include_in_schema=False)
async def healthz() -> dict[str, bool]:
    """Say that the web edge answers, and nothing else."""
    return {"ok": True}
