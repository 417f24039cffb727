"""The tool `http`: one request to a listed host, or to one that a person admitted (PASS-3, PASS-4, BOX-6).

GET and HEAD are of class `read`, everything else sends. Redirects are followed only for these two, only to where the
call may go, and a header leaves with a redirect to another host only if it can hold no secret. What an answer has
beyond one reply to the model is kept whole in a file of the workspace.
"""

import asyncio
import json
import mimetypes
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote

import msgspec

from browser.proxy import Door
from host.errors import ProtocolViolation, TimedOut, ToolFailed, Unsupported
from host.passport import Decision, Destination, Effect, KnownFailure, Passport, Replay
from host.stops import Reason
from host.tools.egress import WayOut
from host.tools.outputs import DOWNLOADS, Kept
from host.tools.replace import Existing, content_hash
from host.tools.text import FILE_BYTES, TYPICAL, counted, decoded
from host.tools.tool import Scope, ToolResult
from host.tools.web_address import WebAddress, web_address
from host.tools.web_exchange import Answer, Request, exchange

LONGEST_SECONDS: Final = 300.0
_USUAL_SECONDS: Final = 60.0
_GRACE_SECONDS: Final = 10.0  # between the call's own time-out and the gate's
_HOPS: Final = 5
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
_HARMLESS: Final = frozenset({"accept", "accept-language", "user-agent", "range"})
"""Headers that go on to another host with a redirect."""
_SHOWN: Final = (
    "content-type", "content-length", "content-encoding", "location", "last-modified", "etag", "link", "retry-after",
    "www-authenticate", "allow", "content-disposition",
)  # fmt: skip
_PIECE: Final = 1 << 14  # characters
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


class HttpArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request."""

    url: Annotated[str, msgspec.Meta(min_length=1, max_length=8192, description="The whole address.")]
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
        request = _request(arguments, scope.key)
        door = scope.way_out.door()
        notes: list[str] = []
        try:
            async with asyncio.timeout(arguments.timeout_seconds):
                request, answer = await _followed(request, scope.way_out, door, notes)
        except TimeoutError as error:
            message = f"no whole answer within {arguments.timeout_seconds:g} s; give it more timeout_seconds"
            raise TimedOut(message) from error
        finally:
            door.close(_DOOR_SECONDS)
        return await _result(answer, request.address, notes, scope)


async def _followed(request: Request, way_out: WayOut, door: Door, notes: list[str]) -> tuple[Request, Answer]:
    """Send the request, and follow where it may be followed; return the last request and its answer."""
    for _ in range(_HOPS):
        answer = await exchange(door, way_out.egress.trust(), request, FILE_BYTES)
        onward = _onward(request, answer, way_out, notes)
        if onward is None:
            return request, answer
        notes.append(f"followed {answer.status} to {onward.text}")
        request = msgspec.structs.replace(
            request, address=onward, headers=_headers_for(onward, request.address, request.headers)
        )
    message = f"the server redirects more than {_HOPS} times, at last to {request.address.text}"
    raise ToolFailed(message)


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
    headers = {"user-agent": "Elis", "accept": "*/*", "accept-encoding": "identity"}
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
        notes.append(f"the redirect was not followed: {to.host} is not listed in {setting}; call http with it to ask")
        return None
    return onward


def _headers_for(onward: WebAddress, address: WebAddress, headers: Mapping[str, str]) -> dict[str, str]:
    """Return what goes on with a redirect: to another host nothing that may hold a secret."""
    if onward.destination == address.destination:
        return dict(headers)
    return {name: value for name, value in headers.items() if name in _HARMLESS or name == "accept-encoding"}


async def _result(answer: Answer, address: WebAddress, notes: list[str], scope: Scope) -> ToolResult:
    """Put an answer into words: the host's own first, then what came from outside."""
    ok = answer.status < _FAILED
    headers = "\n".join(f"{name}: {value}" for name, value in answer.headers if name in _SHOWN)
    body = await _body(answer, address, scope) if answer.body else _Body()
    host = address.destination.host
    return ToolResult(
        text="\n\n".join(part for part in (headers, body.text) if part),
        head="\n".join(filter(None, (f"HTTP {answer.status} {_phrase(answer.status)}".rstrip(), *notes, body.said))),
        kept=body.kept,
        origin=f"http {address.destination.target}",
        ok=ok,
        reason=None if ok else Reason.TOOL_FAILED,
        detail="" if ok else f"status {answer.status} from {host}",
    )


class _Body(msgspec.Struct, frozen=True, kw_only=True):
    """How a body is told."""

    text: str = ""  # all of it
    kept: Kept | None = None  # a long text
    said: str = ""  # the host's words about one that is no text


async def _body(answer: Answer, address: WebAddress, scope: Scope) -> _Body:
    """Return a text that is short enough; keep anything else in a file, a text masked as it is when it is shown."""
    text = None if answer.header("content-encoding") not in {"", "identity"} else _text_of(answer)
    name = _file(answer, address, scope)
    if text is not None:
        with scope.keeping(name, folder=DOWNLOADS, what="body") as keeping:
            for start in range(0, len(text), _PIECE):
                keeping.feed(text[start : start + _PIECE])
                await asyncio.sleep(0)  # masking a long text takes seconds; a Stop must not wait for them
            kept = keeping.finish()
        return _Body(kept=kept) if kept else _Body(text=text)
    size = counted(len(answer.body), "byte")
    try:
        written = scope.jail.write(f"{DOWNLOADS}/{name}", answer.body, key=scope.key, admit=_anything)
    except ToolFailed as error:
        return _Body(said=f"[{size} that could not be kept in a file: {error.message}]")
    scope.seen.saw(scope.turn, written.shown, content_hash(answer.body))
    return _Body(said=f"[the body is no text; its {size} are in {written.shown}]")


def _phrase(status: int) -> str:
    """Return the usual words for a status; a server's own would be words from outside."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _anything(_shown: str, _present: Existing | None) -> None:
    """Nobody else has a file of this name."""


def _text_of(answer: Answer) -> str | None:
    """Return the body as text, None where it is none; what a file tool shows later is UTF-8."""
    found = re.search(r"charset=[\"']?([A-Za-z0-9._-]+)", answer.header("content-type"))
    charset = found[1] if found else "utf-8"
    if charset.lower() in {"utf-8", "utf8", "us-ascii", "ascii"}:
        return decoded(answer.body)
    try:
        return answer.body.decode(charset)
    except (LookupError, UnicodeError):
        return None


def _file(answer: Answer, address: WebAddress, scope: Scope) -> str:
    """Return a name that tells what it is and that no other call has."""
    last = unquote(address.target.partition("?")[0].rpartition("/")[2])
    name = _UNSAFE.sub("-", last).strip(".-")[-60:] or address.destination.host
    kind = answer.header("content-type").partition(";")[0].strip()
    if "." not in name.rpartition("/")[2] or not last:
        name += mimetypes.guess_extension(kind) or ""
    return f"{scope.turn[-6:]}-{scope.call}-{name}"
