"""The tool `http`: one request to a listed host, or to one that a person admitted (PASS-3, PASS-4, BOX-6).

GET and HEAD are of class `read`, everything else sends. Redirects are followed only for these two, only to where the
call may go; what the call gave of headers stays with the host that it named, for any of them may hold a secret. What
an answer has beyond one reply to the model is kept whole in a file of the workspace. Words of a server, be it the
address that it redirects to, stand in the text of a result and never in the host's own.
"""

import asyncio
import json
import mimetypes
import re
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote

import msgspec

from browser.proxy import Door
from host.errors import ProtocolViolation, TimedOut, ToolFailed, Unsupported
from host.passport import Decision, Destination, Effect, KnownFailure, Passport, Replay
from host.stops import Reason
from host.tools.charsets import text_of
from host.tools.egress import WayOut
from host.tools.jail import Present
from host.tools.outputs import DOWNLOADS, Kept
from host.tools.quoting import Quoting, told
from host.tools.replace import content_hash
from host.tools.text import FILE_BYTES, TYPICAL, counted
from host.tools.tool import Scope, ToolResult
from host.tools.web_address import WebAddress, web_address
from host.tools.web_exchange import Answer, Request, exchange, phrase_of

LONGEST_SECONDS: Final = 300.0
_USUAL_SECONDS: Final = 60.0
_GRACE_SECONDS: Final = 10.0  # between the call's own time-out and the gate's
_HOPS: Final = 5
_LONGEST_URL: Final = 8192  # characters
_DOOR_SECONDS: Final = 0.01  # until the connection is closed and told; a Stop has 25 ms for all of it
_FAILED: Final = 400  # the first status that tells of a failure
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_READING: Final = frozenset({"GET", "HEAD"})
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")
_OWN: Final = frozenset(
    {"host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "content-length", "upgrade", "expect",
     "idempotency-key", "accept-encoding"}
)  # fmt: skip
"""Headers that the host writes itself, or that would change where a message ends."""
_USUAL: Final = {"user-agent": "Elis", "accept": "*/*", "accept-encoding": "identity"}
"""Headers of every request, and all that goes to another host with a redirect."""
_SHOWN: Final = (
    "content-type", "content-length", "content-encoding", "location", "last-modified", "etag", "link", "retry-after",
    "www-authenticate", "allow", "content-disposition",
)  # fmt: skip
_PIECE: Final = 1 << 14  # characters
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


class HttpArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request."""

    url: Annotated[str, msgspec.Meta(min_length=1, max_length=_LONGEST_URL, description="The whole address.")]
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET"
    headers: Annotated[
        dict[str, str],
        msgspec.Meta(description="A value may hold «secret:NAME», lent to that host at the moment of use."),
    ] = {}
    body: Annotated[str, msgspec.Meta(description="The body as text.")] = ""
    json: Annotated[Any, msgspec.Meta(description="The body as JSON, instead of `body`.")] = None
    timeout_seconds: Annotated[
        float, msgspec.Meta(gt=0, le=LONGEST_SECONDS, description="After this the call is ended.")
    ] = _USUAL_SECONDS


def effect_of(arguments: HttpArguments) -> Effect:
    """Return the class of a request: what a server keeps apart as safe only reads (RFC 9110, 9.2.1)."""
    return Effect.READ if arguments.method in _READING else Effect.SEND


def destination_of(arguments: HttpArguments) -> Destination:
    """Return where a request goes; raise ProtocolViolation."""
    return web_address(arguments.url).destination


_HTTP: Final = Passport(
    name="http",
    summary=(
        "Send one HTTP request and get status, headers and body. Hosts that are not listed are asked about. A long or "
        "binary body is kept in a file of the workspace, which the answer names."
    ),
    arguments=HttpArguments,
    effect=Effect.SEND,
    reversible=False,
    parallel=True,
    default=Decision.ASK,
    timeout_seconds=LONGEST_SECONDS + _GRACE_SECONDS,
    masks=TYPICAL,
    replay=Replay.EFFECT,
    network=True,
    paths=frozenset(),
    lendable=True,
    needs=frozenset(),
    external="http",
    promises_content=True,
    failures=(
        KnownFailure(reason=Reason.TOOL_FAILED, when="the status is 400 or more, or the host cannot be reached"),
        KnownFailure(reason=Reason.TIMED_OUT, when="the answer takes longer than timeout_seconds"),
        KnownFailure(reason=Reason.POLICY_VIOLATION, when="the host may not be reached"),
        KnownFailure(reason=Reason.PROTOCOL_VIOLATION, when="the request cannot be sent as it is"),
    ),
    towards="url",
    changed_by="url",
    effect_of=effect_of,
    destination_of=destination_of,
)


class Http:
    """Sends a request."""

    def __init__(self) -> None:
        self.passport: Final = _HTTP

    async def run(self, arguments: HttpArguments, scope: Scope) -> ToolResult:
        """Send it, follow where it may, and put the answer into words."""
        if scope.way_out is None:
            raise Unsupported("nothing is reached beyond the machine here")
        request, trip = _request(arguments, scope.key), _Trip()
        door = scope.way_out.door()
        try:
            async with asyncio.timeout(arguments.timeout_seconds):
                answer = await _followed(request, scope.way_out, door, trip)
                text = await _text_of(answer)
        except TimeoutError as error:
            message = f"no whole answer within {arguments.timeout_seconds:g} s; give it more timeout_seconds"
            raise TimedOut(message) from error
        except Quoting as error:
            return told(error)
        finally:
            door.close(_DOOR_SECONDS)
        return await _result(answer, text, request.address, trip, scope)


class _Trip:
    """Where the redirects of one call led."""

    def __init__(self) -> None:
        self.notes: list[str] = []  # in the host's words
        self.hops: list[WebAddress] = []  # as servers named them

    @property
    def words(self) -> str:
        """The addresses, for the part of a result that is marked."""
        return "\n".join(f"redirected to {hop.text}" for hop in self.hops)


async def _followed(request: Request, way_out: WayOut, door: Door, trip: _Trip) -> Answer:
    """Send the request, and follow where it may be followed; return the last answer."""
    for _ in range(_HOPS):
        answer = await _exchanged(request, way_out, door, trip)
        onward = _onward(request, answer, way_out, trip.notes)
        if onward is None:
            return answer
        trip.notes.append(f"followed a redirect ({answer.status})")
        trip.hops.append(onward)
        request = msgspec.structs.replace(request, address=onward, headers=_headers_for(onward, request, trip.notes))
    message = f"the server redirects more than {_HOPS} times"
    raise Quoting(message, trip.words)


async def _exchanged(request: Request, way_out: WayOut, door: Door, trip: _Trip) -> Answer:
    try:
        return await exchange(door, way_out.egress.trust(), request, FILE_BYTES)
    except ToolFailed as error:
        if not trip.hops:
            raise
        words = (trip.words, error.message, error.words if isinstance(error, Quoting) else "")
        message = f"after {counted(len(trip.hops), 'redirect')} the request failed"
        raise Quoting(message, "\n".join(filter(None, words))) from error  # its message names a host of the server's


def _request(arguments: HttpArguments, key: str) -> Request:
    """Return what is sent; raise ProtocolViolation for what may not be sent."""
    given = {name.lower(): value for name, value in arguments.headers.items()}
    for name, value in given.items():
        if name in _OWN or name.startswith("proxy-") or not _TOKEN.match(name):
            message = f"the header {name[:80]!r} cannot be set; leave it out"
            raise ProtocolViolation(message)
        if not _VALUE.match(value):
            message = f"the header {name} holds characters that no header can carry, such as a line break"
            raise ProtocolViolation(message)
    body, kind = arguments.body.encode(), "text/plain; charset=utf-8"
    if arguments.json is not None:
        if body:
            raise ProtocolViolation("body and json cannot both be sent; choose one")
        body, kind = json.dumps(arguments.json, ensure_ascii=False).encode(), "application/json"
    if body and arguments.method in _READING:
        message = f"{arguments.method} has no body; put it into the query, or use POST"
        raise ProtocolViolation(message)
    headers = dict(_USUAL)
    if body:
        headers["content-type"] = kind
    headers |= given
    if arguments.method not in _READING:
        headers["idempotency-key"] = key  # a repeated request is the same one (REC-6)
        headers["content-length"] = str(len(body))
    return Request(method=arguments.method, address=web_address(arguments.url), headers=headers, body=body)


def _onward(request: Request, answer: Answer, way_out: WayOut, notes: list[str]) -> WebAddress | None:
    """Return where a redirect leads if this call may go there; else note why it was not followed."""
    location = answer.header("location")
    if answer.status not in _REDIRECTS or not location:
        return None
    if len(location) > _LONGEST_URL:
        notes.append(f"the redirect was not followed: its address has more than {_LONGEST_URL} characters")
        return None
    if request.method not in _READING:
        notes.append(
            "the redirect was not followed: only GET and HEAD are; call http with its location if it is wanted"
        )
        return None
    try:
        onward = request.address.joined(location)
    except ProtocolViolation as error:
        notes.append(f"the redirect was not followed: {error.message}")
        return None
    to = onward.destination
    if request.address.destination.scheme == "https" and to.scheme != "https":
        notes.append("the redirect was not followed: it leads from https to plain http")
        return None
    if not way_out.lists(to):
        setting = way_out.egress.setting
        notes.append(
            f"the redirect was not followed: the host of its location is not listed in {setting}; call http with it to "
            "ask"
        )
        return None
    return onward


def _headers_for(onward: WebAddress, request: Request, notes: list[str]) -> dict[str, str]:
    """Return what goes on with a redirect: to another host nothing that the call gave, for it may hold a secret."""
    if onward.destination == request.address.destination:
        return dict(request.headers)
    if request.headers != _USUAL:
        notes.append("the headers of the call were not sent there: they are for the host that it named")
    return dict(_USUAL)


async def _result(answer: Answer, text: str | None, address: WebAddress, trip: _Trip, scope: Scope) -> ToolResult:
    """Put an answer into words: the host's own first, then what came from outside. `address` is the call's own."""
    ok = answer.status < _FAILED
    headers = "\n".join(f"{name}: {value}" for name, value in answer.headers if name in _SHOWN)
    others = sum(name not in _SHOWN for name, _ in answer.headers)
    body = await _body(answer, text, address, scope) if answer.body else _Body()
    last = trip.hops[-1] if trip.hops else address
    host = last.destination.host
    status = f"HTTP {answer.status} {phrase_of(answer.status)}".rstrip()
    return ToolResult(
        text="\n\n".join(part for part in ("\n".join(filter(None, (trip.words, headers))), body.text) if part),
        head="\n".join(filter(None, (status, *trip.notes, _left_out(others), body.said))),
        kept=body.kept,
        origin=f"http {last.destination.target}",
        ok=ok,
        reason=None if ok else Reason.TOOL_FAILED,
        detail="" if ok else f"status {answer.status} from {host}",
    )


def _left_out(headers: int) -> str:
    """Say that headers are not told: those that neither describe the answer nor lead on."""
    return f"[{counted(headers, 'header')} of the answer left out]" if headers else ""


class _Body(msgspec.Struct, frozen=True, kw_only=True):
    """How a body is told."""

    text: str = ""  # all of it
    kept: Kept | None = None  # a long text
    said: str = ""  # the host's words about one that is no text


async def _body(answer: Answer, text: str | None, address: WebAddress, scope: Scope) -> _Body:
    """Return a text that is short enough; keep anything else in a file, a text masked as it is when it is shown."""
    name = _file(answer, address, scope)
    if text is not None:
        with scope.keeping(name, folder=DOWNLOADS, what="body") as keeping:
            for start in range(0, len(text), _PIECE):
                keeping.feed(text[start : start + _PIECE])
                await asyncio.sleep(0)  # masking a long text takes seconds; a Stop must not wait for them
            kept = await keeping.finish()
        return _Body(kept=kept) if kept else _Body(text=text)
    size = counted(len(answer.body), "byte")
    try:
        written = await scope.jail.write(f"{DOWNLOADS}/{name}", answer.body, key=scope.key, admit=_anything)
    except (ToolFailed, Unsupported) as error:
        return _Body(said=f"[{size} that could not be kept in a file: {error.message}]")
    scope.seen.saw(scope.turn, written.shown, content_hash(answer.body))
    return _Body(said=f"[the body is no text; its {size} are in {written.shown}]")


def _anything(_shown: str, _present: Present | None) -> None:
    """Nobody else has a file of this name."""


async def _text_of(answer: Answer) -> str | None:
    """Return the body as text, None where it is none; what a file tool shows later is UTF-8."""
    if answer.header("content-encoding") not in {"", "identity"}:
        return None
    return await text_of(answer.body, answer.header("content-type"))


def _file(answer: Answer, address: WebAddress, scope: Scope) -> str:
    """Return a name that tells what it is and that no other call has."""
    masking = scope.masking()  # the address may hold a secret, and the name of a file is shown everywhere
    last = masking.feed(unquote(address.target.partition("?")[0].rpartition("/")[2])) + masking.flush()
    name = _UNSAFE.sub("-", last).strip(".-")[-60:] or address.destination.host
    kind = answer.header("content-type").partition(";")[0].strip()
    if "." not in name.rpartition("/")[2] or not last:
        name += mimetypes.guess_extension(kind) or ""
    return f"{scope.turn[-6:]}-{scope.call}-{name}"
