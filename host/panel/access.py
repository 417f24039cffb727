"""Who may do what at the web edge (PAN-2): guards that run before every handler.

Three questions, in this order: is the host reached under a name of its own (DNS rebinding)? Who asks, by token or by
cookie? Does a change by cookie come from the panel's own page (Origin, Sec-Fetch-Site and the CSRF word)? Sessions
decide which cookies are good; routes never look at a header of these.
"""

import asyncio
import hmac
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, cast

import msgspec
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from host.config.edge import is_loopback
from host.config.token import is_usable
from host.errors import SettingsError
from host.panel.knocks import Backoff, Tally, bare_address, network_of
from host.panel.listen import Site, host_name
from host.panel.problems import Forbidden, NotSignedIn, TooManyAttempts, WrongHost
from host.panel.sessions import Session, Sessions, csrf_token
from host.record.host_record import HostRecord

CSRF_HEADER: Final = "x-elis-csrf"

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HELD_AT_ONCE: Final = 16  # answers to one sender kept back at the same time; until one is out, it is refused

Connection = ASGIConnection[Any, Any, Any, Any]


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes a request."""

    by: Literal["panel", "api"]
    session: Session | None = None
    csrf: str = ""


class Door:
    """The guards, with what they need to know."""

    def __init__(
        self,
        *,
        token: str,
        site: Site,
        sessions: Sessions,
        record: HostRecord,
        now_us: Callable[[], int],
        rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take the API token and the stores; `rest` waits for seconds. Raises SettingsError for an unusable token."""
        if not is_usable(token):  # an empty one would be matched by an empty header
            message = "the API token is empty or can be guessed; remove the file `token` of the home and start again"
            raise SettingsError(message)
        self._token = token
        self._site = site
        self._sessions = sessions
        self._record = record
        self._now_us = now_us
        self._rest = rest
        self._backoff = Backoff()
        self._tally = Tally()
        self._held: Counter[str] = Counter()  # sender → answers that are kept back

    async def right_host(self, connection: Connection) -> None:
        """Refuse requests under a foreign name: a page of another site that was rebound to our address."""
        header = connection.headers.get("host", "")
        name = host_name(header)
        if name not in self._site.names and not self._is_own_address(connection, name):
            known = ", ".join(sorted(self._site.names))
            message = f"this host is not reached under the name {header!r}, only under {known}"
            raise WrongHost(message)

    async def operator(self, connection: Connection) -> None:
        """Admit the API token, or the panel's cookie; a change by cookie must come from the panel's own page."""
        if "authorization" in connection.headers:
            await self._check_token(connection)
            connection.state.caller = Caller(by="api")
            return
        caller = self._by_cookie(connection)
        if not caller.session:
            raise NotSignedIn
        self._check_fetch_site(connection)
        if _method(connection) not in _SAFE:
            self._check_same_origin(connection)
            sent = connection.headers.get(CSRF_HEADER, "")
            if not hmac.compare_digest(sent.encode(), caller.csrf.encode()):
                message = "the request lacks the panel's CSRF word; reload the page"
                raise Forbidden(message)
            await self._sessions.touch(caller.session)
        connection.state.caller = caller

    async def token_only(self, connection: Connection) -> None:
        """Admit the API token and nothing else."""
        if "authorization" not in connection.headers:
            message = "this needs the API token; it is in the file `token` of the home"
            raise NotSignedIn(message)
        await self._check_token(connection)

    async def page(self, connection: Connection) -> None:
        """Admit a signed-in browser to a page."""
        caller = self._by_cookie(connection)
        if not caller.session:
            message = "This browser has no session here, or its session has ended."
            raise NotSignedIn(message)
        await self._sessions.touch(caller.session)
        connection.state.caller = caller

    async def same_origin(self, connection: Connection) -> None:
        """Admit forms of the panel's own pages: nobody else may sign a browser in."""
        self._check_fetch_site(connection)
        self._check_same_origin(connection)

    def may_try(self, connection: Connection) -> None:
        """Raise TooManyAttempts, before anything is compared, while too many answers to the sender are kept back."""
        if self._held[network_of(self.address_of(connection))] >= _HELD_AT_ONCE:
            raise TooManyAttempts

    async def failed(self, connection: Connection, how: str) -> None:
        """Note a failed attempt and keep its answer back; nothing may be awaited between `may_try` and this."""
        address = self.address_of(connection)
        sender = network_of(address)
        self._held[sender] += 1
        try:
            rows = self._tally.add(address, how, self._now_us())
            if rows:
                await self._record.append(*rows)
            await self._rest(self._backoff.failed(address, self._now_us()))
        finally:
            self._held[sender] -= 1
            if not self._held[sender]:
                del self._held[sender]

    def succeeded(self, connection: Connection) -> None:
        """Forget the failures of the address that just got in."""
        self._backoff.succeeded(self.address_of(connection))

    def address_of(self, connection: Connection) -> str:
        """Return the address a request came from; behind a reverse proxy, as the proxy saw it."""
        if self._site.proxy_url:
            # A proxy appends the address it saw; whatever stands before that is the sender's own word.
            told = ",".join(connection.headers.getall("x-forwarded-for", [])).rpartition(",")[2].strip()
            if told:
                return bare_address(told)
        return connection.client.host if connection.client else "unknown"

    async def journal_failures(self, *, closing: bool = False) -> None:
        """Write what has been counted since the last row; called every minute and at the end."""
        rows = self._tally.flush(self._now_us(), closing=closing)
        if rows:
            await self._record.append(*rows)

    def set_cookie(self, connection: Connection, cookie: str) -> str:
        """Return the Set-Cookie header that signs a browser in; with an empty `cookie`, out."""
        host_header = connection.headers.get("host", "")
        secure = "; Secure" if self._site.is_secure(host_header) else ""
        ends = "" if cookie else "; Max-Age=0"
        return f"{self._cookie_name(host_header)}={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}{ends}"

    def is_open(self, caller: Caller) -> bool:
        """Say whether the caller of a long-lived stream may still listen."""
        return caller.session is None or self._sessions.is_open(caller.session.key)

    async def _check_token(self, connection: Connection) -> None:
        scheme, _, sent = connection.headers.get("authorization", "").partition(" ")
        # Compared before the slowing: 256 bits are not guessed, and a program that floods the API with wrong tokens
        # must not keep the operator from a Stop.
        if scheme.lower() == "bearer" and hmac.compare_digest(sent.strip().encode(), self._token.encode()):
            return
        self.may_try(connection)
        await self.failed(connection, "token")
        message = "the API token is wrong; it is in the file `token` of the home"
        raise NotSignedIn(message)

    def _by_cookie(self, connection: Connection) -> Caller:
        name = self._cookie_name(connection.headers.get("host", ""))
        # Every program on this address has its cookies in this header, in whatever shape, and may use this name, too.
        for pair in connection.headers.get("cookie", "").split(";"):
            key, _, cookie = pair.strip().partition("=")
            if key == name and (session := self._sessions.recognise(cookie)):
                return Caller(by="panel", session=session, csrf=csrf_token(cookie))
        return Caller(by="panel")

    def _cookie_name(self, host_header: str) -> str:
        # Cookies ignore ports, so two hosts on one machine need two names. __Host- pins a cookie to this name and TLS.
        if self._site.is_secure(host_header):
            return "__Host-elis"
        _, colon, port = host_header.rpartition(":")
        return f"elis-{port}" if colon and port.isdecimal() else "elis"

    def _is_own_address(self, connection: Connection, name: str) -> bool:
        # The command line uses the address that a name was bound to. A page's name that was rebound is no address.
        server = connection.scope["server"]
        return server is not None and name == server[0] and (self._site.tls is not None or is_loopback(name))

    def _check_fetch_site(self, connection: Connection) -> None:
        # Another port of this machine is "same-site" and gets the cookie: only "same-origin" is the panel itself.
        # "none" is a person who typed the address or opened a bookmark.
        allowed = ("", "same-origin", "none") if _method(connection) in _SAFE else ("", "same-origin")
        if connection.headers.get("sec-fetch-site", "") not in allowed:
            message = "the request comes from another site's page"
            raise Forbidden(message)

    def _check_same_origin(self, connection: Connection) -> None:
        origin = connection.headers.get("origin", "")
        if origin != self._site.origin(connection.headers.get("host", "")):
            message = f"the request does not come from the panel's own page (Origin: {origin or 'none'})"
            raise Forbidden(message)


def _method(connection: Connection) -> str:
    scope = cast("Mapping[str, Any]", connection.scope)
    return str(scope.get("method", "WEBSOCKET"))  # a socket's handshake counts as a change (PAN-2)


def guard(check: Callable[[Connection], Awaitable[None]]) -> Callable[[Connection, BaseRouteHandler], Awaitable[None]]:
    """Return `check` as a guard of the framework.

    A plain function on purpose: the framework deep-copies its handlers with their guards, and a bound method would
    take a copy of the door, its sessions and its journal along.
    """

    async def run(connection: Connection, _: BaseRouteHandler) -> None:
        await check(connection)

    return run
