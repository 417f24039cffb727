"""Who is signed in to the panel: single-use links, sessions that outlive a restart, sign-out everywhere (PAN-2).

A link's code and a session's cookie are random and kept by nobody but the person's browser: memory holds their hashes,
and so does the host's journal. Routes and cookies are above; the journal is below, through `HostRecord`.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Final, assert_never

import msgspec

from host.panel.problems import NotSignedIn
from host.record.host_events import HostStarted, HostStopped, SessionSeen, SignedIn, SignedOut, SignInFailed
from host.record.host_record import HostRecord

CODE_BYTES: Final = 20  # 160 bits
COOKIE_BYTES: Final = 32
CODE_US: Final = 600 * 1_000_000  # a link can be opened for ten minutes
IDLE_US: Final = 12 * 3_600 * 1_000_000  # a session ends after twelve hours without a person
LIFE_US: Final = 30 * 24 * 3_600 * 1_000_000  # and after thirty days whatever happens
SEEN_US: Final = 1_800 * 1_000_000  # how often use is journaled
OPEN_CODES: Final = 32  # links that may wait at once; the oldest goes first
AGENT_CHARS: Final = 200


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """A single-use code and when it stops working."""

    code: str
    expires_us: int


class Session(msgspec.Struct, kw_only=True):
    """A browser that is signed in."""

    key: str  # hash of the cookie
    since_us: int
    seen_us: int
    journaled_us: int  # the last sign of life in the journal
    address: str
    agent: str


class Sessions:
    """All sessions of this host. Lives in one event loop."""

    def __init__(self, record: HostRecord, now_us: Callable[[], int]) -> None:
        """Keep sessions in `record`; call `restore` before the first request."""
        self._record = record
        self._now_us = now_us
        self._codes: dict[str, int] = {}  # hash → expiry
        self._sessions: dict[str, Session] = {}

    async def restore(self) -> None:
        """Take up the sessions that were open when the host last went down. Raises AuditFailure."""
        for entry in await self._record.since(self._now_us() - LIFE_US, (SignedIn, SessionSeen, SignedOut)):
            match entry.event:
                case SignedIn(session=key, address=address, agent=agent):
                    at_us = entry.at_us
                    self._sessions[key] = Session(
                        key=key, since_us=at_us, seen_us=at_us, journaled_us=at_us, address=address, agent=agent
                    )
                case SessionSeen(session=key):
                    if session := self._sessions.get(key):
                        session.seen_us = session.journaled_us = entry.at_us
                case SignedOut(session=key):
                    self._forget(key)
                case HostStarted() | HostStopped() | SignInFailed():
                    pass  # not asked for
                case _:
                    assert_never(entry.event)
        self._expire()

    def invite(self) -> Invitation:
        """Return a fresh code for a login link."""
        now_us = self._now_us()
        self._codes = {code: expires_us for code, expires_us in self._codes.items() if expires_us > now_us}
        while len(self._codes) >= OPEN_CODES:
            del self._codes[next(iter(self._codes))]
        code = secrets.token_urlsafe(CODE_BYTES)
        self._codes[_hash(code)] = now_us + CODE_US
        return Invitation(code=code, expires_us=now_us + CODE_US)

    async def redeem(self, code: str, *, address: str, agent: str) -> str:
        """Use up a code and return a session's cookie; raise NotSignedIn for a code that opens nothing."""
        now_us = self._now_us()
        expires_us = self._codes.pop(_hash(code), 0)  # gone before anything is awaited: used once
        if expires_us <= now_us:
            message = "this link was used before or is older than ten minutes; `elis panel` prints a fresh one"
            raise NotSignedIn(message)
        cookie = secrets.token_urlsafe(COOKIE_BYTES)
        key, agent = _hash(cookie), agent[:AGENT_CHARS]
        self._expire()
        # Before anything is awaited: whoever signs everybody out meanwhile ends this session, too.
        self._sessions[key] = Session(
            key=key, since_us=now_us, seen_us=now_us, journaled_us=now_us, address=address, agent=agent
        )
        try:
            await self._record.append(SignedIn(session=key, address=address, agent=agent))
        except BaseException:
            self._forget(key)
            raise
        if key not in self._sessions:
            message = "everybody was signed out in this moment; `elis panel` prints a fresh link"
            raise NotSignedIn(message)
        return cookie

    def recognise(self, cookie: str) -> Session | None:
        """Return the open session of a cookie."""
        key = _hash(cookie)
        return self._sessions[key] if self.is_open(key) else None

    def is_open(self, key: str) -> bool:
        """Say whether a session is still signed in."""
        session = self._sessions.get(key)
        now_us = self._now_us()
        return session is not None and now_us - session.seen_us < IDLE_US and now_us - session.since_us < LIFE_US

    async def touch(self, session: Session) -> None:
        """Note that a person used the session; raises AuditFailure."""
        session.seen_us = self._now_us()
        if session.seen_us - session.journaled_us >= SEEN_US:
            session.journaled_us = session.seen_us
            await self._record.append(SessionSeen(session=session.key))

    async def sign_out(self, session: Session) -> None:
        """End one session."""
        self._forget(session.key)
        await self._record.append(SignedOut(session=session.key))

    async def sign_out_everywhere(self) -> int:
        """End all sessions and void all links; return how many sessions were open."""
        self._expire()
        count = len(self._sessions)
        self._codes.clear()
        self._forget("")
        await self._record.append(SignedOut(session=""))
        return count

    def _forget(self, key: str) -> None:
        if key:
            self._sessions.pop(key, None)
        else:
            self._sessions.clear()

    def _expire(self) -> None:
        self._sessions = {key: session for key, session in self._sessions.items() if self.is_open(key)}


def csrf_token(cookie: str) -> str:
    """Return the word that a change made by the panel carries in a header; it tells nothing about the cookie."""
    return base64.urlsafe_b64encode(hmac.digest(cookie.encode(), b"elis csrf", "sha256")).decode()


def _hash(secret: str) -> str:
    return hashlib.blake2b(secret.encode(), digest_size=32, person=b"elis session").hexdigest()
