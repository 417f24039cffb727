"""Errors as RFC 9457 problem documents that carry a stop reason, and as pages for a browser's address bar.

Every error of the web edge is translated here and nowhere else. What nobody foresaw is logged with its trace and told
without it.
"""

import traceback
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException

from host.errors import (
    AuditFailure,
    ElisError,
    KeyTaken,
    ModelUnavailable,
    NotFound,
    PathViolation,
    PolicyViolation,
    ProtocolViolation,
    ResourceBusy,
    SecretMissing,
    SettingsError,
    TimedOut,
    ToolFailed,
    Unsupported,
)
from host.panel.directory import GroupStarting
from host.panel.documents import Documents
from host.stops import Reason

MEDIA_TYPE: Final = "application/problem+json"

Answer = Callable[[Request[Any, Any, Any], Any], Response[Any]]
"""Turns an exception into an answer."""

_log: Final = structlog.get_logger("elis.panel")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The document. `type` stays about:blank: the status and `reason` say what kind of error it is."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    reason: Reason
    instance: str = ""


class NotSignedIn(PolicyViolation):
    """Sign in first: `elis panel` prints a link; scripts send the API token."""


class Forbidden(PolicyViolation):
    """The request does not come from the panel itself."""


class WrongHost(PolicyViolation):
    """This host is not reached under that name."""


class TooManyAttempts(ResourceBusy):
    """Too many failed sign-ins at once; wait a little."""


_STATUS: Final[dict[type[Exception], HTTPStatus]] = {
    ElisError: HTTPStatus.INTERNAL_SERVER_ERROR,
    NotSignedIn: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    WrongHost: HTTPStatus.MISDIRECTED_REQUEST,
    TooManyAttempts: HTTPStatus.TOO_MANY_REQUESTS,
    GroupStarting: HTTPStatus.SERVICE_UNAVAILABLE,
    SettingsError: HTTPStatus.UNPROCESSABLE_ENTITY,
    NotFound: HTTPStatus.NOT_FOUND,
    ResourceBusy: HTTPStatus.CONFLICT,
    AuditFailure: HTTPStatus.INTERNAL_SERVER_ERROR,
    SecretMissing: HTTPStatus.FAILED_DEPENDENCY,
    PolicyViolation: HTTPStatus.FORBIDDEN,
    PathViolation: HTTPStatus.FORBIDDEN,
    ModelUnavailable: HTTPStatus.BAD_GATEWAY,
    KeyTaken: HTTPStatus.CONFLICT,
    ProtocolViolation: HTTPStatus.BAD_REQUEST,
    ToolFailed: HTTPStatus.BAD_GATEWAY,
    TimedOut: HTTPStatus.GATEWAY_TIMEOUT,
    Unsupported: HTTPStatus.NOT_IMPLEMENTED,
}

_REASONS: Final[dict[int, Reason]] = {
    400: Reason.PROTOCOL_VIOLATION,
    401: Reason.POLICY_VIOLATION,
    403: Reason.POLICY_VIOLATION,
    405: Reason.UNSUPPORTED,
    413: Reason.PROTOCOL_VIOLATION,
    415: Reason.UNSUPPORTED,
    429: Reason.RESOURCE_BUSY,
}
"""What the framework's own refusals mean; anything else is `unknown`."""

_BARE: Final[dict[int, str]] = {
    404: "there is nothing at this address; GET /api/v1/openapi.json lists all there is",
    405: "this address does not take that method; the header Allow names those that it takes",
}
"""What to say where the framework says no more than the status does."""


def problem_of(error: Exception, path: str = "") -> Problem:
    """Return the document for any error; what is not foreseen shows its name and nothing of its text."""
    match error:
        case ElisError():
            status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
            return Problem(title=status.phrase, status=status, detail=error.message, reason=error.reason, instance=path)
        case HTTPException():
            status = HTTPStatus(error.status_code)
            reason = _REASONS.get(status, Reason.UNKNOWN)
            return Problem(title=status.phrase, status=status, detail=_detail(error), reason=reason, instance=path)
        case _:
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            detail = f"something unforeseen happened ({type(error).__name__}); the log has the trace, please report it"
            return Problem(title=status.phrase, status=status, detail=detail, reason=Reason.UNKNOWN, instance=path)


def _detail(error: HTTPException) -> str:
    """Say what the framework found wrong, field by field where it knows."""
    match error.extra:
        case list() as findings if findings:
            return "; ".join(_finding(finding) for finding in findings)
        case _ if error.detail == HTTPStatus(error.status_code).phrase:
            return _BARE.get(error.status_code, error.detail)
        case _:
            return error.detail


def _finding(finding: Any) -> str:  # noqa: ANN401 - the framework's own loose record
    match finding:
        case {"message": "'data'"}:  # the framework looks for the body under that name and tells what it looked for
            return "the body is missing; send a JSON object, {} where there is nothing to say"
        case {"message": str(message), "key": str(key)}:
            return f"{key}: {message}"
        case {"message": str(message)}:
            return message
        case _:
            return str(finding)


def exception_handlers(documents: Documents) -> dict[int | type[Exception], Answer]:
    """Return what turns any exception into an answer: a problem document, or a page where a person navigates."""

    def answer(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        problem = problem_of(error, request.scope["path"])
        if not isinstance(error, ElisError | HTTPException):
            # Formatted here: a console's own tracebacks show local variables, and among them requests with tokens.
            _log.error("request failed", path=problem.instance, trace="".join(traceback.format_exception(error)))
        headers = headers_of(error)
        if wants_page(request):
            return documents.failure(problem.status, problem.title, problem.detail, headers)
        return Response(
            msgspec.json.encode(problem), media_type=MEDIA_TYPE, status_code=problem.status, headers=headers
        )

    return {HTTPException: answer, Exception: answer}


def headers_of(error: Exception) -> dict[str, str]:
    """Return the headers that go with an error: when to try again, how to sign in, which methods exist."""
    match error:
        case GroupStarting() | TooManyAttempts():
            return {"Retry-After": "1"}
        case NotSignedIn():
            return {"WWW-Authenticate": 'Bearer realm="elis"'}
        case HTTPException(headers=dict() as headers):
            return headers
        case _:
            return {}


def wants_page(request: Request[Any, Any, Any]) -> bool:
    """Say whether a person's browser is navigating, so that a page is the answer."""
    return not request.scope["path"].startswith("/api/") and "text/html" in request.headers.get("accept", "")
