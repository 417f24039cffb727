"""The events of the host's own journal, host.db: starts and sign-ins. None of them holds anything that opens a door.

An event says what happened, in the past tense, and is never changed. Tags are the journal's `kind`.
"""

import msgspec


class HostEventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every event of the host has."""


class HostStarted(HostEventBase, frozen=True, kw_only=True, tag="host_started"):
    """The host came up."""

    version: str
    pid: int


class HostStopped(HostEventBase, frozen=True, kw_only=True, tag="host_stopped"):
    """The host went down in order; a start without this before it followed a crash."""

    why: str


class SignedIn(HostEventBase, frozen=True, kw_only=True, tag="signed_in"):
    """A person opened a login link. `session` is a hash of the cookie, which is stored nowhere."""

    session: str
    address: str
    agent: str  # what the browser calls itself, cut to 200 characters


class SessionSeen(HostEventBase, frozen=True, kw_only=True, tag="session_seen"):
    """A session was in use; written at most every half hour, so that idle expiry outlives a restart."""

    session: str


class SignedOut(HostEventBase, frozen=True, kw_only=True, tag="signed_out"):
    """A session ended by a person's word; an empty `session` means all of them."""

    session: str


class SignInFailed(HostEventBase, frozen=True, kw_only=True, tag="sign_in_failed"):
    """Attempts to get in that failed; all but the first of a minute share one row."""

    address: str  # "others" where too many addresses tried in one minute
    how: str  # link | token | others
    count: int


HostEvent = HostStarted | HostStopped | SignedIn | SessionSeen | SignedOut | SignInFailed
"""Everything that can stand in the host's journal."""
