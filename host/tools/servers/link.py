"""A session with one tool server, in the words of the official SDK: listing its tools, calling one.

The one place that drives the SDK's client. It is told by which streams or by which HTTP client the server is reached;
processes, sandboxes and rights are not its matter. Errors of the SDK become the host's here. Results are not held
against the server's own output schema: it would check itself by its own measure, with its own regular expressions.
"""

import base64
import binascii
import contextlib
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import httpx2
import mcp_types as types
import msgspec
from mcp import Client, ClientSession, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter, ValidationError

from host.tools.servers.errors import Lost, ServerFailed
from host.tools.servers.listing import Shown
from host.tools.servers.words import clean

_PAGES: Final = 50  # of one list of tools
_ERROR_CHARS: Final = 2000
_SESSION_GONE: Final = "Session terminated"  # the SDK's words for a 404 to a session that it had
_RESULTS: Final[TypeAdapter[types.CallToolResult | types.InputRequiredResult]] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)


class Blob(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a result that is no text."""

    kind: str  # its media type, as the server calls it
    data: bytes


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a call gave."""

    parts: tuple[str | Blob, ...]
    failed: bool  # the server says that it failed


class Link:
    """A session that is open. Used on one event loop."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def tools(self) -> list[Shown]:
        """Return what the server says of its tools; raise ServerFailed."""
        shown: list[Shown] = []
        cursor: str | None = None
        with _translating():
            for _ in range(_PAGES):
                page = await self._session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
                shown += [_shown(tool) for tool in page.tools]
                cursor = page.next_cursor
                if not cursor:
                    return shown
        raise ServerFailed(f"its list of tools has more than {_PAGES} pages")

    async def call(self, name: str, arguments: dict[str, Any]) -> Said:
        """Call a tool by the server's own name for it; raise ServerFailed."""
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments))
        with _translating():
            result = await self._session.send_request(request, _RESULTS)
            if isinstance(result, types.InputRequiredResult):
                raise ServerFailed("it asks for more input in the middle of a call, which is not given here")
            parts = [_part(content) for content in result.content]
            if not parts and result.structured_content is not None:
                parts = [msgspec.json.format(msgspec.json.encode(result.structured_content)).decode()]
        return Said(parts=tuple(parts), failed=bool(result.is_error))


class Changes:
    """Whether the server has announced another list of tools since the last look."""

    def __init__(self) -> None:
        self.announced = False

    async def __call__(self, message: object) -> None:
        """Hear a notification."""
        if isinstance(message, types.ToolListChangedNotification):
            self.announced = True


@contextlib.asynccontextmanager
async def linked(transport: AbstractAsyncContextManager[Any], changes: Changes) -> AsyncGenerator[Link]:
    """Open a session over `transport`; raise ServerFailed when the server does not keep to the protocol."""
    client = Client(
        transport,
        cache=None,
        message_handler=changes,
        client_info=types.Implementation(name="elis", version="1"),  # of what it asks of servers
    )
    async with client:
        yield Link(client.session)


@contextlib.asynccontextmanager
async def remote(url: str, carrier: httpx2.AsyncBaseTransport, headers: dict[str, str]) -> AsyncGenerator[Any]:
    """Reach a server by URL over `carrier`: streamable HTTP, redirects only within its own origin."""
    async with (
        httpx2.AsyncClient(transport=carrier, headers=headers, timeout=None, trust_env=False) as client,
        streamable_http_client(url, http_client=client) as pair,
    ):
        yield pair


@contextlib.contextmanager
def _translating() -> Any:  # noqa: ANN401 - a context manager
    try:
        yield
    except MCPError as error:
        if error.error.code == types.CONNECTION_CLOSED or error.error.message == _SESSION_GONE:
            raise Lost from error
        raise ServerFailed("it answered with an error", clean(error.error.message, _ERROR_CHARS)) from error
    except ValidationError as error:
        raise ServerFailed(f"what it answered is not of the protocol ({error.error_count()} faults)") from error
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        # how the SDK tells of an answer that it cannot take, and what values of it do to others
        raise ServerFailed("what it answered cannot be taken", clean(str(error), _ERROR_CHARS)) from error


def _shown(tool: types.Tool) -> Shown:
    annotations = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {}
    return Shown(
        name=tool.name,
        title=tool.title or "",
        description=tool.description or "",
        schema=tool.input_schema,
        annotations=annotations,
    )


def _part(content: types.ContentBlock) -> str | Blob:
    match content:
        case types.TextContent(text=text):
            return text
        case types.ImageContent(data=data, mime_type=kind) | types.AudioContent(data=data, mime_type=kind):
            return _blob(data, kind)
        case types.ResourceLink(uri=uri, name=name):
            return f"[a link to the resource {name}: {uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, text=text)):
            return f"[the resource {uri}]\n{text}"
        case types.EmbeddedResource(resource=types.BlobResourceContents(blob=data, mime_type=kind)):
            return _blob(data, kind or "")
        case _:
            return "[a part of a kind that is not known here]"


def _blob(data: str, kind: str) -> str | Blob:
    try:
        return Blob(kind=kind, data=base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return "[a part whose data cannot be read]"
