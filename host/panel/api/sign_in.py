"""Login links and sessions, as the API sees them."""

import datetime as dt

import msgspec
from litestar import get, post
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from host.errors import Unsupported
from host.panel.parts import AnyRequest, TheCaller, TheSessions, TheSite


class LoginLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link that signs one browser in, once."""

    url: str
    expires_at: str  # ISO 8601, UTC


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """The session that asks, with the word its changes must carry in the header X-Elis-CSRF."""

    csrf: str
    signed_in_at: str  # ISO 8601, UTC


class SignedOutCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions ended."""

    sessions: int


@post("/login-links", status_code=HTTP_201_CREATED, summary="Make a login link")
async def make_link(request: AnyRequest, sessions: TheSessions, site: TheSite) -> LoginLink:
    """Return a fresh single-use link. Needs the token."""
    invitation = sessions.invite()
    origin = site.link_origin(request.headers.get("host", ""))
    return LoginLink(url=f"{origin}/login?code={invitation.code}", expires_at=_utc(invitation.expires_us))


@post("/sign-out-everywhere", status_code=HTTP_200_OK, summary="End all panel sessions")
async def sign_out_everywhere(sessions: TheSessions) -> SignedOutCount:
    """End all sessions and void all login links."""
    return SignedOutCount(sessions=await sessions.sign_out_everywhere())


@get("/session", summary="The panel session that asks")
async def session(caller: TheCaller) -> SessionView:
    """Return the caller's session; only a browser that is signed in has one."""
    if caller.session is None:
        message = "the API token has no session; a browser gets one by a login link"
        raise Unsupported(message)
    return SessionView(csrf=caller.csrf, signed_in_at=_utc(caller.session.since_us))


def _utc(at_us: int) -> str:
    return dt.datetime.fromtimestamp(at_us / 1_000_000, dt.UTC).isoformat(timespec="milliseconds")
