"""What can go wrong in the host. The docstring of an error is its default message.

ElisError
├── SettingsError       elis.toml cannot be accepted; names the key and the remedy
├── NotFound            no such group, turn, approval, message
├── ResourceBusy        a lock, lane or queue is taken, or the host is not running
├── AuditFailure        the journal cannot be written or does not verify
├── SecretMissing       a reference yields no value
├── PolicyViolation     denied by policy or by a person
├── PathViolation       outside the workspace
├── ModelUnavailable    the provider failed after its retries
├── ProtocolViolation   a peer spoke outside its protocol
│   └── KeyTaken        an idempotency key stands for another message
├── ToolFailed          a tool ran and failed
├── TimedOut            a time-out passed
└── Unsupported         a needed capability is lacking

Errors of the five packages and of libraries are translated to these at one edge each.
"""

from typing import ClassVar

from host.stops import Reason


class ElisError(Exception):
    """Something unforeseen happened; please report it."""

    reason: ClassVar[Reason] = Reason.UNKNOWN

    def __init__(self, message: str | None = None) -> None:
        """Take `message`, which says what to do next; without one the docstring speaks."""
        super().__init__(message or (type(self).__doc__ or "").strip())

    @property
    def message(self) -> str:
        """The text for people."""
        return str(self)


class SettingsError(ElisError):
    """The settings cannot be accepted."""

    reason = Reason.UNSUPPORTED


class NotFound(ElisError):
    """There is no such thing here."""

    reason = Reason.UNKNOWN


class ResourceBusy(ElisError):
    """It is taken by somebody else; try again later."""

    reason = Reason.RESOURCE_BUSY


class AuditFailure(ElisError):
    """The journal cannot be written or does not verify; nothing more is done until it can."""

    reason = Reason.AUDIT_FAILURE


class SecretMissing(ElisError):
    """A secret could not be obtained."""

    reason = Reason.SECRET_MISSING


class PolicyViolation(ElisError):
    """Denied by policy or by a person."""

    reason = Reason.POLICY_VIOLATION


class PathViolation(ElisError):
    """The path leads outside the group's workspace."""

    reason = Reason.PATH_VIOLATION


class ModelUnavailable(ElisError):
    """The model's provider failed after its retries."""

    reason = Reason.MODEL_UNAVAILABLE


class ProtocolViolation(ElisError):
    """The other side spoke outside its protocol."""

    reason = Reason.PROTOCOL_VIOLATION


class KeyTaken(ProtocolViolation):
    """The idempotency key was used for another message; send this one under a fresh key."""


class ToolFailed(ElisError):
    """The tool ran and failed."""

    reason = Reason.TOOL_FAILED


class TimedOut(ElisError):
    """The time-out passed."""

    reason = Reason.TIMED_OUT


class Unsupported(ElisError):
    """A needed capability is lacking."""

    reason = Reason.UNSUPPORTED
