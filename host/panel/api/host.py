"""The host as a whole: its state, the overview, and its end."""

from litestar import Response, get, post
from litestar.response import Stream
from litestar.status_codes import HTTP_202_ACCEPTED

from host.panel.overview import OverviewView
from host.panel.parts import AnyRequest, Done, TheCaller, TheClosing, TheDirectory, TheDoor, TheOverview
from host.panel.streams import MEDIA_TYPE


@get("/status", summary="The host with its groups and services")
async def status(overview: TheOverview) -> OverviewView:
    """Return the host at a glance; a group that hangs delays this by two seconds at most."""
    return await overview.snapshot()


@get("/overview", summary="The host with its groups and services, live")
async def follow_overview(
    request: AnyRequest, overview: TheOverview, closing: TheClosing, door: TheDoor, caller: TheCaller
) -> Response[OverviewView] | Stream:
    """Return what /status does; with `Accept: text/event-stream` a snapshot and then each change.

    Events are `overview` (all), `group` (one group's card), `gone` (a group's name), `host` and `problem`.
    """
    if MEDIA_TYPE not in request.headers.get("accept", ""):
        return Response(await overview.snapshot())
    return Stream(overview.follow(closing, lambda: door.is_open(caller)), media_type=MEDIA_TYPE)


@post("/shutdown", status_code=HTTP_202_ACCEPTED, summary="Stop the host in order")
async def shutdown(directory: TheDirectory) -> Done:
    """Ask the host to drain and end, as SIGTERM does. Needs the token."""
    directory.request_shutdown()
    return Done()
