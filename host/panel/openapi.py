"""The OpenAPI document: what the framework finds in the routes, with our own word on errors and streams.

The framework describes its own error format, which nobody gets to see here: `host.panel.problems` answers instead.
"""

from typing import Any, Final, cast

import msgspec
from litestar import Request
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.serialization import encode_json

from host.panel.problems import MEDIA_TYPE, Problem

_PROBLEM_SCHEMA: Final = msgspec.json.schema(Problem, ref_template="#/components/schemas/{name}")
_STREAM_SCHEMA: Final = {"schema": {"type": "string", "description": "server-sent events, see the description"}}
_STREAMED: Final = frozenset({"events", "follow_overview"})  # operations that also answer with a stream


class OpenApiDocument(JsonRenderPlugin):
    """Renders the document as JSON."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Return the document with every operation's errors as problem documents."""
        del request  # the document is the same for everybody
        return encode_json(described(openapi_schema))


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of `schema` that tells of problem documents and streams."""
    definitions = cast("dict[str, Any]", _PROBLEM_SCHEMA["$defs"])
    components = {**schema["components"], "schemas": {**schema["components"]["schemas"], **definitions}}
    paths = {
        path: {method: _operation(operation) for method, operation in operations.items()}
        for path, operations in schema["paths"].items()
    }
    return {**schema, "components": components, "paths": paths}


def _operation(operation: dict[str, Any]) -> dict[str, Any]:
    responses = {status: answer for status, answer in operation["responses"].items() if status != "400"}
    if operation["operationId"] in _STREAMED:
        responses["200"] = {
            **responses["200"],
            "content": {**responses["200"]["content"], "text/event-stream": _STREAM_SCHEMA},
        }
    problem = {"description": "A problem document (RFC 9457)", "content": {MEDIA_TYPE: {"schema": _reference()}}}
    return {**operation, "responses": {**responses, "default": problem}}


def _reference() -> dict[str, str]:
    return {"$ref": "#/components/schemas/Problem"}
