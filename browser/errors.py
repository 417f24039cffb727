"""What can go wrong on the way out. The docstring of an error is its default message.

BrowserError
├── NotAHost      a text that is no entry of a list of hosts
├── Refused       the proxy does not carry a connection; names the rule
└── ProxyStopped  the proxy does not run any more
"""

import enum


class BrowserError(Exception):
    """Something went wrong on the way out."""

    def __init__(self, message: str | None = None) -> None:
        """Take `message`, which says what to do next; without one the docstring speaks."""
        super().__init__(message or (type(self).__doc__ or "").strip())


class NotAHost(BrowserError):
    """It is no host name."""


class ProxyStopped(BrowserError):
    """The way out is closed: the group is being closed."""


class Rule(enum.StrEnum):
    """Why a connection is not carried, or came to nothing."""

    MALFORMED = "malformed"  # not a request that a proxy takes
    TOO_LARGE = "too_large"  # a head beyond the limit
    SCHEME = "scheme"  # an absolute https address, or another scheme
    HOST_DIFFERS = "host_differs"  # the Host field names another host than the request line
    IP_LITERAL = "ip_literal"  # a number where a name belongs
    INTERNAL_NAME = "internal_name"  # a name of this machine or its surroundings
    PORT = "port"  # neither 80 nor 443, nor listed
    HOST_NOT_LISTED = "host_not_listed"
    ADDRESS_NOT_PUBLIC = "address_not_public"  # the name leads to a private, local or special address
    UNRESOLVED = "unresolved"  # no address behind the name
    UNREACHABLE = "unreachable"  # nothing answers there
    NOT_TLS = "not_tls"  # what goes through CONNECT to a usual port must be TLS
    SNI_MISSING = "sni_missing"  # the TLS greeting names no host
    SNI_DIFFERS = "sni_differs"  # the TLS greeting names another host
    TIMED_OUT = "timed_out"  # the other side, or the caller, said nothing for too long
    TOO_MUCH = "too_much"  # more bytes than one connection may carry
    TOO_MANY = "too_many"  # more connections than one run may make
    CALLER_ENDED = "caller_ended"  # the run for which it was carried is over


class Refused(BrowserError):
    """The connection is not carried."""

    def __init__(self, rule: Rule, message: str, *, status: int = 403) -> None:
        """Name the rule, say it in a sentence, and give the HTTP status that tells it."""
        super().__init__(message)
        self.rule = rule
        self.status = status
