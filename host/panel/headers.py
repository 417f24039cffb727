"""What every answer of the web edge says to the browser about itself: strict policies, nothing kept (PAN-1).

Runs on each response start, also those of errors, so that no route can forget it.
"""

from email.utils import formatdate
from typing import Final

from litestar.datastructures import MutableScopeHeaders
from litestar.types import Message, Scope

_DIRECTIVES: Final = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    # Markup from strings enters a page at one place only, where the server's cleaned replies do.
    "require-trusted-types-for 'script'",
    "trusted-types elis-reply",
)

CONTENT_SECURITY_POLICY: Final = "; ".join(_DIRECTIVES)

_ALWAYS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: under it a browser sends "Origin: null" with forms, and the sign-in could not tell its own page.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


async def protect(message: Message, _: Scope) -> None:
    """Add the headers to the start of a response. Only static files, which name their version, may be kept."""
    if message["type"] != "http.response.start":
        return
    headers = MutableScopeHeaders.from_message(message)
    for name, value in {**_ALWAYS, "Date": formatdate(usegmt=True)}.items():
        headers[name] = value
    if "cache-control" not in headers:
        headers["Cache-Control"] = "no-store"
