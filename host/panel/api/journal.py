"""What happened in a group: events live and past, turns, exact requests, search, check and export."""

from collections.abc import AsyncGenerator
from typing import Annotated, Final

import msgspec
from litestar import Response, get
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream

from host.errors import ProtocolViolation
from host.groups.port import EventView, Found, GroupPort, TurnView, Verified
from host.panel.markdown import rendered
from host.panel.parts import AnyRequest, TheCaller, TheClosing, TheDirectory, TheDoor, port_of
from host.panel.streams import MEDIA_TYPE, follow

EXPORT_PAGE: Final = 1000
LAST_SEQ: Final = 2**63 - 1  # that a journal can count to

Limit = Annotated[int, QueryParameter(ge=1, le=5000)]
After = Annotated[int, QueryParameter(ge=0, le=LAST_SEQ)]


class ShownEvent(EventView, frozen=True, kw_only=True):
    """An event with its reply as clean markup, for pages that ask with `html=true`."""

    html: str


@get("/groups/{group:str}/events", summary="Events of a group, past or live")
async def events(  # noqa: PLR0913 - the parts of a request and those that serve it
    group: FromPath[str],
    *,
    request: AnyRequest,
    directory: TheDirectory,
    closing: TheClosing,
    door: TheDoor,
    caller: TheCaller,
    after: After = 0,
    limit: Limit = 1000,
    html: FromQuery[bool] = False,
) -> Response[tuple[EventView, ...]] | Stream:
    """Return events after a sequence; with `Accept: text/event-stream` all of them and then each new one.

    The stream's ids are sequences: `Last-Event-ID` (or `after`) resumes without loss or repetition; one beyond the
    journal's end, as after an older copy was put back, goes on from the end. Text that is still being written comes as
    events named `draft` without an id; a failing group ends the stream with `problem`.
    """
    port = port_of(directory, group)
    show = _with_markup if html else _as_it_is
    if MEDIA_TYPE not in request.headers.get("accept", ""):
        return Response(tuple([await show(event) for event in await port.events(after, limit)]))
    after = await _resume_from(request, after, port)
    first = await port.watch(after, 0, 0.0)
    frames = follow(port, first, after, closing=closing, is_open=lambda: door.is_open(caller), show=show)
    return Stream(frames, media_type=MEDIA_TYPE)


@get("/groups/{group:str}/turns", summary="The latest turns")
async def turns(
    group: FromPath[str], directory: TheDirectory, limit: Limit = 50, before: FromQuery[str] = ""
) -> tuple[TurnView, ...]:
    """Return turns, newest first, older than the turn `before` if it is given."""
    return await port_of(directory, group).turns(limit, before)


@get("/groups/{group:str}/turns/{turn:str}", summary="All events of a turn")
async def turn_events(group: FromPath[str], turn: FromPath[str], directory: TheDirectory) -> tuple[EventView, ...]:
    """Return a turn's events, oldest first."""
    return await port_of(directory, group).turn_events(turn)


@get("/groups/{group:str}/requests/{seq:str}", summary="The exact body of a request to the model")
async def request_body(group: FromPath[str], seq: FromPath[str], directory: TheDirectory) -> Response[bytes]:
    """Return the bytes that were sent, as the event `seq` records them (TURN-3)."""
    body = await port_of(directory, group).request_body(_sequence("the event", seq))
    return Response(body, media_type="application/json")


@get("/groups/{group:str}/journal/search", summary="Search everything said and done")
async def search(
    group: FromPath[str], text: FromQuery[str], directory: TheDirectory, limit: Limit = 20
) -> tuple[Found, ...]:
    """Return hits, newest first."""
    return await port_of(directory, group).search(text, limit)


@get("/groups/{group:str}/journal/verify", summary="Check the journal's chain")
async def verify(group: FromPath[str], directory: TheDirectory) -> Verified:
    """Check every event; takes seconds for a million of them."""
    return await port_of(directory, group).verify()


@get("/groups/{group:str}/journal/export", summary="The whole journal, one JSON object a line")
async def export(group: FromPath[str], directory: TheDirectory) -> Stream:
    """Stream all events, oldest first."""
    port = port_of(directory, group)
    first = await port.events(0, EXPORT_PAGE)
    return Stream(_lines(port, first), media_type="application/x-ndjson")


async def _lines(port: GroupPort, page: tuple[EventView, ...]) -> AsyncGenerator[bytes, None]:
    encoder = msgspec.json.Encoder()
    while page:
        yield encoder.encode_lines(page)
        page = await port.events(page[-1].seq, EXPORT_PAGE)


async def _as_it_is(event: EventView) -> EventView:
    return event


async def _with_markup(event: EventView) -> EventView:
    if event.kind != "turn_ended":
        return event
    markup = await rendered(str(event.data.get("reply", "")))
    return ShownEvent(seq=event.seq, at=event.at, turn=event.turn, kind=event.kind, data=event.data, html=markup)


async def _resume_from(request: AnyRequest, after: int, port: GroupPort) -> int:
    """Return the sequence after which a stream begins; nothing lies beyond the journal's end."""
    last = request.headers.get("last-event-id", "")
    if last:
        after = _sequence("Last-Event-ID", last)
    return min(after, (await port.view()).last_seq) if after else 0


def _sequence(what: str, text: str) -> int:
    """Return a sequence that came as text; raise ProtocolViolation."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(LAST_SEQ)) and int(text) <= LAST_SEQ):
        message = f"{what} {text[:80]!r} should be a sequence: a whole number, as this API's events have"
        raise ProtocolViolation(message)
    return int(text)
